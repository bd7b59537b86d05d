"""Facts become a graph: other names are one node, what was superseded keeps its end, every edge has its quote."""

from __future__ import annotations

import csv
import json
import re
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import networkx as nx
import pytest
from graph_model import FACTS, make_graph_model, write_facts

from bookwheel import TextDocument, aread, collect_graph, read
from bookwheel.errors import InputError, QuestionError
from bookwheel.graph import facts
from bookwheel.graph.around import find_lines, rank_facts
from bookwheel.graph.export import to_networkx, write_graph
from bookwheel.graph.facts import FactGraph, GraphFact, _end_superseded
from bookwheel.models.scripted import ScriptedModel
from bookwheel.tables.table import Place
from bookwheel.text.tokens import WordTokenizer


@pytest.fixture
def graph(tmp_path: Path) -> FactGraph:
    return collect_graph(TextDocument(write_facts()), model=make_graph_model(), journal=tmp_path / "j.sqlite")


def test_other_names_are_one_node_and_the_relation_between_them_no_edge(graph: FactGraph) -> None:
    assert graph.aliases["Ada Quill"] == ("the Heron",)
    assert [(fact.subject, fact.relation, fact.object) for fact in graph.facts if "brig" in fact.object] == [
        ("Ada Quill", "owns", "the brig Mercy")
    ]
    assert len(graph.facts) == len(FACTS) - 1
    assert all(fact.is_proven and fact.quote in write_facts() for fact in graph.facts)


def test_a_fact_that_a_later_one_takes_the_place_of_is_kept_with_its_end(graph: FactGraph) -> None:
    jobs = [fact for fact in graph.facts if fact.relation == "worked for"]
    assert [(fact.since, fact.until, fact.is_superseded) for fact in jobs] == [
        ("1911", "1920", True),
        ("1920", "", False),
    ]


def test_relations_that_hold_for_many_at_once_supersede_nothing(tmp_path: Path) -> None:
    rows = [
        {"subject": "Ada", "relation": "owns", "object": thing, "since": year, "quote": f"{year} Ada owns {thing}"}
        for thing, year in (("Mercy", "1911"), ("Swan", "1920"))
    ]
    text = ". ".join(row["quote"] for row in rows)
    model = make_graph_model(lambda _: json.dumps({"rows": rows}))
    graph = collect_graph(TextDocument(text), model=model, journal=tmp_path / "j")
    assert [fact.until for fact in graph.facts] == ["", ""]


@pytest.mark.parametrize(
    ("relation", "is_ended"),
    [
        ("chairs", True),
        ("owns", True),
        ("mayor of", True),
        ("managing director of", True),
        ("director of", False),
        ("built", False),
    ],
)
def test_a_thing_that_has_one_head_at_a_time_changes_hands(relation: str, *, is_ended: bool, tmp_path: Path) -> None:
    rows = [
        {"subject": who, "relation": relation, "object": thing, "since": year, "quote": f"{year} {who} {thing}"}
        for who, thing, year in (("Ada", "Este", "1911"), ("Odo", "Este", "1920"), ("Ada", "Lowmark", "1930"))
    ]
    text = ". ".join(row["quote"] for row in rows)
    model = make_graph_model(lambda _: json.dumps({"rows": rows}))
    graph = collect_graph(TextDocument(text), model=model, journal=tmp_path / "j")
    assert [fact.until for fact in graph.facts] == ["1920" if is_ended else "", "", ""]


def end(*facts: tuple[str, str, str, str]) -> list[str]:
    """Return until when each fact of subject, relation, object and year holds."""
    made = (GraphFact(subject=one, relation=said, object=other, since=since) for one, said, other, since in facts)
    return [fact.until for fact in _end_superseded([*made])]


