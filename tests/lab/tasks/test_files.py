"""Samples as JSON Lines."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.errors import InputError
from bookwheel.lab.tasks import MemoryRule, Sample, SampleDocument, make_samples, read_samples, write_samples
from bookwheel.lab.tasks.base import MissingSample
from bookwheel.lab.tasks.files import SampleWriter, parse_sample, read_entries, to_line


@pytest.mark.parametrize("name", ["vt", "bridge", "fwe", "hqa", "updated"])
def test_samples_round_trip(name, tmp_path, data, tokenizer):
    samples = list(make_samples(name, tokens=900, count=2, seed=3, tokenizer=tokenizer, data=data))
    assert write_samples(samples, tmp_path / "s.jsonl") == 2
    back = list(read_samples(tmp_path / "s.jsonl"))
    assert back == samples
    assert [to_line(sample) for sample in back] == [to_line(sample) for sample in samples]
    assert [sample.document.name for sample in back] == [sample.document.name for sample in samples]


def test_a_document_keeps_a_name_that_is_not_the_samples_id():
    sample = Sample(
        id="s", task="t", question="q", golds=("a",), document=SampleDocument("lease.pdf", ["d"]), metric="f1"
    )
    assert parse_sample(to_line(sample), Path("s.jsonl"), 1).document.name == "lease.pdf"


def test_one_line_is_read_alone_and_its_mistake_is_named():
    with pytest.raises(InputError, match=r"s\.jsonl, line 3: not valid JSON"):
        parse_sample("{", Path("s.jsonl"), 3)
    # A line that was cut off in a text.
    with pytest.raises(InputError, match="Invalid control character at character 7"):
        parse_sample('{"a": "\n', Path("s.jsonl"), 3)


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(str.strip)


@given(texts, texts, st.lists(texts, min_size=1, max_size=3))
def test_any_text_survives_a_line(question, document, golds):
    sample = Sample(
        id="s", task="t", question=question, golds=tuple(golds), document=SampleDocument("s", [document]), metric="f1"
    )
    line = to_line(sample)
    assert line.endswith("\n")
    assert line.count("\n") == 1
    assert json.loads(line)["document"] == document


def test_a_line_by_hand_needs_three_fields(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text('\n{"question": "Who signed?", "document": "Ada\u2028signed.", "answers": ["Ada", "Quill"]}\n')
    (sample,) = read_samples(path)
    assert (sample.task, sample.id, sample.metric) == ("mine", "mine-2", "contains")
    assert sample.golds == ("Ada", "Quill")
    assert sample.memory is MemoryRule.NOTES
    assert sample.text == "Ada\u2028signed."


def test_fields_of_other_tools_and_numbers_as_ids_are_no_mistake(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text('{"id": 7, "question": "Who?", "document": "Ada.", "answer": "Ada", "level": "hard"}\n')
    (sample,) = read_samples(path)
    assert (sample.id, sample.document.name) == ("7", "7")


GOOD = '{"question": "q", "document": "d", "answer": "a"}\n'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not valid JSON"),
        ("[1]", "JSON object"),
        ('{"document": "d", "answer": "a"}', "question is missing"),
        ('{"question": 5, "document": "d", "answer": "a"}', "question must be text, not 5"),
        ('{"question": "q", "document": "d", "answer": "a", "length": "9"}', "length must be a whole number, not '9'"),
        ('{"question": "q", "document": "d", "answer": "a", "tokens": -1}', "tokens must be at least 0, not -1"),
        ('{"question": "q", "document": "d", "answer": "a", "metadata": []}', "metadata must be a table, not []"),
        (
            '{"question": "q", "document": "d", "answer": "a", "evidence": [{"start": 0}]}',
            "evidence.0.end is missing",
        ),
        ('{"question": "q", "document": "  ", "answer": "a"}', "'document'"),
        ('{"question": "q", "document": "d"}', "'golds'"),
        ('{"question": "q", "document": "d", "golds": []}', "'golds'"),
        ('{"question": "q", "document": "d", "golds": [true]}', "'golds'"),
        ('{"question": "q", "document": "d", "answer": "a", "metric": "exat"}', "'exact'"),
        ('{"question": "q", "document": "d", "answer": "a", "memory": "odd"}', "odd"),
        ('{"question": "q", "document": "d", "answer": "a", "evidence": [{"start": 0, "end": 9}]}', "outside"),
    ],
)
def test_a_bad_line_is_named_by_file_and_number(line, message, tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text("\n" + line + "\n")
    with pytest.raises(InputError, match=r"bad\.jsonl, line 2") as error:
        list(read_samples(path))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("begin", "what"),
    [
        (b"PK\x03\x04", "unpack it"),
        (b"version https://git-lfs", "lfs pull"),
        (b"\xef\xbb\xbf\r\n<!DOCTYPE html>", "web"),
        (b"<html>", "web"),
    ],
)
def test_what_came_in_place_of_a_file_is_named(tmp_path, begin, what):
    (tmp_path / "set.json").write_bytes(begin + b" and more")
    with pytest.raises(InputError, match=what):
        list(read_samples(tmp_path / "set.json"))


def test_an_odd_record_is_skipped_and_counted_by_its_reason(tmp_path):
    path = tmp_path / "mixed.jsonl"
    empty = '{"question": " ", "document": "d", "answer": "a"}\n'
    path.write_text(empty + GOOD + empty + '{"question": "q", "document": "d", "answer": ""}\n{"question": "q\n' + GOOD)
    skipped = Counter()
    assert len(list(read_samples(path, skipped=skipped))) == 2
    broken = next(reason for reason in skipped if reason.startswith("not valid JSON"))
    assert skipped == {
        "'question' must be a text that is not empty": 2,
        "'golds' (or 'answers', or 'answer') must be a text, a number or a list of them, none empty": 1,
        broken: 1,
    }
    path.write_text('{"a":' + "[" * 100_000 + "}\n" + GOOD + empty)
    assert [type(one).__name__ for one in read_entries(path)] == ["MissingSample", "Sample", "MissingSample"]


def test_the_samples_of_a_file_have_the_numbers_of_their_lines(tmp_path):
    path = tmp_path / "mixed.jsonl"
    path.write_text("3\n" + GOOD + "3\n{\n4\n" + GOOD)
    entries = list(read_entries(path))
    assert [one.id for one in entries if isinstance(one, MissingSample)] == ["mixed-1", "mixed-3", "mixed-4", "mixed-5"]
    assert [one.id for one in entries if isinstance(one, Sample)] == ["mixed-2", "mixed-6"]


def test_a_number_is_a_gold(tmp_path):
    path = tmp_path / "numbers.jsonl"
    path.write_text('{"question": "q", "document": "d", "answer": 7}\n')
    (sample,) = read_samples(path)
    assert sample.golds == ("7",)


def test_a_file_that_is_not_there_or_not_text_is_said_so(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        list(read_samples(tmp_path / "none.jsonl"))
    (tmp_path / "raw.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read"):
        list(read_samples(tmp_path / "raw.jsonl"))


def test_a_disk_that_is_full_at_the_end_leaves_no_half_file(tmp_path):
    writing = SampleWriter(tmp_path / "s.jsonl")
    writing.write("held back")
    os.close(writing._file.fileno())
    with pytest.raises(InputError, match=r"s\.jsonl cannot be written"), writing:
        pass
    assert list(tmp_path.iterdir()) == []


def test_only_a_file_needs_force_and_what_is_none_is_written_through(tmp_path):
    sample = Sample(id="s", task="t", question="q", golds=("a",), document=SampleDocument("s", ["d"]), metric="f1")
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    reading_end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert write_samples([sample], pipe) == 1
    assert os.read(reading_end, 1 << 16).decode() == to_line(sample)
    os.close(reading_end)
    assert pipe.is_fifo()
    (tmp_path / "real").mkdir()
    file, link = tmp_path / "real" / "s.jsonl", tmp_path / "link.jsonl"
    link.symlink_to(file)
    write_samples([sample], link)
    with pytest.raises(InputError, match="--force"):
        write_samples([], link)
    write_samples([], link, force=True)
    assert link.is_symlink()
    assert file.read_text() == ""


def test_a_sample_without_an_answer_needs_none_and_a_misspelt_metric_is_named(tmp_path):
    line = '{"question": "Who?", "document": "A door.", "answers": [], "metric": "unanswerable"}'
    sample = parse_sample(line, tmp_path, 1)
    assert sample.score("The document does not say.").score == 1
    with pytest.raises(InputError, match="did you mean 'metric'"):
        parse_sample(line.replace("metric", "metrics"), tmp_path, 1)
