"""Runs as one HTML file to share."""

from __future__ import annotations

import base64
import gzip
import json
import re

import pytest

from bookwheel.cli.main import main
from bookwheel.errors import InputError
from bookwheel.lab.desk.bundle import build_bundle
from bookwheel.lab.desk.run_directory import RunDirectory


def bundle_of(folder, **options):
    directory = RunDirectory(folder)
    return build_bundle([(directory, run) for run in directory.list_runs()], **options)


def unpack(html: str) -> dict:
    data = re.search(r'id="data">([^<]*)</script>', html)[1]
    return json.loads(gzip.decompress(base64.b64decode(data)))


def modules(html: str) -> dict[str, str]:
    imports = json.loads(re.search(r'<script type="importmap">(.*?)</script>', html)[1])["imports"]
    return {name: base64.b64decode(address.partition(",")[2]).decode() for name, address in imports.items()}


def test_a_file_has_everything_that_its_views_ask_for(runs):
    content = unpack(bundle_of(runs).html)
    names = {run["name"]: run["run"] for run in content["runs"]}
    assert set(names) == {"first", "deep/tiny"}
    evaluation, training = names["first"], names["deep/tiny"]
    assert len(content["samples"][evaluation]) == 24
    assert content["details"][evaluation]["cells"]
    assert content["details"][training]["curves"]
    rollouts = content["rollouts"][training]
    assert [one["reading"] for one in rollouts] == list(content["readings"][training])
    one = content["readings"][training][rollouts[0]["reading"]]
    assert one["reading"]["rollout"]["rollout"] == rollouts[0]["rollout"]
    assert one["reading"]["steps"][0]["changes"]
    assert one["origins"]
    assert "harvests" in content["texts"][one["reading"]["document"]["id"]]


def test_the_wrong_readings_come_first_and_no_more_than_were_wanted(runs):
    content = unpack(bundle_of(runs / "first", most_readings=3).html)
    (readings,) = content["readings"].values()
    assert len(readings) == 3
    assert all(one["reading"]["sample"]["score"] < 1 for one in readings.values())
    (samples,) = content["samples"].values()
    assert {one["reading"] for one in samples if one["kept"]} == set(readings)


def test_no_module_imports_what_is_not_there_or_asks_a_server(runs):
    html = bundle_of(runs, most_readings=0).html
    found = modules(html)
    for name, code in found.items():
        assert not re.findall(r'(?:from |import\()"\./', code), name
        assert set(re.findall(r'(?:from |import\()"(bookwheel/[\w.-]+)"', code)) <= set(found), name
        assert "/page/" not in code, name
    assert "fetch(" not in found["bookwheel/service.js"]
    assert "default-src 'none'" in html


def test_nothing_from_outside_is_markup(runs):
    evil = runs / "<script>alert(1)<"
    (runs / "first").rename(evil)
    html = bundle_of(runs).html
    assert "alert(1)" not in html.replace("&lt;script&gt;alert(1)", "")


def test_a_folder_without_runs_is_refused(tmp_path):
    with pytest.raises(InputError, match="no evaluation and no training run"):
        bundle_of(tmp_path)


def test_the_command_writes_runs_of_several_folders_into_one_file(runs, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as exit_:
        main(["share", str(runs / "first"), str(runs / "deep"), "--readings", "1"])
    assert exit_.value.code == 0
    content = unpack((tmp_path / "first.html").read_text("utf-8"))
    assert [run["kind"] for run in content["runs"]] == ["evaluation", "training"]
    assert len({run["run"] for run in content["runs"]}) == 2
    assert "2 runs, 2 readings" in capsys.readouterr().err
    with pytest.raises(SystemExit) as exit_:
        main(["share"])
    assert exit_.value.code == 2