@pytest.mark.parametrize(
    ("relation", "until", "source", "expected"),
    [
        ("mayor of", "", "a.txt", "1921"),
        ("mayor of", "1930", "a.txt", ""),  # a predecessor, who has left
        ("is the mayor of", "", "a.txt", ""),  # how the present came about
        ("现任市长", "", "a.txt", ""),
        ("is the mayor of", "", "b.txt", "1921"),  # of another time
        ("is the mayor of", "1930", "b.txt", ""),
    ],
)
def test_who_holds_an_office_now_is_not_ended_by_who_held_it(
    relation: str, until: str, source: str, expected: str
) -> None:
    then = "市长" if relation == "现任市长" else "was mayor of"
    thing = "霍姆市" if relation == "现任市长" else "Holm"
    places = [(Place(quote="", start=0, end=0, step=0, source=name),) for name in ("a.txt", source)]
    now = GraphFact(subject="Ada", relation=relation, object=thing, places=places[0])
    other = GraphFact(subject="Bo", relation=then, object=thing, since="1921", until=until, places=places[1])
    found = next(_end_superseded([now, other]))
    assert (found.until, found.is_superseded) == (expected, bool(expected))


def test_the_end_of_a_fact_is_looked_for_among_few(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(facts, "_may_follow", lambda *_: bool(asked.append(1)))
    monkeypatch.setattr(facts, "_MOST_NEXT", 5)
    end(
        *((f"Ada {at}", "chairs", "Board", "") for at in range(200)),
        *((f"Bo {at}", "chairs", "Board", "1920") for at in range(200)),
    )
    assert len(asked) == 200 * 5


def test_what_is_said_without_a_time_ends_where_the_text_names_the_next_with_one() -> None:
    fee = [("Club", "costs", "140", ""), ("Club", "costs", "150", "1 May 2026"), ("Club", "costs", "160", "")]
    assert end(*fee) == ["1 May 2026", "", ""]
    assert end(
        ("Bo", "chairs", "Board", "1911"), ("Ada", "chairs", "Board", ""), ("Odo", "chairs", "Board", "1920")
    ) == [
        "1920",
        "1920",
        "",
    ]
    assert end(("Joan", "Secretary of", "Club", ""), ("Ruth", "has been Secretary of", "Club", "1 April 2026")) == [
        "1 April 2026",
        "",
    ]


def test_a_month_is_a_time() -> None:
    times = ["end of March 2026", "2026年3月底", "Sept. 2026", "1 April 2026", "in 2026"]
    facts = [GraphFact(subject="a", relation="b", object="c", until=time) for time in times]
    assert [fact.ends for fact in facts] == ["2026-03", "2026-03", "2026-09", "2026-04-01", "2026"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("Ada", "chairs", "Board"), ("Board", "is chaired by", "Odo")),
        (("Ada", "chairwoman of", "Board"), ("Board", "chair", "Odo")),
        (("Ada", "mayor of", "Este"), ("Odo", "became mayor of", "Este")),
        (("Este", "mayor", "Ada"), ("Odo", "is the mayor of", "Este")),
        (("Inn", "owned by", "Ada"), ("Odo", "owns", "Inn")),
        (("永安公司", "总经理", "李明"), ("王芳", "总经理", "永安公司")),
        (("王芳", "担任市长", "临江"), ("李明", "是市长", "临江")),
        (("Firm", "has its head office in", "Este"), ("Firm", "has its head office in", "Lowmark")),
    ],
)
def test_an_office_changes_hands_however_it_is_worded(first: tuple[str, ...], second: tuple[str, ...]) -> None:
    assert end((*first, "1911"), (*second, "1920")) == ["1920", ""]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "relation",
    ["director of", "股东", "vice president of", "owns shares in", "co-owns", "leads to", "runs to", "head chef of"]
    + ["has its head office in", "mayor", "market leader in", "总经理"],
)
def test_what_many_are_at_once_or_says_no_holder_ends_nothing(relation: str) -> None:
    assert end(("Ada", relation, "Este", "1911"), ("Odo", relation, "Este", "1920")) == ["", ""]


def test_many_who_hold_one_thing_are_read_in_linear_time() -> None:
    facts = [(f"N{at % 2}", "mayor of", "Este", str(1000 + at % 900)) for at in range(20_000)]
    began = time.process_time()
    assert end(*facts)[0] == "1001"
    assert time.process_time() - began < 5


