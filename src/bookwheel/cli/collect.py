"""`bookwheel collect` and `bookwheel graph`: every row of a kind, or what documents say of whom, in a table."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bookwheel.cli.ask import begin_readings, find_reading_name, open_sources, split_words
from bookwheel.cli.last import find_reading_id
from bookwheel.cli.options import OutPath, OutputOptions, ReadingOptions, Text, Texts, define_options
from bookwheel.cli.output import (
    EXIT_CODES,
    INCOMPLETE,
    count,
    find_exit_code,
    print_json,
    print_line,
    print_note,
    print_notes,
)
from bookwheel.errors import InputError

if TYPE_CHECKING:
    from bookwheel.graph.facts import FactGraph
    from bookwheel.journal import Journal
    from bookwheel.plan import Plan
    from bookwheel.session import Session
    from bookwheel.tables.build import ShownTable
    from bookwheel.tables.columns import TableRequest
    from bookwheel.tables.proposal import CompleteRequest
    from bookwheel.tables.table import Table


_MOST_SHOWN: Final = 30
_MOST_IDS: Final = 8
_FACTS_SHOWN: Final = ("quote", "proven", "contradicts", "later", "by hand", "row")


@define_options("Table")
class TableOptions:
    """The table's columns, and what becomes of it."""

    schema: Path | None = None
    "A file with the JSON Schema of one row, instead of columns in the sentence."
    key: Texts = ()
    "A column that tells rows apart; can be repeated. Rows that agree there and differ elsewhere are marked."
    out: OutPath | None = None
    "The table to write: .csv, .jsonl, .parquet, .xlsx or .md."
    sql: Text | None = None
    """Ask the table with SQL, such as "select who, count(*) from rows group by who"; SQLite counts, not the model."""
    ask: Text | None = None
    """Ask the table in words, such as "how many per month?": a model writes SQL, which is shown; SQLite counts."""
    parallel: bool = False
    "Read segments side by side: for rows that stand by themselves. A word's meaning is known only within its segment."
    remove: Texts = ()
    "Of a table that was collected before: the id of a row to remove by hand; can be repeated."
    set: Texts = ()
    "Of a table that was collected before: ROW:COLUMN=VALUE changes a value by hand; can be repeated."
    estimate: bool = False
    "Print how many calls and tokens the reading would take, and stop."

    def make_request(self, sentence: str) -> TableRequest | None:
        """Return what is to be collected, by the sentence and the schema; None where columns are to be proposed."""
        from bookwheel.reading.structured import load_answer_schema
        from bookwheel.tables.build import check_key
        from bookwheel.tables.columns import TableRequest, names_columns

        if self.schema is not None:
            request = TableRequest.from_schema(sentence, json.loads(load_answer_schema(self.schema)))
        elif names_columns(sentence):
            request = TableRequest.parse(sentence)
        else:
            return None
        check_key(request, self.key)
        return request

    def list_changes(self) -> Mapping[str, Mapping[str, str] | None]:
        """Return what is to become of rows, by their ids: values by columns, or None where one is removed."""
        changes: dict[str, dict[str, str]] = {}
        for word in self.set:
            row, colon, rest = word.partition(":")
            name, equals, value = rest.partition("=")
            if not (row and colon and name and equals):
                raise InputError(f"--set {word!r}: write it as ROW:COLUMN=VALUE, as in 3fa9c1:amount='5 crowns'")
            changes.setdefault(row, {})[name] = value
        return {**changes, **dict.fromkeys(self.remove)}


async def collect(*words: str, table: TableOptions = TableOptions(), options: ReadingOptions = ReadingOptions()) -> int:
    """Read documents from beginning to end and collect every row of a kind into a table.

    Rows leave the memory as they are found, so a table is as long as it must be. Each row has its quote and its place.
    Rows that the document's words do not bear out are kept, marked as unproven, and counted.

    Parameters
    ----------
    words
        What to read, then what to collect: "every obligation: who, what, until when, amount". Instead of both, "last"
        or a reading's id shows, writes or asks a table that was collected before.

    """
    from bookwheel.tables.build import edit_row, load_rows, load_shown
    from bookwheel.tables.table import check_target

    changes, name = table.list_changes(), find_reading_name(words)
    if changes and not name:
        raise InputError("--remove and --set change a table that is there: bookwheel collect last --remove ROW")
    if table.out:
        check_target(table.out)
    if not name:
        sources, sentence = split_words(words, 'bookwheel collect FILE "every …: name, date, amount"')
        wanted = table.make_request(sentence) or sentence
        name = await read_table(sources, wanted, options, parallel=table.parallel, estimate=table.estimate)
    if not name:
        return 0
    with options.output.require_journal(name) as journal:
        id_ = find_reading_id(journal, name)
        if changes:
            found = load_rows(journal, journal.reading(id_), table.key)
            for row, values in changes.items():
                edit_row(journal, found, row, values)
        shown = load_shown(journal, id_, table.key)
        if table.out:
            (shown.table or load_rows(journal, journal.reading(id_), table.key)).write(table.out)
        if table.ask:
            await _ask(shown, table.ask, journal, options)
        else:
            _show(shown, table, options.output)
    code = EXIT_CODES.get(shown.facts["status"], INCOMPLETE)
    return code or (0 if shown.is_whole else INCOMPLETE)


