"""Evaluations and training runs on the page, in a real Chromium."""

from __future__ import annotations

import json
import re
import shutil

import pytest
from page_looks import LOOKS

from bookwheel.serve.engine.settings import ServerSettings


@pytest.fixture(scope="module")
def folder(made_runs, tmp_path_factory):
    runs = shutil.copytree(made_runs, tmp_path_factory.mktemp("shown") / "runs")
    for name in ("second", "third"):
        shutil.copytree(runs / "deep" / "tiny", runs / "deep" / name)
    return runs


@pytest.fixture(scope="module")
def base(serving_with, folder, tmp_path_factory):
    with serving_with(tmp_path_factory.mktemp("page"), 0.01, settings=ServerSettings(runs_folder=folder)) as address:
        yield address


def open_run(page, name: str) -> None:
    page.goto("/#/runs")
    page.get_by_role("link", name=name, exact=True).click()
    page.wait_for_selector(".chart svg")


def test_runs_are_listed_and_opened(page, expect):
    page.get_by_role("link", name="Runs").click()
    page.wait_for_selector(".runs li")
    expect(page.locator(".runs")).to_contain_text("24 samples")
    expect(page.locator(".runs")).to_contain_text("held-out accuracy 50%")
    page.get_by_role("link", name="first").click()
    page.wait_for_selector("h1:has-text('first')")


def test_an_evaluation_shows_its_table_and_its_plots(page, expect):
    open_run(page, "first")
    page.select_option("#report-task", "wheels")
    cells = page.locator(".grid tbody tr").first.locator("td")
    expect(cells.first).to_have_text(re.compile(r"100\.0\s*43\.9–100\.0"))
    expect(page.locator(".grid").first).to_contain_text("does not fit")
    shown = page.locator(".plot svg").first
    expect(shown.locator(".mark")).to_have_count(3)
    assert "whole · 150: 100% [43.9%, 100%], n = 3" in shown.locator("title").all_text_contents()
    page.get_by_role("button", name="whole", exact=True).click()
    expect(shown.locator(".mark")).to_have_count(2)
    page.get_by_text("Every cell, with what it cost").click()
    page.get_by_role("columnheader", name="Tokens read").wait_for()
    page.get_by_text("How this was made").click()
    page.get_by_text("bookwheel eval wheels.toml").wait_for()


def test_pointing_at_a_plot_reads_out_its_figures(page, expect):
    open_run(page, "first")
    page.locator(".plot").first.hover(position={"x": 60, "y": 100})
    expect(page.locator(".figures").first).to_contain_text("150 tokens · sequential 50%")


def test_samples_are_filtered_by_a_cell_and_by_what_is_wrong(page, expect):
    open_run(page, "first")
    page.locator(".grid .score").nth(1).click()
    page.wait_for_selector("text=6 of 6 samples")
    assert page.input_value("#sample-length") == "600"
    page.check("#sample-wrong")
    page.wait_for_selector("text=3 of 3 samples")
    expect(page.locator(".samples .status")).to_have_text(["wrong"] * 3)
    expect(page.locator(".samples")).to_contain_text("azure")
    page.wait_for_function("() => location.hash.includes('wrong=1')")
    page.reload()
    page.wait_for_selector("text=3 of 3 samples")


def test_a_samples_question_is_text_and_never_markup(page, expect):
    open_run(page, "first")
    page.wait_for_selector(".samples li")
    expect(page.locator(".samples")).to_contain_text("<img src=x onerror")
    assert page.locator("main img:not(.wheel)").count() == 0


def test_a_sample_leads_to_its_reading_with_the_golds_beside_it(page, expect):
    open_run(page, "first")
    page.locator(".grid .score").nth(1).click()
    page.wait_for_selector("text=6 of 6 samples")
    page.locator(".samples a").first.click()
    page.wait_for_selector(".workspace .lines li p")
    expect(page.locator(".earned")).to_contain_text("vermilion0")
    page.wait_for_selector(".memory[aria-busy=false]")
    page.locator("button.since").first.click()
    page.locator("mark").wait_for()
    assert page.get_by_role("button", name="Edit").count() == 0
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("() => /^#\\/run\\/.*\\/reading\\/.*step=/.test(location.hash)")
    page.get_by_role("link", name="Back to first").click()
    page.wait_for_selector(".samples li")


def test_a_reading_without_steps_shows_its_document_and_says_why(page, expect):
    open_run(page, "first")
    page.locator(".grid tr").nth(2).locator(".score").first.click()
    page.wait_for_selector("text=6 of 6 samples")
    page.locator(".samples a").first.click()
    page.wait_for_selector(".source .text:has-text('harvests, tolls and rain')")
    expect(page.locator("main")).to_contain_text("without steps")
    expect(page.locator(".timeline")).to_be_hidden()


def test_a_training_run_shows_its_curves_and_settings(page, expect):
    open_run(page, "deep/tiny")
    expect(page.locator(".facts")).to_contain_text("2 of 6")
    captions = page.locator("figcaption").all_inner_texts()
    assert {"Loss of the warm start", "Loss", "Entropy", "Clipped tokens"} <= set(captions)
    assert not {"Divergence from the reference (KL)", "Groups dropped"} & set(captions)
    page.get_by_text("Held-out accuracy as a table").click()
    table = page.get_by_role("region", name="Held-out accuracy with its 95 % interval")
    expect(table).to_contain_text("16%–36.8%")
    page.get_by_text("Settings", exact=True).click()
    expect(page.get_by_role("region", name="Setting, Value")).to_contain_text("train.seed")


