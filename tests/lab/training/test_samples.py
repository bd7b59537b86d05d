from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import json

from bookwheel.errors import InputError
from bookwheel.lab.tasks import write_samples
from bookwheel.lab.tasks.memories import ideal_memories
from bookwheel.lab.training import samples as sample_module
from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.policy_model import PolicyModel
from bookwheel.lab.training.samples import SampleFile, SampleOrder, check_sources
from bookwheel.lab.training.toys import toy_samples
from bookwheel.text.chunks import split


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.jsonl"
    write_samples(toy_samples(tokens=32, count=20, seed=3), path)
    return path


def test_samples_are_read_when_they_are_drawn(file, monkeypatch):
    read, plain = [], sample_module.parse_sample
    monkeypatch.setattr(
        sample_module, "parse_sample", lambda line, path, number: read.append(number) or plain(line, path, number)
    )
    samples = SampleFile(file)
    assert (len(samples), read) == (20, [])
    made = toy_samples(tokens=32, count=20, seed=3)
    for place in (17, 0, 3):
        assert (samples[place].text, samples[place].golds) == (made[place].text, made[place].golds)
    assert set(read) == {18, 1, 4}
    assert [one.id for one in samples[1:3]] == [made[1].id, made[2].id]


def test_a_file_by_hand_with_empty_lines_and_wide_characters_is_read(tmp_path):
    path = tmp_path / "own.jsonl"
    lines = [
        {"question": "谁?", "document": "阿达签了字。", "answers": ["阿达"]},
        {"question": "Who?", "document": "Ada.", "answer": "Ada"},
    ]
    path.write_text("\n" + "\n\n".join(json.dumps(one, ensure_ascii=False) for one in lines), encoding="utf-8")
    samples = SampleFile(path)
    assert [(one.question, one.golds) for one in samples] == [("谁?", ("阿达",)), ("Who?", ("Ada",))]


def test_a_file_in_another_encoding_is_named_and_none_of_its_letters_replaced(tmp_path):
    path = tmp_path / "own.jsonl"
    line = json.dumps(
        {"question": "Wer?", "document": "Jürgen unterschrieb.", "answers": ["Jürgen"]}, ensure_ascii=False
    )
    path.write_text(line, encoding="utf-8-sig")
    assert SampleFile(path)[0].golds == ("Jürgen",)
    path.write_text(line, encoding="latin-1")
    with pytest.raises(ConfigError, match=r"own\.jsonl, line 1: byte \d+ is not UTF-8"):
        SampleFile(path).check()


def test_a_bad_line_is_named_before_the_run_begins(file):
    lines = file.read_text(encoding="utf-8").splitlines()
    lines[12] = lines[12][:-30]
    lines[15] = '{"question": "Who?", "document": "Ada."}'
    file.write_text("\n".join(lines), encoding="utf-8")
    table = {"task": {"file": str(file)}, "policy": {"path": "some/model"}}
    with pytest.raises(ConfigError, match=r"mine\.jsonl.*13.*1 more of 20 samples"):
        check_sources(TrainConfig.from_tables({"train": table}))


def test_held_out_samples_are_never_trained_on(file):
    training, measured = SampleFile(file).split(5, seed=1)
    assert (len(training), len(measured)) == (15, 5)
    assert not {one.id for one in training} & {one.id for one in measured}
    again = SampleFile(file).split(5, seed=1)[1]
    assert [one.id for one in again] == [one.id for one in measured]
    with pytest.raises(ConfigError, match=r"20 samples.*evaluation.samples = 11.*held_out"):
        SampleFile(file).split(11, seed=1)


def test_a_sample_that_is_trained_on_is_not_measured_on(file, tmp_path):
    both, other = tmp_path / "both.jsonl", tmp_path / "other.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines()
    both.write_text("\n".join([lines[3].replace("Who", "Why", 1), lines[2]]), encoding="utf-8")
    other.write_text('{"question": "Who?", "document": "Ada.", "answers": ["Ada"]}', encoding="utf-8")
    for held_out, message in ((both, "of the 2 samples of train.task.held_out"), (file, "20 of the 20")):
        tables = {"train": {"task": {"file": str(file), "held_out": str(held_out)}}}
        with pytest.raises(ConfigError, match=message):
            check_sources(TrainConfig.from_tables(tables))
    tables = {"train": {"task": {"file": str(file), "held_out": str(other)}, "policy": {"path": "m"}}}
    check_sources(TrainConfig.from_tables(tables))