async def read_table(
    sources: Sequence[str], wanted: TableRequest | str, options: ReadingOptions, *, parallel: bool, estimate: bool
) -> str:
    """Read the sources and return the reading's id; empty where only the cost was asked for."""
    from bookwheel.cli.output import format_usage, print_end
    from bookwheel.cli.runner import read_shown
    from bookwheel.session import WayRequest
    from bookwheel.tables.way import join_parts
    from bookwheel.text.lexicon import BEGINNING, language_of

    output, way = options.output, WayRequest(way=join_parts(options.way or "", is_parallel=parallel))
    document = await open_sources(sources, output)
    with output.open_journal() as journal:
        async with options.models.open_session(journal) as session:
            stored, plan = await session.keep(document), session.build_plan(options.given)
            if not isinstance(wanted, str):
                wanted = wanted.of_language(plan.language or language_of(document.slice(0, BEGINNING)))
            complete = await _complete(session, wanted, plan, output)
            question = complete.request.to_question()
            prepared = await session.prepare(stored, [question], plan, way, spent=complete.usage)
            await begin_readings(session, prepared, output, only_estimate=estimate)
            if estimate:
                return ""
            (reading,) = await read_shown(session, prepared, output)
            if reading.status != "answered":
                print_end(reading, output)
            if not output.quiet:
                print_note(f"{format_usage(reading)} · bookwheel show {reading.id[:8]}", style="dim")
            return reading.id


async def _complete(session: Session, wanted: TableRequest | str, plan: Plan, output: OutputOptions) -> CompleteRequest:
    """Return the request with its columns; those that a sentence leaves out are proposed by the model, and shown."""
    from bookwheel.tables.proposal import CompleteRequest, complete_request

    if not isinstance(wanted, str):
        return CompleteRequest(request=wanted)
    complete = await complete_request(wanted, session.model, plan)
    if complete.is_proposed:
        print_notes([complete.describe()], output)
    return complete


async def _ask(shown: ShownTable, question: str, journal: Journal, options: ReadingOptions) -> None:
    """Print what SQLite says to a question in words, the query, and the rows behind each figure."""
    from bookwheel.schema import to_plain
    from bookwheel.tables.questions import ask_table

    # As a question that goes on, it is asked of the model that read.
    kept = journal.address_of(shown.facts["reading"])
    async with options.models.open_session(journal, kept=kept) as session:
        plan = session.build_plan(options.given)
        answer = await ask_table(shown, shown.facts["count"], question, session.model, plan)
    if options.output.as_json:
        print_json({**to_plain(answer), "notes": shown.facts["notes"]})
        return
    if not answer.sql:
        raise InputError(f"{session.model.name} finds that the table cannot answer this; ask the document instead")
    print_note(f"sql: {answer.sql}")
    ids = answer.behind or [()] * len(answer.rows)
    cells = [["" if one is None else str(one) for one in row] for row in answer.rows]
    names = [*answer.columns, *(["rows behind"] if answer.behind else [])]
    left = [len(some) - _MOST_IDS for some in ids]
    named = [
        " ".join([*some[:_MOST_IDS], *([f"and {n} more"] if n > 0 else [])]) for some, n in zip(ids, left, strict=True)
    ]
    print_grid(names, [[*row, *([some] if answer.behind else [])] for row, some in zip(cells, named, strict=True)])
    print_notes(shown.facts["notes"], options.output)


def _show(table: ShownTable, wanted: TableOptions, output: OutputOptions) -> None:
    if wanted.sql:
        names, rows = table.query(wanted.sql)
        if output.as_json:
            print_json({"columns": names, "rows": rows})
        else:
            print_grid(names, [["" if cell is None else str(cell) for cell in row] for row in rows])
    elif output.as_json:
        out = {"out": str(wanted.out)} if wanted.out else {}
        print_json({**table.to_json(), **out})
    elif wanted.out:
        print_line(str(wanted.out))
    else:
        _print_rows(table)
    if not output.as_json:
        if wanted.out and not output.quiet:
            print_note(count(table.facts["count"], "row"))
        print_notes(table.facts["notes"], output)


