"""`bookwheel graph SOURCE...`: the facts of documents as a graph, in files that other programs open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bookwheel.cli.ask import find_reading_name
from bookwheel.cli.collect import read_table
from bookwheel.cli.last import find_reading_id
from bookwheel.cli.options import OutPath, OutputOptions, ReadingOptions, define_options
from bookwheel.cli.output import find_exit_code, print_json, print_line, print_note

if TYPE_CHECKING:
    from bookwheel.graph.facts import FactGraph
    from bookwheel.tables.table import Table

_MOST_SHOWN: Final = 30
_INCOMPLETE: Final = 5


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
    _show(found, facts, [str(file) for file in files], options.output)
    return find_exit_code(reading) or (_INCOMPLETE if facts.unproven else 0)


def _show(found: FactGraph, table: Table, files: list[str], output: OutputOptions) -> None:
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
        for note in table.list_notes():
            print_note(f"note: {note}")