def test_a_folder_without_readings_is_refused_before_the_run(file, tmp_path):
    tables = {"train": {"task": {"file": str(file)}, "warm_start": {"steps": 1, "traces": str(tmp_path)}}}
    with pytest.raises(ConfigError, match="neither an evaluation's folder nor a journal"):
        check_sources(TrainConfig.from_tables(tables))


def test_what_cannot_be_trained_on_is_told_with_file_and_line(tmp_path, file):
    with pytest.raises(ConfigError, match=r"none\.jsonl"):
        SampleFile(tmp_path / "none.jsonl")
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(ConfigError, match="no sample"):
        SampleFile(tmp_path / "empty.jsonl")
    (tmp_path / "bad.jsonl").write_text('{"question": "Who?"}\n')
    with pytest.raises(InputError, match=r"bad.jsonl, line 1"):
        _ = SampleFile(tmp_path / "bad.jsonl")[0]
    (tmp_path / "plain.jsonl").write_text('{"question": "Who?", "document": "Ada.", "answers": ["Ada"]}\n')
    with pytest.raises(ConfigError, match=r"line 1: .*evidence"):
        _ = SampleFile(tmp_path / "plain.jsonl", needs_evidence=True)[0]
    assert SampleFile(file, needs_evidence=True)[0].evidence


def test_the_entry_asked_for_stands_once_and_its_evidence_is_it():
    for sample in toy_samples(tokens=400, count=20, seed=3):
        assert sample.text.count(f"{sample.question} ") == 1
        (found,) = sample.evidence
        assert sample.text[found.start : found.end] == f"{sample.question} {sample.golds[0]} .\n"


def test_a_chunk_of_sixteen_tokens_is_four_whole_lines(still_policy):
    tokenizer = PolicyModel(still_policy).tokenizer
    for sample in toy_samples(tokens=96, count=5, seed=3):
        chunks = list(split(sample.document, tokenizer, 16))
        assert [chunk.text.count("\n") for chunk in chunks] == [4] * 6
        assert ideal_memories(sample, chunks)[-1] == f"{sample.question} {sample.golds[0]}"


def test_samples_are_drawn_as_they_stand_where_nothing_is_shuffled():
    samples = toy_samples(tokens=16, count=4, seed=0)
    order = SampleOrder(samples, 0, shuffle=False)
    assert [order.pick(number).id for number in range(6)] == [one.id for one in (*samples, *samples[:2])]


def test_shorter_documents_come_first_each_for_its_number_of_draws():
    short, middle, long = (toy_samples(tokens=tokens, count=4, seed=0) for tokens in (16, 32, 64))
    order = SampleOrder(long, 0, stages=[(6, short), (3, middle)])
    drawn = [order.pick(number) for number in range(12)]
    assert [one.tokens for one in drawn] == [16] * 6 + [32] * 3 + [64] * 3
    assert {one.id for one in drawn[:4]} == {one.id for one in short}
    # A resumed run begins anywhere.
    again = SampleOrder(long, 0, stages=[(6, short), (3, middle)])
    assert [again.pick(number).id for number in (10, 3, 7)] == [drawn[number].id for number in (10, 3, 7)]


class EndingSeries(list):
    def __getitem__(self, place):
        self.tried = [*getattr(self, "tried", []), place]
        if place >= 1046:
            raise InputError("hotpotqa_train holds 1046 questions")
        return "a sample"


@pytest.mark.parametrize(("count", "tries"), [(32768, 17), (1047, 12), (1046, 1)])
def test_data_for_fewer_samples_than_are_asked_for_are_named_with_their_number(count, tries):
    series = EndingSeries(range(count))
    if count > 1046:
        with pytest.raises(ConfigError, match=r"enough for 1,046 of .* set count = 1046, .*holds 1046 questions"):
            sample_module._check_count("hqa", series)
    else:
        sample_module._check_count("hqa", series)
    assert len(series.tried) <= tries