def test_graphml_opens_in_networkx_with_every_edge_and_its_quote(graph: FactGraph, tmp_path: Path) -> None:
    (file,) = write_graph(graph, tmp_path / "g.graphml")
    opened = nx.read_graphml(file)
    assert opened.number_of_edges() == len(graph.facts)
    quotes = {data["quote"] for *_, data in opened.edges(data=True)}
    assert quotes == {fact.quote for fact in graph.facts}
    assert ET.parse(file).getroot().tag.endswith("graphml")
    made = to_networkx(graph)
    assert made.number_of_nodes() == len(graph.nodes)
    assert nx.has_path(made, "Ada Quill", "Lowmark")


def test_json_ld_quads_and_csv_name_every_fact(graph: FactGraph, tmp_path: Path) -> None:
    (linked,) = write_graph(graph, tmp_path / "g.jsonld")
    statements = [one for one in json.loads(linked.read_text())["@graph"] if one.get("@type") == "rdf:Statement"]
    assert len(statements) == len(graph.facts)
    (quads,) = write_graph(graph, tmp_path / "g.nq")
    lines = quads.read_text().splitlines()
    assert all(line.startswith("<urn:bookwheel:") and line.endswith(" .") for line in lines)
    assert sum(line.count("<urn:bookwheel:fact/") == 1 and "relation/" in line for line in lines) == len(graph.facts)
    nodes, edges = write_graph(graph, tmp_path / "g.csv")
    with edges.open() as file:
        rows = list(csv.DictReader(file))
    with nodes.open() as file:
        ids = {row[":ID"] for row in csv.DictReader(file)}
    assert len(rows) == len(graph.facts)
    assert {row[":START_ID"] for row in rows} | {row[":END_ID"] for row in rows} == ids


@pytest.mark.parametrize("words", ['q"uo\\te\n\tx', "ctl\x00\x1b[2J\u202e", "<b>&amp;", "lone \ud800", "=1+1"])
def test_no_name_or_quote_breaks_a_format(words: str, tmp_path: Path) -> None:
    place = Place(quote=words, start=0, end=1, step=0)
    graph = FactGraph(facts=(GraphFact(subject=words, relation=words, object="x", places=(place,)),))
    nx.read_graphml(write_graph(graph, tmp_path / "g.graphml")[0])
    json.loads(write_graph(graph, tmp_path / "g.jsonld")[0].read_text())
    for line in write_graph(graph, tmp_path / "g.nq")[0].read_text().split("\n"):
        assert line == "" or line.endswith(" .")
    for ending in ("nq", "jsonld"):
        assert not re.search("[\x1b\u202e]", (tmp_path / f"g.{ending}").read_text())
    write_graph(graph, tmp_path / "g.csv")
    with pytest.raises(InputError, match="graphml"):
        write_graph(graph, tmp_path / "g.doc")


def test_the_facts_around_a_question_come_first_and_stay_within_the_budget(graph: FactGraph) -> None:
    question = "In which country does the employer of Ada Quill stand?"
    ranked = list(rank_facts(graph, question))
    assert ranked[0].subject == "Ada Quill"
    assert len(ranked) == len(graph.facts)
    tokenizer = WordTokenizer()
    for limit in (0, 20, 60, 500):
        lines = find_lines(graph, question, tokenizer, limit)
        assert sum(tokenizer.count(f"{line}\n") for line in lines) <= limit
    assert any("Lowmark" in line for line in find_lines(graph, question, tokenizer, 500))


def test_a_relation_that_has_a_name_in_it_leads_on_from_that_name() -> None:
    others = [(f"Tower {at}", f"home team {at} of", f"Club {at}") for at in range(300)]
    said = [("Ada Quill", "was born near", "Harbour Hall (Este)"), ("Sports", "home team of the Harbour Hall", "Nets")]
    facts = [GraphFact(subject=one, relation=how, object=other) for one, how, other in (*others, *said)]
    ranked = list(rank_facts(FactGraph(facts=tuple(facts)), "Which home team plays where Ada Quill was born?"))
    assert [fact.object for fact in ranked[:2]] == ["Harbour Hall (Este)", "Nets"]


def test_facts_are_ranked_in_linear_time() -> None:
    facts = [
        GraphFact(subject=f"Ada {at}", relation=f"{'said at the harbour ' * 5}{at} of", object=f"Ada {at + 1}")
        for at in range(20_000)
    ]
    began = time.process_time()
    assert len([*rank_facts(FactGraph(facts=tuple(facts)), "What did Ada 7 say?")]) == len(facts)
    assert time.process_time() - began < 15


