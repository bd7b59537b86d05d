import json

import pytest

pytest.importorskip("torch")

from bookwheel.lab.training.toy_records import toy_records

from bookwheel.lab.tasks import write_samples
from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.verl.dataset import SampleNumbers
from bookwheel.lab.training.verl.translate import HELD_OUT, TRAIN

TRAINING = {"samples": 4, "task": {"name": "hqa", "tokens": 64, "count": 12}, "evaluation": {"samples": 3}}


def open_numbers(files, **changes):
    tables = TrainConfig.from_tables({"train": TRAINING | changes}).to_json()
    config = {"bookwheel": json.dumps(tables | {"data": ""})}
    return SampleNumbers(data_files=files, config=config, tokenizer=None, max_samples=-1)


@pytest.mark.parametrize(("files", "count"), [(TRAIN, 12), (HELD_OUT, 3)])
def test_an_entry_names_a_sample_and_holds_no_document(files, count):
    numbers = open_numbers(files)
    assert len(numbers) == count
    entry = numbers[count - 1]
    assert (entry["index"], entry["is_held_out"], entry["data_source"]) == (count - 1, files == HELD_OUT, "hqa")
    assert len(str(entry)) < 250


def test_a_file_brings_its_own_number_of_samples(tmp_path):
    file = tmp_path / "mine.jsonl"
    write_samples(toy_records(tokens=16, count=9, seed=0), file)
    task = {"file": str(file)}
    assert len(open_numbers(TRAIN, task=task)) + len(open_numbers(HELD_OUT, task=task)) == 9
    assert open_numbers(TRAIN, task=task)[0]["data_source"] == "mine"


def test_fewer_samples_than_a_batch_are_refused():
    with pytest.raises(ConfigError, match="12 samples to train on"):
        open_numbers(TRAIN, samples=64)
