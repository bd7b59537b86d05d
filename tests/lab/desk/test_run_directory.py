"""Evaluations and training runs over HTTP: told as their reports tell them, never changed, and nothing beside them."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bookwheel.errors import InputError
from bookwheel.lab.desk.run_directory import RunDirectory
from bookwheel.lab.evaluation.report import build_report
from bookwheel.lab.evaluation.results import Results
from bookwheel.serve.engine.settings import ServerSettings


@pytest.fixture
def client(serving, runs):
    with serving(settings=ServerSettings(runs_folder=runs)) as server, server.client() as client:
        yield client


def named(client, name: str) -> str:
    return next(run["run"] for run in client.get("/runs").json() if run["name"] == name)


@pytest.mark.slow
def test_runs_are_listed_with_what_they_came_to(client):
    told = {run["name"]: run for run in client.get("/runs").json()}
    assert told["first"]["kind"] == "evaluation"
    assert (told["first"]["samples"], told["first"]["ways"]) == (24, ["sequential", "whole"])
    assert told["deep/tiny"]["totals"]["rollouts"] == 8
    assert told["deep/tiny"]["held_out"]["accuracy"] == 0.5


def test_an_evaluation_is_told_with_its_reports_own_numbers(client, runs):
    told = client.get(f"/runs/{named(client, 'first')}").json()
    made = build_report(Results.load(runs / "first" / "results.jsonl"))
    assert [cell["score"]["low"] for cell in told["cells"]] == [c.score.low for c in (*made.cells, *made.pooled)]
    assert {cell["task"] for cell in told["cells"]} == {"wheels", "missing", "all"}
    assert any(cell["refused"] == cell["score"]["n"] for cell in told["cells"])
    assert "bookwheel eval wheels.toml" in json.dumps(told["sections"])
    assert all(set(section) == {"title", "words", "tables"} for section in told["sections"])


def test_samples_are_filtered_and_told_part_by_part(client):
    at = f"/runs/{named(client, 'first')}/samples"
    wrong = client.get(at, params={"wrong": 1, "way": "sequential", "limit": 4}).json()
    assert (wrong["total"], len(wrong["samples"])) == (6, 4)
    assert {one["task"] for one in wrong["samples"]} == {"missing"}
    rest = client.get(at, params={"wrong": 1, "way": "sequential", "start": 4}).json()["samples"]
    assert len({one["sample"] for one in (*wrong["samples"], *rest)}) == 6
    assert client.get(at, params={"task": "wheels", "length": 150}).json()["total"] == 6


def test_a_samples_reading_is_opened_from_the_evaluations_own_journal(client):
    at = f"/runs/{named(client, 'first')}"
    which = {"task": "wheels", "way": "sequential", "length": 600}
    sample = client.get(f"{at}/samples", params=which).json()["samples"][0]
    assert sample["kept"]
    reading = client.get(f"{at}/readings/{sample['reading']}").json()
    assert reading["answer"] == sample["answer"]
    assert reading["sample"]["golds"] == sample["golds"]
    assert client.get(f"{at}/readings/{sample['reading']}/origins").json()
    text = client.get(f"{at}/documents/{reading['document']['id']}/text", params={"end": 20}).json()["text"]
    assert text == "The colour of wheel "
    assert client.get(f"/readings/{sample['reading']}").status_code == 404


def test_a_training_run_is_told_with_its_curves_settings_and_rollouts(client):
    at = f"/runs/{named(client, 'deep/tiny')}"
    told = client.get(at).json()
    curves = {(curve["name"], curve["warm"]): curve["points"] for curve in told["curves"]}
    assert curves["loss", True] == [[1, 4.0], [2, 2.0]]
    assert curves["clipped", False] == [[3, 0.03], [4, 0.04]]
    assert [one["accuracy"] for one in told["held_out"]] == [0.25, 0.5]
    assert told["settings"]["train"]["seed"] == 5
    assert told["kept"] == [{"step": 2, "rollouts": 2, "reward": 0.75}]
    for one in client.get(f"{at}/rollouts", params={"step": 2}).json():
        reading = client.get(f"{at}/readings/{one['reading']}").json()
        assert reading["rollout"]["advantage"] == one["advantage"]
        assert len(reading["steps"]) > 2


def test_a_run_that_goes_on_is_told_anew_and_only_then(client, runs):
    at = f"/runs/{named(client, 'deep/tiny')}"
    tag = client.get(at).headers["etag"]
    assert client.get(at, headers={"If-None-Match": tag}).status_code == 304
    with (runs / "deep" / "tiny" / "metrics.jsonl").open("a") as file:
        record = {"kind": "evaluation", "step": 5, "accuracy": 0.75, "n": 64, "failed": 0, "clock": {"seconds": 1.0}}
        file.write(json.dumps(record) + '\n{"kind": "step", "st')
    told = client.get(at, headers={"If-None-Match": tag})
    assert [one["accuracy"] for one in told.json()["held_out"]] == [0.25, 0.5, 0.75]


@pytest.mark.slow
def test_looking_changes_nothing(client, runs):
    def seal() -> dict[str, str]:
        files = [path for path in sorted(runs.rglob("*")) if path.is_file()]
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    before = seal()
    test_a_samples_reading_is_opened_from_the_evaluations_own_journal(client)
    test_a_training_run_is_told_with_its_curves_settings_and_rollouts(client)
    assert seal() == before


def test_links_lead_nowhere(serving, runs, tmp_path):
    secret = tmp_path / "secret"
    secret.mkdir()
    (runs / "first").rename(secret / "first")
    (runs / "whole").symlink_to(secret, target_is_directory=True)
    (runs / "file").mkdir()
    (runs / "file" / "results.jsonl").symlink_to(secret / "first" / "results.jsonl")
    tiny = runs / "deep" / "tiny"
    for name in ("rollouts.sqlite", "rollouts.jsonl"):
        (tiny / name).rename(secret / name)
        (tiny / name).symlink_to(secret / name)
    (tiny / "checkpoints").rename(secret / "checkpoints")
    (tiny / "checkpoints").symlink_to(secret / "checkpoints", target_is_directory=True)
    with serving(settings=ServerSettings(runs_folder=runs)) as server, server.client() as client:
        assert [run["name"] for run in client.get("/runs").json()] == ["deep/tiny"]
        at = f"/runs/{named(client, 'deep/tiny')}"
        told = client.get(at).json()
        assert (told["kept"], told["settings"]) == ([], {})
        id_ = json.loads((secret / "rollouts.jsonl").read_text().splitlines()[0])["reading"]
        assert client.get(f"{at}/readings/{id_}").status_code == 404


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
@pytest.mark.slow
def test_a_link_that_sqlite_would_follow_closes_the_journal(serving, runs, tmp_path, ending):
    (tmp_path / "victim").write_bytes(b"mine")
    (runs / "first" / f"journal.sqlite{ending}").symlink_to(tmp_path / "victim")
    with serving(settings=ServerSettings(runs_folder=runs)) as server, server.client() as client:
        sample = client.get(f"/runs/{named(client, 'first')}/samples").json()["samples"][0]
        assert not sample["kept"]
        assert client.get(f"/runs/{named(client, 'first')}/readings/{sample['reading']}").status_code == 404
    assert (tmp_path / "victim").read_bytes() == b"mine"


@pytest.mark.parametrize(
    "name", ["%2e%2e", "first", "%2e%2e%2f%2e%2e", "%2fetc%2fpasswd", "first%2fresults.jsonl", "%00", "last"]
)
def test_no_part_of_a_request_is_a_path(client, name):
    known = named(client, "first")
    for path in (f"/runs/{name}", f"/runs/{known}/readings/{name}", f"/runs/{known}/documents/{name}/text"):
        answer = client.get(path)
        assert answer.status_code == 404, path


def test_a_file_beyond_the_bound_is_not_opened(client, runs):
    id_ = named(client, "first")
    with (runs / "first" / "results.jsonl").open("r+b") as file:
        file.truncate((64 << 20) + 1)
    answer = client.get(f"/runs/{id_}")
    assert answer.status_code == 422
    assert "64 MiB" in answer.json()["error"]
    assert "64 MiB" in next(run for run in client.get("/runs").json() if run["run"] == id_)["error"]


def test_a_damaged_run_is_a_sentence_and_hides_no_other(client, runs):
    (runs / "first" / "results.jsonl").write_text("nonsense\n")
    (runs / "deep" / "tiny" / "metrics.jsonl").write_text(
        '{"kind": "evaluation", "step": 1, "clock": {"seconds": 1}}\n'
    )
    assert len(client.get("/runs").json()) == 2
    for name in ("first", "deep/tiny"):
        answer = client.get(f"/runs/{named(client, name)}")
        assert answer.status_code == 422
        assert answer.json()["error"]
        assert str(runs) not in answer.text


def test_a_server_without_runs_says_how_to_show_some(up):
    with up.client() as client:
        assert "--runs" in client.get("/runs").json()["error"]
        assert client.get("/runs/0123456789abcdef").status_code == 404


def test_a_folder_that_is_none_is_refused_at_once(tmp_path):
    with pytest.raises(InputError, match="not a folder"):
        RunDirectory(tmp_path / "nowhere")


@pytest.mark.slow
def test_looking_needs_neither_torch_nor_a_plotting_package():
    source = Path(__file__).parents[3] / "src"
    code = "import sys, bookwheel.serve.app; sys.exit(bool({'torch', 'matplotlib', 'transformers'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(source)}, check=False)
    assert done.returncode == 0
