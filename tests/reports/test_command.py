"""`bookwheel report`: the outline is shown, the report is written, an update reads what is new."""

from __future__ import annotations

from pathlib import Path

import pytest
from report_model import make_report_model
from table_model import write_document


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command):
    async def open_model(*_words: object, **_settings: object):
        return make_report_model(invents=3)

    monkeypatch.setattr("bookwheel.models.registry.open_model", open_model)
    monkeypatch.setenv("BOOKWHEEL_JOURNAL", str(tmp_path / "journal.sqlite"))
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)

    return command


def test_a_report_is_proposed_written_and_updated(run, tmp_path: Path) -> None:
    for name, count in (("a.txt", 6), ("b.txt", 3)):
        (tmp_path / name).write_text(write_document(count))
    code, _, shown = run("report", "a.txt", "what is paid", "--outline-only")
    assert (code, "## Payments" in shown) == (0, True)
    code, printed, notes = run("report", "a.txt", "what is paid", "--outline", "report.outline.md")
    assert (code, printed.strip()) == (5, "report.md")  # two sentences were inventions
    assert "2 sentences were left out" in notes
    text = (tmp_path / "report.md").read_text()
    assert "Tenant 0 pays 100 crowns" in text
    assert "## Left out" in text
    code, printed, _ = run("report", "b.txt", "what is paid", "--update", "--quiet")
    assert (code, printed.strip()) == (5, "report.md")
    text = (tmp_path / "report.md").read_text()
    assert "a.txt" in text
    assert "b.txt" in text


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["report", "a.txt", "x", "--out", "r.pdf"], ".docx"),
        (["report", "a.txt", "x", "--way", "edits"], "leave out --way"),
        (["report", "a.txt", "x", "--outline", "missing.md"], "cannot be read"),
    ],
)
def test_bad_input_is_refused_before_anything_is_read(words: list[str], advice: str, run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(write_document(2))
    code, _, error = run(*words)
    assert (code, advice in error) == (2, True)
    assert run("list", "--json")[1].strip() == "[]"
