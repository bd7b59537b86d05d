"""Every format keeps its words: a generated corpus, measured against a committed table that may only get better.

`python tests/documents/test_corpus.py` writes the table anew.
"""

import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from conversion import convert
from corpus import office, pages, prints
from corpus.measure import COLUMNS, measure, words_of

SAMPLES = {sample.name: sample for module in (pages, prints, office) for sample in module.samples()}
TABLE = Path(__file__).parent / "corpus" / "table.tsv"
# The least share of content words, in percent; formats that are not named keep every word.
LEAST = {"html": 99.5, "docx": 99.5, "epub": 99.5, "pdf": 99.0}


def read_table():
    lines = [line.split("\t") for line in TABLE.read_text("utf-8").splitlines()[1:]]
    return {name: tuple(map(float, values)) for name, *values in lines}


def convert_sample(sample, folder):
    path = folder / sample.name
    sample.write(path)
    parts, _ = convert(path)
    return parts


def measure_sample(sample, parts):
    return measure(sample.text, parts, sample.headings, sample.pages)


def test_the_corpus_is_large_and_has_every_format():
    kinds = {name.partition("-")[0] for name in SAMPLES}
    assert len(SAMPLES) >= 40
    assert kinds == {
        *("html", "epub", "eml", "pdf", "docx", "pptx", "xlsx"),
        *("ods", "csv", "odt", "odp", "rtf", "ipynb", "gz"),
    }
    assert set(read_table()) == set(SAMPLES)


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.slow
def test_a_document_keeps_what_the_table_says(name, tmp_path):
    sample = SAMPLES[name]
    parts = convert_sample(sample, tmp_path)
    now = measure_sample(sample, parts)
    _, kept, invented, order, headings, right_pages = read_table()[name]
    assert now.kept >= kept - 0.01, "words were lost"
    assert now.invented <= invented + 0.01, "words were invented"
    assert now.order >= order - 0.01, "words changed places"
    assert now.headings >= headings - 0.01
    assert now.pages >= right_pages - 0.01
    text = set(words_of("".join(part.text for part in parts))) - set(words_of(sample.text))
    assert not text & set(words_of(sample.dropped)), "boilerplate was read"


@pytest.mark.parametrize("name", SAMPLES)
def test_the_table_holds_what_is_promised(name):
    _, kept, invented, *_ = read_table()[name]
    assert kept >= LEAST.get(name.partition("-")[0], 100.0)
    assert invented == 0


def test_a_lost_an_invented_and_a_moved_word_are_seen():
    from bookwheel.types import Part

    def score(text, page=None):
        return measure("one two three four", [Part(text=text, source="x", page=page)], ["two three"], {1: "four"})

    exact = score("one\n# two three\nfour", 1)
    assert (exact.kept, exact.invented, exact.order, exact.headings, exact.pages) == (100, 0, 100, 100, 100)
    assert score("one two three").kept == 75
    assert score("one two three four five").invented == 20
    assert score("three four one two").order < 70
    assert (score("one two three four", 2).headings, score("one two three four", 2).pages) == (0, 0)


def main():
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            f"{name}\t{measure_sample(sample, convert_sample(sample, Path(folder))).row()}"
            for name, sample in SAMPLES.items()
        ]
    TABLE.write_text("\n".join([COLUMNS, *rows, ""]), "utf-8")


if __name__ == "__main__":
    main()