def _print_rows(table: ShownTable) -> None:
    from bookwheel.tables.table import describe_marks

    columns = [column["name"] for column in table.facts["columns"]]
    names = [*columns, "quote", "row"]
    shown = list(table.list_records(0, _MOST_SHOWN))
    quote, proven, contradicts, later, by_hand, row = (table.name_fact(name) for name in _FACTS_SHOWN)
    cells = [
        [
            *(one[name] or "" for name in columns),
            one[quote]
            + describe_marks(
                is_proven=one[proven],
                contradicts=one[contradicts],
                later=one[later],
                is_by_hand=one[by_hand],
                is_seen=bool(one.get("seen")),
            ),
            one[row],
        ]
        for one in shown
    ]
    print_grid(names, cells)
    if table.facts["count"] > len(shown):
        print_line(f"{len(shown)} of {table.facts['count']} rows are shown; --out FILE writes all")


def print_grid(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table as wide as the terminal; lines of tabs where a program reads it."""
    from rich.table import Table as Grid
    from rich.text import Text as Cell

    from bookwheel.cli.output import stdout
    from bookwheel.text.sanitize import sanitize

    if not sys.stdout.isatty():
        for row in (names, *rows):
            print_line("\t".join(" ".join(sanitize(cell).split()) for cell in row))
        return
    grid = Grid()
    for name in names:
        # A long Chinese cell has no blanks to be wrapped at.
        grid.add_column(Cell(sanitize(name)), overflow="fold")
    for row in rows:
        grid.add_row(*(Cell(sanitize(cell)) for cell in row))
    stdout().open_rich().print(grid)


@define_options("Graph")
class GraphOptions:
    """What becomes of the graph."""

    out: OutPath | None = None
    "The graph to write: .graphml, .jsonld, .nq, or .csv for Neo4j (two files: nodes and edges)."
    parallel: bool = False
    "Read segments side by side: a name's other names are then known only within its segment."
    estimate: bool = False
    "Print how many calls and tokens the reading would take, and stop."


async def graph(*words: str, wanted: GraphOptions = GraphOptions(), options: ReadingOptions = ReadingOptions()) -> int:
    """Read documents from beginning to end and make a graph of what they say: who or what is related to whom or what.

    Each fact has its quote and its place. Other names of one thing are one node; a fact that a later one takes the
    place of is kept, with its end. `bookwheel ask --way graph` answers a question by it.

    Parameters
    ----------
    words
        What to read: files, folders, URLs. Instead, "last" or a reading's id shows or writes a graph that was made
        before.

    """
    from bookwheel.graph.api import load_facts
    from bookwheel.graph.export import check_target, write_graph
    from bookwheel.graph.facts import REQUEST, build_graph

    if wanted.out:
        check_target(wanted.out)
    name = find_reading_name(words)
    if not name:
        sources = [*words] or ["-"]
        name = await read_table(sources, REQUEST, options, parallel=wanted.parallel, estimate=wanted.estimate)
    if not name:
        return 0
    with options.output.require_journal(name) as journal:
        reading = journal.reading(find_reading_id(journal, name))
        facts = load_facts(journal, reading)
    found = build_graph(facts)
    files = write_graph(found, wanted.out) if wanted.out else []
    _show_graph(found, facts, [str(file) for file in files], options.output)
    return find_exit_code(reading) or (INCOMPLETE if facts.unproven else 0)


def _show_graph(found: FactGraph, table: Table, files: list[str], output: OutputOptions) -> None:
    from bookwheel.graph.around import format_fact
    from bookwheel.graph.export import graph_to_json
    from bookwheel.graph.facts import count_facts
    from bookwheel.tables.table import describe_marks

    if output.as_json:
        print_json({**graph_to_json(found, table), "out": files})
        return
    counts = {"nodes": len(found.nodes), **count_facts(found.facts)}
    if files:
        for file in files:
            print_line(file)
    else:
        for fact in found.facts[:_MOST_SHOWN]:
            mark = describe_marks(is_proven=fact.is_proven, contradicts=False, is_by_hand=False)
            print_line(f"{format_fact(fact)}{mark}")
        if len(found.facts) > _MOST_SHOWN:
            print_line(f"{_MOST_SHOWN} of {len(found.facts)} facts are shown; --out FILE writes all")
    if not output.quiet:
        print_note(", ".join(f"{number} {name}" for name, number in counts.items()))
    print_notes(table.list_notes(), output)
