"""Embeddings by the input layer of a file of weights."""

import pytest

from bookwheel.errors import MissingAbility
from bookwheel.models.embeddings import measure_similarity
from bookwheel.models.gguf_writer import write_gguf
from bookwheel.models.static_embeddings import StaticEmbedder

WORDS = ["the", "of", "wheel", "mill", "harbour", "barley"]


def tokenize(text):
    """Frequent words have small numbers, as in a vocabulary of byte pairs."""
    return [number_of(word) for word in text.split()]


def number_of(word):
    return 12 * WORDS.index(word) ** 3


@pytest.fixture
def weights(tmp_path):
    gguf = pytest.importorskip("gguf")
    numpy = pytest.importorskip("numpy")

    def make(name="token_embd.weight"):
        path = tmp_path / f"{name}.gguf"
        writer = gguf.GGUFWriter(path, "llama")
        table = numpy.zeros((1536, 32), dtype=numpy.float32)
        for place, word in enumerate(WORDS):
            table[number_of(word), place] = 1
        table[number_of("barley"), 2] = 1  # barley is a little like the wheel
        writer.add_tensor(name, table)
        write_gguf(writer)
        return path

    return make


def test_a_text_is_nearest_to_one_with_its_rare_words(weights):
    embedder = StaticEmbedder(weights(), tokenize)
    asked = embedder.embed("the wheel")
    near = [measure_similarity(asked, embedder.embed(text)) for text in ("of wheel", "of barley", "the mill", "the of")]
    assert near[0] > near[1] > max(near[2:])
    assert measure_similarity(asked, asked) == pytest.approx(1)


def test_a_text_without_a_token_has_a_vector_too(weights):
    embedder = StaticEmbedder(weights(), tokenize)
    assert sum(value * value for value in embedder.embed("")) == pytest.approx(1)
    assert len(embedder.embed("")) == len(embedder.embed("the wheel")) == 32


def test_weights_without_an_input_layer_are_refused(weights):
    with pytest.raises(MissingAbility, match="BOOKWHEEL_EMBEDDINGS"):
        StaticEmbedder(weights("another"), tokenize)
