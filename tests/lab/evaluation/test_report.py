"""Reports: every number with its name, and nothing in them that a document or an error could obey."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from evaluations import RUN, evidence_grid, grid, record, results, texts

from bookwheel.lab.evaluation.layout import build_comparison, build_sections
from bookwheel.lab.evaluation.plots import draw_plots
from bookwheel.lab.evaluation.records import ResultsError, SampleOutcome
from bookwheel.lab.evaluation.report import ALL, build_report, compare_results, report_to_json
from bookwheel.lab.evaluation.results import Results
from bookwheel.lab.evaluation.sections import Section, to_html, to_markdown


def test_whatever_has_no_answer_counts_as_wrong_and_is_counted_apart():
    outcomes = (SampleOutcome.FAILED, SampleOutcome.STOPPED, SampleOutcome.REFUSED)
    bad = [record(sample=str(outcome), outcome=outcome, score=0.0, official=None, error="no") for outcome in outcomes]
    cell = build_report(results(record(), *bad)).cells[0]
    assert (cell.score.mean, cell.score.n) == (0.25, 4)
    assert (cell.failed, cell.stopped, cell.refused) == (1, 1, 1)
    assert (cell.official.mean, cell.official.n) == (1.0, 1)


def test_a_cell_of_refusals_alone_has_no_score_and_no_part_in_differences():
    refused = [
        record(way="whole", sample=f"s-{n}", outcome=SampleOutcome.REFUSED, score=0.0, error="too long")
        for n in range(3)
    ]
    read = [record(sample=f"s-{n}") for n in range(3)]
    found = build_report(results(*read, *refused))
    assert [cell.is_measured for cell in found.cells] == [True, False]
    assert not found.contrasts
    markdown, _ = texts(found)
    assert "does not fit" in markdown
    assert "too long" in markdown


def test_a_cell_that_a_budget_stopped_has_no_score_and_one_that_it_stopped_in_part_says_so():
    stopped = [record(sample=f"s-{n}", outcome=SampleOutcome.STOPPED, score=0.0, official=None) for n in range(2)]
    found = build_report(results(*stopped))
    assert not found.cells[0].is_measured
    assert build_sections(found)[0].tables[0].rows[0][2] == "stopped"
    rows = build_sections(build_report(results(record(), *stopped)))[0].tables[0].rows
    assert rows[0][2].startswith("33.3")
    assert rows[0][2].endswith("(2 without an answer)")


def test_what_is_known_of_a_few_answers_or_of_none_is_said_so():
    parts = record(sample="s-2", set_f1=0.5, metric="all_of", task="own", seed=7)
    found = build_report(results(record(task="own", seed=7), parts, record(task="other", seed=1)))
    table = build_sections(found)[2].tables[0]
    cells = dict(zip(table.header, table.rows[0], strict=True))
    assert (cells["set F1"], cells["cost"]) == ("50.0 (n 1)", "–")
    assert report_to_json(found)["used"]["local"]["cost"] is None
    own, other = (table.caption for table in build_sections(found)[0].tables[1:])
    assert own.count("Sample seed 7.") == other.count("Sample seed 1.") == 1


def test_a_line_that_is_no_sample_is_not_one_that_was_too_short():
    odd = record(sample="odd", outcome=SampleOutcome.INFEASIBLE, score=0.0, file="mine.jsonl", error="no gold")
    short = record(sample="short", outcome=SampleOutcome.INFEASIBLE, score=0.0, error="too short")
    markdown, _ = texts(build_report(results(record(), odd, replace(odd, sample="odd-2"), short)))
    assert "1 samples could not be made at their length" in markdown
    assert "2 lines of files hold no sample that can be used" in markdown


def test_a_report_says_near_its_tables_whose_tokens_are_estimated():
    run = replace(RUN, manifest={"models": {"local": {"tokenizer": "estimate, counts 12"}}})
    assert (
        "Tokens of local are estimated"
        in build_sections(build_report(Results(runs=(run,), records=(record(),))))[0].words[-1]
    )
    assert "estimated" not in texts(build_report(results(record())))[0]


def test_truncations_cuts_and_means_are_per_sample():
    flagged = record(sample="s-2", flags={"truncated": 3, "cut": 1}, prompt_tokens=100, seconds=0.5, cost=0.2)
    cell = build_report(results(record(), flagged)).cells[0]
    assert (cell.truncated, cell.cut) == (1, 1)
    assert (cell.prompt_tokens, cell.seconds, cell.cost) == (500, 1.5, 0.1)


def test_a_cell_counts_each_outcome_and_each_flagged_sample_by_itself():
    outcomes = [SampleOutcome.FAILED] * 1 + [SampleOutcome.STOPPED] * 2 + [SampleOutcome.REFUSED] * 3
    bad = [
        record(sample=f"b-{n}", outcome=outcome, score=0.0, official=None, prompt_tokens=0, completion_tokens=0)
        for n, outcome in enumerate(outcomes)
    ]
    flagged = [record(sample=f"c-{n}", flags={"cut": 2}, metric="exact", official=0.0) for n in range(4)]
    truncated = [record(sample=f"t-{n}", flags={"truncated": 1}, completion_tokens=60) for n in range(5)]
    built = build_report(results(*bad, *flagged, *truncated))
    (cell,) = built.cells
    assert (cell.failed, cell.stopped, cell.refused, cell.cut, cell.truncated) == (1, 2, 3, 4, 5)
    assert (cell.score.n, cell.score.mean) == (15, pytest.approx(9 / 15))
    assert (cell.official.n, cell.official.mean) == (9, pytest.approx(5 / 9))
    assert (cell.prompt_tokens, cell.completion_tokens) == (pytest.approx(540), pytest.approx(28))
    assert (cell.metric, cell.seconds) == ("contains (73%), exact (27%)", 2.5)
    assert [failure.sample for failure in built.failures] == [f"b-{n}" for n in range(6)]


def test_cells_come_by_model_way_task_and_length():
    records = [
        record(model=model, way=way, task=task, length=length)
        for model in ("small", "big")
        for task in ("words", "needles")
        for length in (4000, 1000)
        for way in ("whole", "another", "sequential")
    ]
    cells = [(cell.model, cell.way, cell.task, cell.length) for cell in build_report(results(*records)).cells]
    assert cells == [
        (model, way, task, length)
        for model in ("small", "big")
        for way in ("sequential", "whole", "another")
        for task in ("words", "needles")
        for length in (1000, 4000)
    ]


def test_two_files_are_compared_with_the_sign_of_the_first():
    right = results(*(record(sample=f"s-{n}", score=1.0) for n in range(4)), record(sample="alone", score=0.0))
    wrong = results(*(record(sample=f"s-{n}", score=0.0) for n in range(4)))
    (contrast,) = compare_results(right, wrong, ("a", "b"))
    assert (contrast.first, contrast.second) == ("a: local · sequential", "b: local · sequential")
    assert (contrast.task, contrast.length) == ("needles", 1000)
    assert (contrast.difference.mean, contrast.difference.n) == (1.0, 4)
    other = results(*(record(sample=f"s-{n}", score=0.0, model="other", way="whole") for n in range(4)))
    (contrast,) = compare_results(other, right, ("a", "b"))
    assert (contrast.first, contrast.difference.mean) == ("a: other · whole", -1.0)


def test_tasks_are_pooled_by_length_with_every_sample_once():
    found = build_report(grid())
    pooled = {(cell.way, cell.length): cell.score for cell in found.pooled}
    assert {score.n for score in pooled.values()} == {40}
    of_one = [cell.score.mean for cell in found.cells if (cell.way, cell.length) == ("whole", 1000)]
    assert pooled["whole", 1000].mean == pytest.approx(sum(of_one) / 2)
    assert not build_report(grid(tasks=("needles",))).pooled


def test_ways_are_compared_with_the_reference_on_the_same_samples():
    found = build_report(grid())
    assert len(found.contrasts) == 4 + 1
    assert {contrast.second for contrast in found.contrasts} == {"local · sequential"}
    overall = found.contrasts[-1]
    assert (overall.task, overall.length, overall.difference.n) == (ALL, None, 80)
    assert {contrast.second for contrast in build_report(grid(), reference="whole").contrasts} == {"local · whole"}


def test_models_are_compared_with_the_first_that_reads_in_the_reference_way():
    both = results(
        *grid(ways=("sequential", "whole")).records,
        *(record(model="big", way="whole", task=r.task, length=r.length, sample=r.sample) for r in grid().records),
        *(record(model="small", task=r.task, length=r.length, sample=r.sample) for r in grid().records),
    )
    assert {(c.first, c.second) for c in build_report(both).contrasts} == {
        ("local · whole", "local · sequential"),
        ("big · whole", "local · sequential"),
        ("small · sequential", "local · sequential"),
    }


def test_samples_that_only_one_way_has_are_left_out_of_the_pairs():
    found = build_report(results(record(), record(sample="s-2"), record(way="whole", score=0.0)))
    assert found.contrasts[0].difference.n == 1


def test_two_files_are_compared_by_model_and_way_or_as_the_only_readers():
    one, other = grid(ways=("sequential",)), grid(ways=("sequential", "whole"))
    assert {c.first for c in compare_results(one, other, ("A", "B"))} == {"A: local · sequential"}
    alone = compare_results(grid(ways=("whole",)), grid(ways=("bm25",)), ("A", "B"))
    assert {(c.first, c.second) for c in alone} == {("A: local · whole", "B: local · bm25")}
    assert "A: local · whole" in to_markdown("t", [build_comparison(alone)])


@pytest.mark.parametrize("other", [grid(ways=("bm25", "whole")), results(record(sample="elsewhere"))])
def test_files_that_share_nothing_cannot_be_compared(other):
    with pytest.raises(ResultsError, match="no sample in common"):
        compare_results(grid(ways=("sequential",)), other, ("A", "B"))


def test_a_sample_is_compared_under_another_name_and_twice_where_it_is_asked_twice():
    old = results(*(record(task="old", sample=f"s{n}", content="abc", length=0, score=n) for n in (0, 1)))
    new = results(*(record(task="new", sample=f"t{n}", content="abc", length=0, score=1) for n in (0, 1)))
    (contrast,) = compare_results(new, old, ("new", "old"))
    assert (contrast.difference.n, contrast.difference.mean) == (2, 0.5)
    with pytest.raises(ResultsError, match="no sample in common"):
        compare_results(new, results(record(content="other", task="old")), ("new", "old"))


def test_lengths_that_nobody_knows_are_no_number():
    report = build_report(results(record(length=0, depth=0.5, memory="misused")))
    assert "| model | way | any |" in to_markdown("t", build_sections(report))
    assert all(">any<" in svg for svg in draw_plots(report).values())


def test_the_report_says_what_judging_choices_changes():
    asked = {"question": "Which is older, Riga or Turku?", "golds": ("Riga",), "metric": "choice"}
    report = build_report(
        results(
            record(sample="a", answer="Riga is older than Turku.", score=1.0, **asked),
            record(sample="b", answer="Turku is older than Riga.", score=0.0, **asked),
            record(sample="c", outcome=SampleOutcome.FAILED, answer="Riga", score=0.0, **asked),
            record(sample="d", outcome=SampleOutcome.INFEASIBLE, score=0.0, **asked),
            *(record(sample=f"e{n}") for n in range(3)),
        )
    )
    (effect,) = report.choices
    assert (effect.samples, effect.judged, effect.share) == (6, 3, 0.5)
    assert (effect.score, effect.exact) == (pytest.approx(1 / 3), 0)
    assert "| local | sequential | needles | 6 | 3 (50 %) | 33.3 |" in to_markdown("t", build_sections(report))
    assert report_to_json(report)["choices"][0]["judged"] == 3
    assert not build_report(results(record())).choices


def test_every_accuracy_table_names_metric_n_interval_and_seeds_and_the_report_its_command():
    markdown, page = texts(build_report(grid()))
    for text in (markdown, page):
        assert len(re.findall(r"Metric: contains\. n = [24]0 a cell\. 95 % intervals: Wilson\.", text)) == 3
        assert "Sample seed 4." in text
        assert "bookwheel eval settings.toml" in text


def test_the_settings_are_listed_one_a_row_without_those_that_were_not_given():
    plan = {"chunk_tokens": 400, "gate": {"scorer": "likelihood", "threshold": None}}
    run = replace(RUN, models={"local": {"window": None, "plan": plan}})
    markdown, _ = texts(build_report(Results(runs=(run,), records=(record(),))))
    assert "| local: plan.chunk_tokens | 400 |" in markdown
    assert "| local: plan.gate.scorer | likelihood |" in markdown
    assert "None" not in markdown


def test_the_official_figure_is_shown_when_asked_for_and_says_what_it_is():
    markdown, _ = texts(build_report(grid()))
    assert "official" not in markdown
    with_it, _ = texts(build_report(grid()), also_official=True)
    assert "official judge" in with_it
    assert "published for the task, where it compares strings, flaws included" in " ".join(with_it.split())


def test_equal_errors_are_listed_once_with_their_number():
    failures = [record(sample=f"s-{n}", outcome=SampleOutcome.FAILED, score=0.0, error="503") for n in range(7)]
    markdown, _ = texts(build_report(results(record(sample="fine"), *failures)))
    assert "| local | sequential | failed | 503 | 7 | s-0 |" in markdown
    assert "7 samples had no answer" in markdown


def test_refusals_that_differ_in_name_and_size_are_listed_once():
    refused = [
        record(
            sample=f"s-{n}", outcome=SampleOutcome.REFUSED, score=0.0, error=f"s-{n} has more than {1800 + n} tokens"
        )
        for n in range(7)
    ]
    codes = [record(sample=f"f-{n}", outcome=SampleOutcome.FAILED, score=0.0, error=f"50{n}") for n in range(2)]
    others = [
        record(
            sample=name,
            outcome=SampleOutcome.REFUSED,
            score=0.0,
            error=f"the prompt has {size}, the window has {window}",
        )
        for name, size, window in (("1", 1800, 2048), ("a", 1900, 2048), ("p", 1800, 512))
    ]
    markdown, _ = texts(build_report(results(record(sample="fine"), *refused, *codes, *others)))
    assert "| s-0 has more than 1800 tokens | 7 | s-0 |" in markdown
    assert "| the prompt has 1800, the window has 2048 | 2 | 1 |" in markdown
    assert "| the prompt has 1800, the window has 512 | 1 | p |" in markdown
    assert "| 500 | 1 | f-0 |" in markdown
    assert "| 501 | 1 | f-1 |" in markdown


NASTY = "<script>alert(1)</script> | </td>\n# x \x1b[31m `$a_b$` [l](http://e) <img src=x>"


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.mark.slow
def test_nothing_from_a_model_or_an_error_is_obeyed():
    found = build_report(
        results(
            record(model=NASTY, task=NASTY),
            record(model=NASTY, task=NASTY, sample="b", outcome=SampleOutcome.FAILED, error=NASTY, score=0.0),
        )
    )
    laid = build_sections(found, also_official=True)
    page = to_html(NASTY, laid, draw_plots(found))
    tags = Tags()
    tags.feed(page)
    assert not {"script", "img", "iframe", "link", "object"} & tags.seen
    assert not {name for name in tags.attributes if name.startswith("on") or name == "src"}
    assert "\x1b" not in page
    markdown = to_markdown(NASTY, laid)
    rows = [line for line in markdown.splitlines() if line.startswith("| local") or "alert" in line]
    assert all(line.startswith(("|", "# ", "Task: ")) for line in rows)
    assert "<script" not in re.sub(r"\\<", "", markdown)


@pytest.mark.slow
def test_the_page_needs_nothing_from_anywhere():
    found = build_report(grid())
    page = to_html("Evaluation", build_sections(found), draw_plots(found))
    assert page.count("<svg") == 3 + 2
    assert not re.findall(r'(?:href|src)\s*=\s*"(?!#)', page)
    assert not re.findall(r"url\((?!#)", page)
    assert "@import" not in page


def test_the_report_says_where_the_memory_failed_and_links_to_the_reading():
    found = build_report(evidence_grid())
    assert found.cells[0].memory == {"supported": 4, "overwritten": 1}
    assert found.cells[0].kept == pytest.approx(0.8)
    markdown, _ = texts(found)
    assert "| captured, overwritten | 3 | 0123456789abcdef | b |" in markdown
    page = to_html("t", build_sections(found, pages={"0123456789abcdef"}), {})
    assert '<a href="readings/0123456789abcdef.html">0123456789abcdef</a>' in page
    assert "<a " not in to_html("t", build_sections(found), {})


def test_a_way_without_a_memory_has_no_section_about_it():
    assert "Where the memory failed" not in texts(build_report(grid()))[0]


def test_questions_about_one_document_are_one_cluster_and_holms_p_stands_beside_the_raw_one():
    pairs = [
        record(way=way, sample=f"s-{n}", question=f"q{n}", content=f"c{n}", document=f"d{n % 3}", score=score)
        for n in range(12)
        for way, score in (("sequential", 0.0), ("whole", float(n % 4 > 0)))
    ]
    built = build_report(results(*pairs))
    assert {cell.score.clusters for cell in built.cells} == {3}
    (contrast,) = built.contrasts
    assert (contrast.difference.clusters, contrast.holm) == (3, contrast.difference.p)
    markdown, _ = texts(built)
    assert "Holm's p" in markdown


def test_means_are_compared_on_the_samples_that_all_have():
    every = [
        record(way=way, sample=f"s-{n}", question=f"q{n}", content=f"c{n}", score=float(n < 2))
        for n in range(4)
        for way in ("sequential", "whole")
        if way == "sequential" or n < 2
    ]
    built = build_report(results(*every))
    assert [(cell.way, cell.score.n, cell.score.mean) for cell in built.shared] == [
        ("sequential", 2, 1.0),
        ("whole", 2, 1.0),
    ]
    assert "On the same samples." in texts(built)[0]
    assert build_report(results(*(one for one in every if one.way == "sequential"))).shared == ()


def test_tasks_without_lengths_in_common_are_no_curve():
    apart = [record(task="needles", length=1500), record(task="own", length=800), record(task="own", length=1500)]
    found = build_report(results(*apart))
    assert [(cell.length, cell.score.n) for cell in found.pooled] == [(1500, 2)]
    assert not build_report(results(*apart[:2])).pooled


def test_what_a_budget_stopped_is_one_row_however_many_tokens_it_had_taken():
    error = "stopped at {} tokens: the next call could pass the limit of 2500 (--max-tokens-total)"
    stopped = [record(sample=f"s{n}", outcome=SampleOutcome.STOPPED, error=error.format(n)) for n in (1, 1639, 0)]
    written = to_markdown("t", build_sections(build_report(results(*stopped))))
    assert written.count("the next call could pass") == 1
    assert "(--max-tokens-total) | 3 |" in written


def test_code_in_the_words_of_a_report_is_code_and_all_else_is_no_markup():
    sections = [Section(title="t", words=("See `show ID_1 | x` and *this* `",))]
    assert "See `show ID_1 | x` and \\*this\\* \\`" in to_markdown("t", sections)
    assert "See <code>show ID_1 | x</code> and *this* `" in to_html("t", sections, {})
