"""Plots: axes with numbers, marks at their height, the same bytes for the same results."""

import re
from xml.etree import ElementTree as ET

import pytest
from evaluations import evidence_grid, record, results

from bookwheel.lab.evaluation.plots import _log_limits, choose_log_ticks, draw_plots, mix_color
from bookwheel.lab.evaluation.report import build_report


@pytest.mark.slow
def test_plots_are_the_same_for_the_same_results_and_bear_any_script():
    chinese = results(*(record(task="大海捞针", model="模型", length=n) for n in (100, 1000)))
    assert draw_plots(build_report(chinese)) == draw_plots(build_report(chinese))
    assert "模型" not in next(iter(draw_plots(build_report(chinese)).values()))
    two = results(record(model="模型"), record(model="另一个", length=9))
    assert "模型" in next(iter(draw_plots(build_report(two)).values()))


@pytest.mark.parametrize(
    "records",
    [
        [record(length=333, seconds=0.0)],
        pytest.param([record(model=f"m{k}", length=333 + k, seconds=1 / 3) for k in range(3)], marks=pytest.mark.slow),
        pytest.param([record(way=way, length=1000) for way in ("sequential", "whole")], marks=pytest.mark.slow),
    ],
    ids=["one", "one for each model", "two equal ones"],
)
def test_one_length_is_drawn_on_an_axis_with_a_width(records):
    drawn = draw_plots(build_report(results(*records)))
    assert len(drawn) == 3


def test_results_without_a_record_have_no_plots():
    assert draw_plots(build_report(results())) == {}


@pytest.mark.parametrize(
    "values",
    [[300], [300, 300], [1000 / 3, 333.33333333333337], [1e-9, 1e-9], [1, 10**7]],
)
def test_a_log_axis_is_wider_than_its_values(values):
    low, high = _log_limits(values)
    assert low <= min(values) / 1.2
    assert high >= max(values) * 1.2


def test_every_axis_has_numbers():
    for caption, svg in draw_plots(build_report(evidence_grid())).items():
        root = ET.fromstring(svg)
        texts = [one for one in root.iter() if one.tag.endswith("text")]
        numbers = [one for one in texts if re.fullmatch(r"[\d,.]+", one.text)]
        assert {one.get("text-anchor") for one in numbers} >= {"middle", "end"}, caption
        assert len([one for one in numbers if one.get("text-anchor") == "end"]) >= 3, caption


def test_marks_stand_at_the_height_of_their_numbers():
    levels = {100: 0.0, 1000: 1.0}
    drawn = draw_plots(build_report(results(*(record(length=n, score=score) for n, score in levels.items()))))
    root = ET.fromstring(next(iter(drawn.values())))
    ticks = {one.text: float(one.get("y")) - 4 for one in root.iter() if one.get("text-anchor") == "end"}
    marks = [float(one.get("cy")) for one in root.iter() if one.tag.endswith("circle")]
    assert marks[:2] == pytest.approx([ticks["0"], ticks["100"]], abs=0.11)


def test_the_color_of_a_score_goes_from_red_over_yellow_to_green():
    assert [mix_color(share) for share in (0, 0.5, 1)] == ["#b34800", "#f7f7f7", "#005ab5"]


@pytest.mark.parametrize(("low", "high"), [(0.2, 0.9), (300, 420), (1, 1e7), (999, 1001), (0.0011, 0.0012)])
def test_every_log_axis_has_numbers(low, high):
    ticks = choose_log_ticks(low, high)
    assert len(ticks) >= 3
    assert ticks == sorted(set(ticks))
    assert all(low <= tick <= high for tick in ticks)


def test_scores_by_depth_are_drawn_as_shapes_with_their_numbers():
    drawn = {caption: svg for caption, svg in draw_plots(build_report(evidence_grid())).items() if "depth" in caption}
    (svg,) = drawn.values()
    assert "<image" not in svg  # the page's policy blocks images
    assert "depth, per cent" in svg