def test_the_way_answers_from_facts_that_are_far_apart_and_resumes(tmp_path: Path) -> None:
    question, journal = "In which land does the Harbour Office stand?", tmp_path / "j.sqlite"
    model = make_graph_model()
    reading = read(TextDocument(write_facts()), question, way="graph", model=model, journal=journal)
    assert "Este | lies in | Lowmark" in reading.answer.text
    assert reading.memory.tokens <= reading.plan.memory_tokens
    assert reading.memory.tokens == WordTokenizer().count(reading.memory.text)
    assert reading.usage.calls == len(reading.steps)  # one a chunk, the joining none, the answer one
    half = read(TextDocument(write_facts()), question, way="graph", model=model, journal=journal, max_tokens_total=900)
    from bookwheel import resume

    assert half.status == "stopped"
    assert resume(half.id, model=model, journal=journal).answer.text == reading.answer.text


def test_a_model_that_only_quotes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="only quotes"):
        read(TextDocument("x"), "Who?", way="graph", model=make_graph_model(), prompts="small", journal=tmp_path / "j")
    with pytest.raises(InputError, match="only quotes"):
        collect_graph(TextDocument("x"), model=make_graph_model(), prompts="small", journal=tmp_path / "j")
    small = {"prompts": "small", "question_tokens": 20}
    with pytest.raises(InputError, match="only quotes"):  # Not that our own sentence is too long for its plan.
        collect_graph(TextDocument("x"), model=make_graph_model(), **small, journal=tmp_path / "j")


def test_no_limit_of_questions_refuses_words_that_nobody_asked(tmp_path: Path) -> None:
    given = {"model": make_graph_model(), "journal": tmp_path / "j", "question_tokens": 8}
    assert len(collect_graph(TextDocument(write_facts()), **given).facts) == len(FACTS) - 1
    with pytest.raises(QuestionError, match="the question has"):
        read(TextDocument(write_facts()), "who worked for whom and when " * 3, way="graph", **given)


def test_the_command_writes_a_graph_and_shows_it_again(tmp_path: Path, monkeypatch, command) -> None:
    async def open_model(*_words: object, **_settings: object) -> ScriptedModel:
        return make_graph_model()

    monkeypatch.setattr("bookwheel.models.registry.open_model", open_model)
    monkeypatch.setenv("BOOKWHEEL_JOURNAL", str(tmp_path / "journal.sqlite"))
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    book, out = tmp_path / "book.txt", tmp_path / "g.graphml"
    book.write_text(write_facts())

    assert command("graph", book, "--out", out, "--quiet")[:2] == (0, f"{out}\n")
    code, printed, _ = command("graph", "last", "--json")
    assert (code, json.loads(printed)["superseded"], json.loads(printed)["count"]) == (0, 1, len(FACTS) - 1)
    code, printed, _ = command("graph", "last")
    assert "Ada Quill | worked for | Lloyd Brothers (since 1920)" in printed


def test_chinese_documents_and_questions_are_asked_in_chinese(tmp_path: Path) -> None:
    asked: list[str] = []

    def write(messages) -> str:
        asked.extend(message.content for message in messages)
        return "不变" if "<memory>" in asked[-1] and "rows" not in asked[-1] else '{"rows": [], "memory": ""}'

    text = "方子安是武昌的革命党，冒用顾长青之名。顾守业带走了梅瓶。" * 5
    model = make_graph_model(write)
    graph = collect_graph(TextDocument(text), model=model, journal=tmp_path / "j.sqlite")
    assert graph.facts == ()
    read(TextDocument(text), "林婉清和林婉秋是什么关系？", way="graph", model=model, journal=tmp_path / "j.sqlite")
    assert asked
    assert not any("every fact" in one or "A long document" in one or "What is asked" in one for one in asked)
    assert any("最后要回答的问题: 林婉清" in one for one in asked)


def test_the_way_is_known_by_its_name() -> None:
    assert aread is not None
    from bookwheel.reading.ways.registry import list_ways, load_spec

    assert "graph" in list_ways()
    assert load_spec("graph").is_general
