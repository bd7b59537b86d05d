"""Runs in one HTML file, opened in a real Chromium from the file and without a server."""

from __future__ import annotations

import json
import shutil

import pytest

from bookwheel.serve.engine.settings import ServerSettings

FILTERS = [
    {},
    {"search": "AZURE"},
    {"task": "missing", "length": "600"},
    {"wrong": "1", "way": "whole"},
    {"memory": "never-captured"},
]


@pytest.fixture(scope="module")
def folder(made_runs, tmp_path_factory):
    return shutil.copytree(made_runs, tmp_path_factory.mktemp("shown") / "runs")


@pytest.fixture(scope="module")
def base(serving_with, folder, tmp_path_factory):
    with serving_with(tmp_path_factory.mktemp("page"), 0.01, settings=ServerSettings(runs_folder=folder)) as address:
        yield address


@pytest.fixture
def opened(page, base, tmp_path):
    """Open the file of a run; returns the run's address on the server, too."""

    def save_and_open(name: str) -> str:
        address = (
            f"{base}/runs/{next(run['run'] for run in page.request.get(f'{base}/runs').json() if run['name'] == name)}"
        )
        answer = page.request.get(f"{address}/page")
        assert answer.headers["content-disposition"].startswith("attachment")
        file = tmp_path / "shared.html"
        file.write_bytes(answer.body())
        page.goto("about:blank")  # the view that was open may still ask for what it shows
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        page.wait_for_selector(".chart svg")
        assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
        return address

    return save_and_open


def test_an_evaluation_opens_from_its_file_with_samples_and_readings(page, opened, expect):
    opened("first")
    expect(page.locator("h1")).to_have_text("first")
    page.check("#sample-wrong")
    page.select_option("#sample-way", "sequential")
    expect(page.locator(".samples .status").first).to_have_text("wrong")
    page.get_by_text("Samples against ways").click()
    expect(page.locator(".matrix tbody tr").first).to_be_visible()
    page.locator(".samples a").first.click()
    page.wait_for_selector(".memory[aria-busy=false]")
    page.locator("button.since").first.click()
    page.locator("mark").wait_for()
    page.get_by_role("link", name="Back to first").click()
    page.get_by_role("button", name="中文").click()
    expect(page.locator("#samples-title")).to_have_text("样本")


def test_a_training_run_opens_from_its_file_with_curves_and_rollouts(page, opened, expect, assert_clean):
    opened("deep/tiny")
    expect(page.locator(".facts")).to_contain_text("at rest")
    assert_clean(page, "shared-training")
    page.locator(".rollouts a").first.click()
    page.wait_for_selector(".workspace .lines li p")
    expect(page.locator(".earned")).to_contain_text("Reward")


def test_a_file_filters_as_the_server_does(page, opened):
    address = opened("first")
    run = page.evaluate("async () => (await (await import('bookwheel/service.js')).runs())[0].run")
    call = "async ([name, run, wanted]) => (await import('bookwheel/service.js'))[name](run, wanted)"
    for name in ("samples", "matrix"):
        for filters in (*FILTERS, {"mixed": "1"}):
            from_file = page.evaluate(call, [name, run, {**filters, "start": 1, "limit": 4}])
            query = "&".join(f"{key}={value}" for key, value in filters.items())
            from_server = page.request.get(f"{address}/{name}?{query}&start=1&limit=4").json()
            told = json.loads(json.dumps(from_server).replace(address.split("/")[-1], run))
            assert from_file == told, (name, filters)
