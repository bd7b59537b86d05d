"""NoLiMa's samples from its files: the needle follows a line at its depth, and characters are drawn by their seed."""

import json

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from bookwheel.errors import InputError
from bookwheel.lab.tasks.nolima import make_nolima
from bookwheel.text.tokens import FileTokenizer, WordTokenizer


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "needlesets").mkdir()
    books = tmp_path / "haystack" / "rand_shuffle"
    books.mkdir(parents=True)
    (books / "one.txt").write_text("".join(f"line {n} of it\n" for n in range(200)))
    sets = [
        {
            "id": "0401",
            "system_prompt": "Answer.",
            "needle": "{CHAR} lives by the {1}.",
            "questions": {"onehop": "Who was in {2}?"},
            "character_set": ["Yuki", "Katie"],
            "tests": {"T1": {"input_args": ["opera", "Dresden"]}},
        }
    ]
    (tmp_path / "needlesets" / "needle_set.json").write_text(json.dumps(sets))
    return tmp_path


@pytest.fixture
def tokenizer(tmp_path):
    words = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Split("\n", "isolated")
    words.save(str(tmp_path / "tokenizer.json"))
    return FileTokenizer(tmp_path / "tokenizer.json")


def test_every_needle_stands_behind_a_line_at_its_depth(folder, tokenizer):
    samples = list(make_nolima(folder, 40, tokenizer))
    assert len(samples) == 26
    assert {sample.golds for sample in samples} == {("Yuki",), ("Katie",)}
    for sample in samples:
        (needle,) = sample.evidence
        assert sample.document.slice(needle.start, needle.end) == f"{sample.golds[0]} lives by the opera."
        assert (sample.question, sample.metadata["system_prompt"]) == ("Who was in Dresden?", "Answer.")
        assert sample.score(f"It was {sample.golds[0]}.").score == 1
    places = [sample.evidence[0].start for sample in samples]
    assert places == sorted(places)
    assert places[0] <= 1


def test_another_set_of_needles_is_taken_by_its_name(folder, tokenizer):
    (sets,) = (folder / "needlesets").iterdir()
    (folder / "needlesets" / "needle_set_hard.json").write_text(sets.read_text().replace("opera", "pier"))
    sample = next(make_nolima(folder, 40, tokenizer, "needle_set_hard.json"))
    assert "lives by the pier." in sample.text
    with pytest.raises(InputError, match=r"needs needlesets/needle_set_MC\.json"):
        next(make_nolima(folder, 40, tokenizer, "needle_set_MC.json"))


def test_what_cannot_be_made_is_said(folder, tokenizer):
    with pytest.raises(InputError, match=r"tokenizer\.json"):
        next(make_nolima(folder, 40, WordTokenizer()))
    with pytest.raises(InputError, match="too short"):
        list(make_nolima(folder, 4000, tokenizer))
    with pytest.raises(InputError, match="needle_set"):
        next(make_nolima(folder / "none", 40, tokenizer))