def test_a_kept_rollout_is_a_reading_with_its_advantage_beside_each_step(page, expect):
    open_run(page, "deep/tiny")
    page.locator(".rollouts a").nth(1).click()
    page.wait_for_selector(".workspace .lines li p")
    expect(page.locator(".earned")).to_contain_text("Reward 1.25")
    expect(page.locator(".transport .place")).to_contain_text("-0.50")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("() => location.hash.includes('step=')")
    expect(page.locator(".transport .place")).to_contain_text("-0.50")


def test_a_training_run_is_drawn_on_while_it_runs(page, folder, expect):
    # At a run that was quiet for long, the page looks every half minute.
    (folder / "deep" / "tiny" / "metrics.jsonl").touch()
    open_run(page, "deep/tiny")
    marks = page.locator(".plot").first.locator(".mark")
    before = marks.count()
    page.get_by_text("Settings", exact=True).click()
    with (folder / "deep" / "tiny" / "metrics.jsonl").open("a") as file:
        told = {"kind": "evaluation", "step": 5, "accuracy": 0.75, "n": 64, "failed": 0, "clock": {"seconds": 1.0}}
        file.write(json.dumps(told) + "\n")
    page.wait_for_function(
        "n => document.querySelector('.plot').querySelectorAll('.mark').length === n", arg=before + 1
    )
    expect(page.locator(".facts")).to_contain_text("75%")
    assert page.get_by_role("region", name="Setting, Value").is_visible()


def test_another_language_keeps_the_task_and_the_filter(page):
    open_run(page, "first")
    page.select_option("#report-task", "missing")
    page.check("#sample-wrong")
    page.wait_for_function("() => location.hash.includes('wrong=1')")
    page.get_by_role("button", name="中文").click()
    page.wait_for_selector("text=只看未答对的")
    assert page.input_value("#report-task") == "missing"
    assert page.is_checked("#sample-wrong")


@pytest.mark.parametrize(("width", "scheme", "locale"), LOOKS)
def test_nothing_hinders_assistive_technology_or_overflows(opened_at, assert_clean, width, scheme, locale):
    with opened_at(width=width, scheme=scheme, locale=locale) as page:
        page.goto("/#/runs")
        page.wait_for_selector(".runs li")
        assert_clean(page, "runs")
        for name, file in (("first", "evaluation"), ("deep/tiny", "training")):
            open_run(page, name)
            page.wait_for_selector(".samples a, .rollouts a")
            for details in page.locator(".folded > summary").all():
                details.click()
            assert_clean(page, file)
            page.locator(".samples a, .rollouts a").first.click()
            page.wait_for_selector(".workspace .source .text:has-text('harvests')")
            assert_clean(page, f"{file}-reading")


def test_a_server_without_runs_says_how_to_show_some(locked):
    page, secret = locked
    page.goto("/#/runs")
    page.fill("#key", secret)
    page.get_by_role("button", name="Enter").click()
    page.wait_for_selector("code:has-text('bookwheel serve --runs FOLDER')")


def test_a_late_refusal_takes_no_key_out_of_a_hand_that_types_it(locked, hold):
    page, secret = locked
    page.wait_for_selector("#key")
    held = hold(page, "**/runs")
    page.goto("/#/runs")
    page.wait_for_function("() => location.hash === '#/runs'")
    page.fill("#key", secret)
    held.wait()
    held.release()
    # An answer to a later request: by then the page has dealt with the refusal.
    page.evaluate("() => fetch('/healthz').then((answer) => answer.text())")
    assert page.input_value("#key") == secret
    page.get_by_role("button", name="Enter").click()
    page.wait_for_selector("code:has-text('bookwheel serve --runs FOLDER')")


def test_samples_are_searched_and_set_against_the_ways(page, expect):
    open_run(page, "first")
    page.fill("#sample-search", "azure")
    page.wait_for_function("() => location.hash.includes('search=azure')")
    expect(page.locator(".samples li").first).to_contain_text("azure")
    page.get_by_text("Samples against ways").click()
    page.wait_for_selector(".matrix tbody tr")
    expect(page.locator(".matrix tbody tr")).to_have_count(12)
    expect(page.locator(".matrix thead th")).to_have_text(["Sample", "sequential", "whole"])
    page.check("#matrix-mixed")
    page.wait_for_function("() => document.querySelectorAll('.matrix tbody tr').length < 12")
    page.locator(".matrix a.score").first.click()
    page.wait_for_selector(".workspace .answer")


def test_curves_are_smoothed(page):
    open_run(page, "deep/tiny")
    lines = "() => [...document.querySelectorAll('.chart .line')].map((line) => line.getAttribute('d')).join()"
    rough = page.evaluate(lines)
    page.locator("#smoothing").fill("0.9")
    page.wait_for_function(f"rough => ({lines})() !== rough", arg=rough)


def test_several_training_runs_are_drawn_into_the_same_plots(page, expect):
    open_run(page, "deep/tiny")
    lines = page.locator(".chart").first.locator(".line")
    names = page.locator(".series-names button")
    alone = names.count()
    page.locator(".beside summary").click()
    page.get_by_label("deep/second").check()
    expect(names).to_have_count(2 * alone)
    page.get_by_label("deep/third").check()
    expect(names).to_have_count(3 * alone)
    expect(lines).to_have_count(3 * alone)
    expect(names.last).to_contain_text("deep/third")
    page.wait_for_function("() => location.hash.split('beside=')[1]?.split(',').length === 2")
    page.reload()
    expect(names).to_have_count(3 * alone)
    page.locator(".beside summary").click()
    page.get_by_label("deep/second").uncheck()
    expect(names).to_have_count(2 * alone)
