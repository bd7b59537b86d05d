"""Programs are cut at their definitions, whatever the language."""

import pytest

from bookwheel.text.code import find_name, has_only_imports, is_program
from bookwheel.text.structure import Shape, split_parts

GO = """package books

import (
	"context"
	"time"
)

// LIMIT is how often a payment is tried.
const LIMIT = 3

// Close writes what is left.
func (l *Ledger) Close(ctx context.Context) error {
	return l.flush(ctx)
}
"""
PYTHON = '''"""Keep the books."""

RETRIES = 3


class Ledger:
    """A ledger."""

    def __init__(self, path: str) -> None:
        self.path = path

    @cached
    def settle(
        self,
        day: date,
    ) -> None:
        """Settle a day."""
        one = 1
        two = 2
        three = 3

        if one:
            self.close_ledger(day)

        four = 4
        five = 5
        six = 6
        seven = 7
'''
SQL = """-- what was paid
CREATE TABLE payment (
  id INTEGER PRIMARY KEY,
  paid_ts BIGINT NOT NULL
);

CREATE FUNCTION due() RETURNS int AS $$
BEGIN
  RETURN 1;
END;
$$ LANGUAGE plpgsql;
"""
TYPESCRIPT = """import { a } from "./a";

export const MAX_DELAY = 30_000;

export class Client {
  private async send(path: string): Promise<Response> {
    return fetch(path);
  }
}

describe("Client", () => {
  it("sends", () => {
    expect(1).toBe(1);
  });
});
"""


def cut(name, text):
    document = f"===== {name} =====\n{text}"
    parts = split_parts(document)
    assert all(part.shape is Shape.CODE for part in parts)
    assert all(document[slice(*part.heading)] == f"===== {name} =====" for part in parts)
    return [(document[part.start : part.end], document[slice(*part.lead)] if part.lead else "") for part in parts]


def test_a_definition_is_one_part_with_its_comment():
    texts = [text for text, _ in cut("books.go", GO)]
    assert texts[-1] == GO[GO.index("// Close") :].rstrip()
    assert "// LIMIT is how often a payment is tried.\nconst LIMIT = 3" in texts


def test_a_long_definition_is_cut_and_its_parts_are_led_in_by_it():
    parts = cut("books.py", PYTHON)
    assert parts[1] == ("RETRIES = 3", "")
    leads = {text.strip().splitlines()[0]: lead.strip() for text, lead in parts}
    assert leads["class Ledger:"] == ""
    assert leads["def __init__(self, path: str) -> None:"] == "class Ledger:"
    assert leads["@cached"] == "class Ledger:"
    assert leads["four = 4"] == "def settle("
    # The head of a long definition has its signature, its decorator and its first lines.
    head = next(text for text, _ in parts if text.startswith("    @cached"))
    assert "-> None:" in head
    assert "Settle a day." in head


def test_statements_of_sql_are_parts_whatever_stands_in_them():
    assert [text for text, _ in cut("latest.sql", SQL)] == SQL.strip().split("\n\n")


def test_blocks_of_calls_are_parts_as_definitions_are():
    texts = [text.splitlines()[0] for text, _ in cut("client.test.ts", TYPESCRIPT)]
    assert texts == [
        'import { a } from "./a";',
        "export const MAX_DELAY = 30_000;",
        "export class Client {",
        'describe("Client", () => {',
    ]


def test_the_files_of_a_folder_are_told_apart():
    text = f"===== README.md =====\n# Books\n\nAll is kept.\n\n===== books.go =====\n{GO}"
    assert {part.shape for part in split_parts(text)} == {Shape.PROSE, Shape.CODE}
    prose = split_parts(text)[0]
    assert text[slice(*prose.heading)] == "===== README.md =====\n# Books"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("func (c *Cache) cleanup() {", "cleanup"),
        ("    public static void main(String[] args) {", "main"),
        ("export default async function load<T>(x: T) {", "load"),
        ("pub(crate) fn open(path: &Path) -> Result<()> {", "open"),
        ("CREATE TABLE IF NOT EXISTS `memo` (", "memo"),
        ("DEFAULT_LIMITS: Final = Limits()", "DEFAULT_LIMITS"),
        ("  if (ready) {", None),
        ("  return load(x)", None),
        ('it("loads", () => {', None),
        ("total == 3", None),
    ],
)
def test_a_line_that_defines_something_has_its_name(line, name):
    assert find_name(line) == name


def test_files_are_told_by_their_names():
    assert [is_program(name) for name in ("a/b.tsx", "notes.md", "Makefile", "data.json")] == [True, False, None, None]


def test_imports_alone_do_nothing():
    assert has_only_imports('import { a } from "./a"; import b from "b";')
    assert not has_only_imports("import os def run(): return os.name")
