"""Other projects' files as samples of ours."""

import gzip
import json

import pytest

from bookwheel.errors import InputError
from bookwheel.lab.tasks import read_samples

MEMAGENT = {
    "index": 3,
    "context": "Document 1:\nAda signed.",
    "input": "Who signed?",
    "answers": ["Ada"],
    "num_docs": 50,
}
RULER = {"index": 0, "context": "One of the numbers is 7.", "input": "What number?", "outputs": ["7", "8"], "length": 9}
LONGBENCH = {
    "_id": "x1",
    "context": "艾达签了字。",
    "input": "谁签了字？",
    "answers": ["艾达"],
    "length": 6,
    "dataset": "multifieldqa_zh",
    "language": "zh",
    "all_classes": None,
}
CHOICES = {
    "_id": "y1",
    "context": "Ada signed the lease.",
    "question": "Who signed?",
    "choice_A": "Bram",
    "choice_B": "Ada",
    "choice_C": "Keziah",
    "choice_D": "nobody",
    "answer": "B",
    "length": "short",
}
BABILONG = {"input": "Ada went to the mill. Filler.", "question": "Where is Ada?", "target": "mill"}


@pytest.mark.parametrize(
    ("record", "golds", "task", "identity"),
    [
        (MEMAGENT, ("Ada",), "set", "3"),
        (RULER, ("7", "8"), "set", "set-1"),
        (LONGBENCH, ("艾达",), "multifieldqa_zh", "x1"),
        (CHOICES, ("B", "Ada"), "longbench-2", "y1"),
        (BABILONG, ("mill",), "babilong", "set-1"),
    ],
)
@pytest.mark.parametrize("form", ["array", "lines", "packed", "mark"])
def test_a_record_becomes_a_sample_in_any_form_of_file(record, golds, task, identity, form, tmp_path):
    path = tmp_path / ("set.json" if form == "array" else "set.jsonl")
    line = json.dumps(record, ensure_ascii=False)
    raw = {"array": f"[{line}]", "lines": f"{line}\n", "packed": line, "mark": f"\ufeff{line}"}[form].encode()
    path.write_bytes(gzip.compress(raw) if form == "packed" else raw)
    (sample,) = read_samples(path)
    assert (sample.golds, sample.task, sample.id) == (golds, task, identity)
    assert sample.text == record["input"] if record is BABILONG else sample.text == record["context"]
    assert sample.language == record.get("language", "en")
    assert sample.score(golds[0]).score == 1


def test_the_options_of_a_multiple_choice_stand_in_the_question(tmp_path):
    path = tmp_path / "set.json"
    path.write_text(json.dumps([CHOICES]))
    (sample,) = read_samples(path)
    assert "(C) Keziah" in sample.question
    assert [sample.score(answer).score for answer in ("B", "(B)", "Ada", "A", "Bram", "B or A")] == [1, 1, 1, 0, 0, 0]


@pytest.mark.parametrize(
    ("text", "where", "message"),
    [
        ("{\n", "line 2", "not valid JSON"),
        (json.dumps([{**MEMAGENT, "context": [4, 9]}]), "line 1 (record 1)", "list of numbers"),
        (json.dumps([{**CHOICES, "answer": "E"}]), "line 1 (record 1)", "one of A, B, C, D"),
        (json.dumps([3]), "line 1 (record 1)", "JSON object"),
        (json.dumps({"context": "x", "input": "q"}), "line 1", "'golds'"),
        (json.dumps([MEMAGENT]) + "\n" + json.dumps([MEMAGENT]), "line 2", "more behind the end"),
        (json.dumps([MEMAGENT]) + " and more", "line 1", "more behind the end"),
        ("[" + "[" * 100_000, "line 1 (record 1)", "nested too deeply"),
    ],
)
def test_a_bad_record_is_named_by_its_place(text, where, message, tmp_path):
    path = tmp_path / "set.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as error:
        list(read_samples(path))
    assert f"set.json, {where}" in str(error.value)


@pytest.mark.parametrize("place", range(10, 30, 4))
def test_a_damaged_packed_file_is_named(place, tmp_path):
    packed = bytearray(gzip.compress(json.dumps(MEMAGENT).encode() * 3))
    packed[place] ^= 0xFF
    path = tmp_path / "set.jsonl.gz"
    path.write_bytes(packed)
    with pytest.raises(InputError, match=r"set\.jsonl\.gz cannot be read"):
        list(read_samples(path))
