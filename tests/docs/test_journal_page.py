"""docs/journal.md tells of the journal as it is."""

import re
import sqlite3
from pathlib import Path

import pytest

from bookwheel.journal import Journal, files
from bookwheel.plan import Plan
from bookwheel.types import Part, Reading

PAGE = (Path(__file__).parents[2] / "docs" / "journal.md").read_text(encoding="utf-8")


class Sheet:
    name = "sheet"
    length = 5

    def parts(self, start=0):
        yield Part(text="words"[start:], source="sheet")


@pytest.fixture
def path(tmp_path):
    with Journal(tmp_path / "journal.sqlite") as journal:
        kept = journal.keep(Sheet())
        journal.begin(Reading(id="ab12", document=kept.info, question="What?", plan=Plan(), model="scripted"))
    return tmp_path / "journal.sqlite"


def test_every_table_and_column_is_documented_and_no_other(path):
    connection = sqlite3.connect(path)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    real = {table: [row[1] for row in connection.execute(f"PRAGMA table_info({table})")] for table in tables}
    connection.close()
    sections = re.split(r"^### ", PAGE.partition("## Tables")[2].partition("## Queries")[0], flags=re.MULTILINE)[1:]
    told = {section.split()[0]: re.findall(r"^\| (\w+) \|", section, flags=re.MULTILINE) for section in sections}
    assert {table: columns[1:] for table, columns in told.items()} == real


def test_the_version_is_the_one_that_is_documented():
    assert f"version of this schema, {files.newest_version()}." in PAGE


@pytest.mark.parametrize("query", re.findall(r"```sql\n(.*?)```", PAGE, flags=re.DOTALL))
def test_the_queries_run(path, query):
    connection = sqlite3.connect(path)
    connection.execute(query).fetchall()
    connection.close()


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL))
def test_the_python_runs(path, code, monkeypatch, capsys):
    monkeypatch.chdir(path.parent)
    exec(compile(code, "docs/journal.md", "exec"), {})  # the page's own code
    assert "ab12 reading What?" in capsys.readouterr().out
