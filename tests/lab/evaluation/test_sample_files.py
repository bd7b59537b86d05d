"""Samples that come from files: which are the same, which are read again, and which are refused."""

import asyncio
import json
import os
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from evaluations import go, opener

from bookwheel.lab.evaluation.coverage import summarize_coverage
from bookwheel.lab.evaluation.records import ResultsError
from bookwheel.lab.evaluation.report import compare_results
from bookwheel.lab.evaluation.settings import SettingsError
from bookwheel.lab.tasks.files import write_samples
from bookwheel.models.scripted import ScriptedModel, keyword_reader


def test_results_are_listed_in_the_order_of_the_file_of_samples(tmp_path, settings, source):
    file = tmp_path / "mine.jsonl"
    mixed = [replace(one, id=f"s{n}", task=f"t{n % 2}") for n, one in enumerate(islice(source("wheels", 60), 4))]
    write_samples(mixed, file)

    class Hasty(ScriptedModel):
        """The later a sample is asked for, the sooner it is answered."""

        asked = 0

        async def reply(self, *given, **options):
            self.asked += 1
            await asyncio.sleep(0.02 / self.asked)
            return await super().reply(*given, **options)

    evaluation = settings(tasks=(), lengths=(), samples=(str(file),), ways=("closed-book",))
    found = go(evaluation, tmp_path / "r.jsonl", None, opener(Hasty(keyword_reader)))
    assert [one.sample for one in found.records] == ["s0", "s1", "s2", "s3"]


def test_samples_may_come_from_a_file(tmp_path, settings, source, reader):
    file = tmp_path / "mine.jsonl"
    made = source("mine", 300)
    write_samples([next(made) for _ in range(3)], file)
    found = go(settings(tasks=(), lengths=(), samples=(str(file),)), tmp_path / "r.jsonl", source, reader)
    assert {(record.task, record.length) for record in found.records} == {("mine", 300)}
    assert len(found.records) == 6


def test_files_that_number_their_samples_alike_lose_none(tmp_path, monkeypatch, settings, source, reader):
    paths = [tmp_path / folder / "0k.jsonl" for folder in ("qa1", "qa2")]
    for path, who in zip(paths, ("Ada", "Bram"), strict=True):
        path.parent.mkdir()
        path.write_text(json.dumps({"question": "Who?", "document": f"{who} signed.", "answers": [who]}) + "\n")
    # In one command or two, in any order and spelling.
    monkeypatch.chdir(tmp_path)
    evaluation = settings(tasks=(), lengths=(), samples=("qa1/0k.jsonl", str(paths[0])), ways=("sequential",))
    with pytest.raises(SettingsError, match="given twice"):
        go(evaluation, Path("r.jsonl"), source, reader)
    for names in (["qa1/0k.jsonl"], paths[1:], [*paths[::-1]], ["./qa1/0k.jsonl", "qa2/0k.jsonl"]):
        found = go(replace(evaluation, samples=tuple(map(str, names))), Path("r.jsonl"), source, reader)
    assert {(Path(one.file).parent.name, one.golds) for one in found.records} == {("qa1", ("Ada",)), ("qa2", ("Bram",))}
    assert (len(found.records), reader.model.calls) == (2, 4)
    assert [one.samples for one in summarize_coverage(found.records)] == [2]
    older = [replace(one, file=os.path.relpath(one.file)) for one in found.records]
    assert [one.key for one in older] == [one.key for one in found.records]


def test_a_file_without_samples_is_named(tmp_path, settings, source, reader):
    file = tmp_path / "none.jsonl"
    file.write_text("\n")
    with pytest.raises(SettingsError, match=r"none\.jsonl holds no samples"):
        go(settings(tasks=(), lengths=(), samples=(str(file),)), tmp_path / "r.jsonl", source, reader)


def test_two_samples_of_one_name_in_a_file_are_refused(tmp_path, settings, source, reader):
    file = tmp_path / "mine.jsonl"
    sample = next(source("mine", 300))
    write_samples([sample, sample], file)
    with pytest.raises(SettingsError, match="two samples"):
        go(settings(tasks=(), samples=(str(file),)), tmp_path / "r.jsonl", source, reader)


def test_an_edited_sample_is_read_again_and_its_old_score_goes(tmp_path, settings, source, reader):
    file, path = tmp_path / "mine.jsonl", tmp_path / "r.jsonl"
    made = list(islice(source("mine", 300), 3))
    evaluation = settings(tasks=(), lengths=(), samples=(str(file),), ways=("sequential",))
    write_samples(made, file)
    assert [one.score for one in go(evaluation, path, source, reader).records] == [1, 1, 1]
    calls = reader.model.calls
    write_samples([made[0], replace(made[1], golds=("turquoise",)), made[2]], file, force=True)
    found = go(evaluation, path, source, reader)
    assert [one.score for one in found.records] == [1, 0, 1]
    assert found.records[1].golds == ("turquoise",)
    per_sample = calls // 3
    assert reader.model.calls == calls + per_sample


def test_other_data_under_the_same_names_is_read_and_not_taken_for_the_old(tmp_path, settings, source, reader):
    path = tmp_path / "r.jsonl"
    evaluation = settings(lengths=(300,), ways=("sequential",))

    def other(task, length):
        return (replace(one, question=one.question.replace("colour", "hue")) for one in source(task, length))

    first = go(evaluation, path, source, reader)
    second = go(evaluation, path, other, reader)
    assert {one.sample for one in first.records} == {one.sample for one in second.records}
    assert all("hue" in one.question for one in second.records)
    assert len(second.records) == 5


def test_another_file_of_questions_is_refused_under_one_folder(tmp_path, settings, source, reader):
    one, other = tmp_path / "a.json", tmp_path / "b.json"
    one.write_text("[1]")
    other.write_text("[2]")
    path = tmp_path / "r.jsonl"
    evaluation = settings(lengths=(300,), ways=("closed-book",), count=1)
    go(replace(evaluation, data=str(one)), path, source, reader)
    moved = tmp_path / "moved.json"
    moved.write_bytes(one.read_bytes())
    go(replace(evaluation, data=str(moved)), path, source, reader)
    with pytest.raises(ResultsError, match="data is"):
        go(replace(evaluation, data=str(other)), path, source, reader)


def test_two_files_of_different_questions_are_not_compared(tmp_path, settings, source, reader):
    evaluation = settings(lengths=(300,), ways=("sequential",), count=2)

    def other(task, length):
        return (replace(one, question=one.question.replace("colour", "hue")) for one in source(task, length))

    first = go(evaluation, tmp_path / "a.jsonl", source, reader)
    second = go(evaluation, tmp_path / "b.jsonl", other, reader)
    assert compare_results(first, first, ("a", "a"))[0].difference.n == 2
    with pytest.raises(ResultsError, match="no sample in common"):
        compare_results(first, second, ("a", "b"))
