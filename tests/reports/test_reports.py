"""Every sentence of a report has a source that bears it out, and what it rests on is counted."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import docx
import pytest
from report_model import INVENTIONS, make_report_model
from table_model import FILLER, extract, write_document

from bookwheel import TextDocument
from bookwheel.errors import InputError
from bookwheel.flags import Flag
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import VerdictMode
from bookwheel.reports.api import find_state, matrix, report
from bookwheel.reports.checking import SourceLine, check_sentences
from bookwheel.reports.matrix import match_readings
from bookwheel.reports.outline import parse_outline
from bookwheel.reports.output import format_html, format_markdown, list_blocks
from bookwheel.reports.report import ReportState, write_report
from bookwheel.session import Session
from bookwheel.tables.api import edit_table
from bookwheel.types import Chunk, Conversation, DocumentInfo, Memory, Plan, Reading, Reply, Status, Step

OUTLINE = "# Payments\n\n## Who pays\nevery payment: who, amount, due date\n"


def make_documents(*counts: int) -> list[TextDocument]:
    return [TextDocument(write_document(count) + FILLER * 40, f"lease-{n}.txt") for n, count in enumerate(counts)]


def test_every_sentence_names_rows_that_stand_in_the_documents(tmp_path: Path) -> None:
    documents = make_documents(6, 4)
    made = report(documents, "what is paid", outline=OUTLINE, model=make_report_model(), journal=tmp_path / "j.sqlite")
    (section,) = made.sections
    assert (len(section.sentences), section.left_out, section.rows) == (6, (), 10)  # four stand in both
    assert [one.number for one in made.sources] == list(range(1, 11))
    for one in made.sources:
        text = next(document.text for document in documents if document.name == one.source)
        assert text[one.start : one.end].rstrip(".") == one.quote.rstrip(".")
        line = text.count("\n", 0, one.start) + 1
        assert one.describe() == f"{one.source}:{line}"


def test_rows_are_numbered_in_each_section_and_those_that_no_sentence_names_are_listed(tmp_path: Path) -> None:
    shown: list[list[str]] = []

    def reply(messages: Conversation) -> str:
        if "section of a report. The brief" not in messages[0].content:
            return extract(messages)
        rows = dict(re.findall(r'^\[(\d+)\].*?: "(.*)"', messages[-1].content, re.MULTILINE))
        shown.append([*rows])
        return f"{rows['1']} [1]" if "1" in rows else ""

    model = ScriptedModel(reply, plan=make_report_model().plan, window=2400)
    outline = f"{OUTLINE}\n## Who pays again\nevery payment: who, amount, due date\n"
    made = report(make_documents(3), "what is paid", outline=outline, model=model, journal=tmp_path / "j.sqlite")
    assert shown == [["1", "2", "3"]] * 2
    assert [one.number for one in made.sources] == [1, 2]
    assert [(len(one.sentences), len(one.untold)) for one in made.sections] == [(1, 2)] * 2
    listed = format_markdown(list(list_blocks(made))).partition("In no sentence")[2]
    assert all(one.quote[:12] in listed for one in made.sections[0].untold)


def test_every_invention_is_left_out_and_listed(tmp_path: Path) -> None:
    model = make_report_model(invents=2)
    made = report(make_documents(40), "what is paid", outline=OUTLINE, model=model, journal=tmp_path / "j.sqlite")
    # One was written twice, and the rows of 16 that name one stand in their own words.
    assert (len(made.sections[0].sentences), made.left_out) == (36, 19)
    assert len({one.text for one in made.sections[0].left_out}) >= len(INVENTIONS)  # each kind was tried
    text = format_markdown(list(list_blocks(made)))
    assert "Left out" in text
    assert "sheer greed" in text.partition("Left out")[2]
    assert "sheer greed" not in text.partition("Left out")[0]


def test_a_report_in_chinese_has_headings_in_chinese(tmp_path: Path) -> None:
    outline = OUTLINE.replace("# Payments", "# 付款情况")
    made = report(make_documents(2), "付款情况", outline=outline, model=make_report_model(), journal=tmp_path / "j")
    text = format_markdown(list(list_blocks(made)))
    assert "## 来源" in text
    assert "## 依据范围" in text
    assert "Sources" not in text


def test_coverage_adds_up_and_names_what_was_not_read(tmp_path: Path) -> None:
    documents = make_documents(8)
    made = report(documents, "x", outline=OUTLINE, model=make_report_model(), journal=tmp_path / "j.sqlite")
    (one,) = made.coverage
    assert one.used + one.unused + one.unread == one.length == len(documents[0].text)
    assert (one.unread, one.unread_spans) == (0, ())
    assert one.used > 0
    assert one.unused > 0
    model, journal = make_report_model(), tmp_path / "2.sqlite"
    made = report(documents, "x", outline=OUTLINE, model=model, journal=journal, max_tokens_total=900)
    (one,) = made.coverage
    assert one.used + one.unused + one.unread == one.length
    assert one.unread == sum(end - start for start, end in one.unread_spans) > 0
    assert any("read in part" in note for note in made.notes)


def test_what_another_document_puts_right_is_not_told_without_a_mark_nor_kept_from_the_judge(tmp_path: Path) -> None:
    outline = "# Lease\n\n## Terms\nevery term: what, amount\n"
    texts = {"2-lease.txt": "The deposit is 300 crowns.", "1-change.txt": "The deposit goes from 300 to 280 crowns."}
    rows = {
        "is 300": {"what": "deposit", "amount": "300 crowns", "quote": texts["2-lease.txt"]},
        "goes": {"what": "deposit", "amount": "280 crowns", "quote": texts["1-change.txt"], "corrects": "300 crowns"},
    }
    told = "These are the terms:\nThe deposit is 300 crowns [{}]. The deposit, as agreed, is 300 crowns [{}]."
    asked: list[str] = []

    def reply(messages) -> str:
        asked.append(messages[0].content)
        section = asked[-1].partition("<section>")[2].partition("</section>")[0]
        if "section of a report. The brief" in asked[-1]:
            number = re.findall(r"\[(\d)\] what: deposit; amount: 300", section)[0]
            return told.format(number, number)
        if "Reply Yes or No" in asked[-1]:
            return "Yes\nThe deposit is 300 crowns."
        return json.dumps({"rows": [row for words, row in rows.items() if words in section], "memory": ""})

    model = ScriptedModel(reply, plan=replace(make_report_model().plan, verdict=VerdictMode.MODEL), window=2400)
    for names in (sorted(texts), sorted(texts, reverse=True)):
        documents = [TextDocument(texts[name], name) for name in names]
        made = report(documents, "what is due", outline=outline, model=model, journal=tmp_path / f"{names[0]}.sqlite")
        (section,) = made.sections
        assert [one.is_marked for one in section.sentences] == [True, True]
        assert all(texts["1-change.txt"] in one.passage for one in section.sentences)
        assert not section.left_out  # of a preface nothing is told
        judging = next(one for one in asked if "Reply Yes or No" in one)
        assert texts["1-change.txt"] in judging
        assert "says otherwise further on or puts it right" in judging
        asked.clear()


def test_an_update_reads_only_new_documents_and_keeps_what_was_edited(tmp_path: Path) -> None:
    journal, out, documents = tmp_path / "j.sqlite", tmp_path / "report.md", make_documents(3, 2)
    report(documents[:1], "what is paid", outline=OUTLINE, out=out, model=make_report_model(), journal=journal)
    edit_table("last", _first_row(journal), None, journal=journal)
    model = make_report_model()
    made = report(documents, "what is paid", out=out, update=True, model=model, journal=journal)
    assert made.sections[0].rows == 4
    assert len(made.coverage) == 2
    again = make_report_model()
    report(documents, "what is paid", out=out, update=True, model=again, journal=journal)
    assert again.calls == 1  # only the section is written
    assert find_state(out).exists()


def _first_row(journal: Path) -> str:
    from bookwheel.tables.api import load_table

    return load_table("last", journal=journal).rows[0].id


def test_a_report_that_is_killed_leaves_a_file_that_names_its_readings(tmp_path: Path) -> None:
    out, model, left = tmp_path / "r.md", make_report_model(), []

    def reply(messages):
        # What a kill during this call would leave.
        left.append(ReportState.load(find_state(out)).readings)
        return model._script(messages)

    watching = ScriptedModel(reply, plan=model.plan, window=model.window)
    given = {"outline": OUTLINE, "out": out, "journal": tmp_path / "j"}
    made = report(make_documents(9), "what is paid", model=watching, **given)
    assert made.sections[0].rows == 9
    assert [len(ids) for ids in left[0].values()] == [1]
    again = report(make_documents(9), "what is paid", model=model, update=True, **given)
    assert again == made


def test_the_outline_is_proposed_shown_and_read_again(tmp_path: Path) -> None:
    outline = {"sections": [{"title": "Fees", "rows": "every fee"}, {"title": 3}, {"title": "Bad", "rows": "x: a, a"}]}
    model = make_report_model(outline=outline)
    made = report(make_documents(1), "fees", model=model, journal=tmp_path / "j.sqlite", out=tmp_path / "r.html")
    assert [section.title for section in made.sections] == ["Fees"]
    text = OUTLINE + "\n## More\nevery fee: what\n"
    assert parse_outline(parse_outline(text).to_markdown()) == parse_outline(text)


@pytest.mark.parametrize(
    ("text", "advice"), [("", "sections"), ("# x\nno section", "sections"), ("## A\nevery fee", "which columns")]
)
def test_an_outline_that_asks_for_nothing_is_refused(text: str, advice: str) -> None:
    with pytest.raises(InputError, match=advice):
        parse_outline(text)


def test_a_model_that_only_quotes_is_refused(tmp_path: Path) -> None:
    for outline in (None, OUTLINE):
        with pytest.raises(InputError, match="only quotes"):
            report(
                make_documents(1),
                "x",
                outline=outline,
                model=make_report_model(),
                prompts="small",
                journal=tmp_path / "j.sqlite",
            )


def test_words_of_documents_are_text_in_every_format(tmp_path: Path) -> None:
    source = SourceLine(
        number=1, said="x: <script>", quote="<script>alert(1)</script> [a](http://b) | # c", document="d"
    )
    assert [one.is_kept for one in check_sentences("Nothing of that [1].", {1: source})] == [False]
    made = report(
        [TextDocument(write_document(2), "<b>.txt")],
        "brief <img src=x>",
        outline=OUTLINE.replace("Payments", "Pay <img>"),
        model=make_report_model(),
        journal=tmp_path / "j.sqlite",
    )
    page, text = format_html(list(list_blocks(made))), format_markdown(list(list_blocks(made)))
    assert "<img" not in page
    assert "<b>" not in page
    assert not re.search(r"(?<!\\)<", text)


def test_a_word_document_has_the_sections_and_the_table(tmp_path: Path) -> None:
    out = tmp_path / "r.docx"
    report(make_documents(3), "x", outline=OUTLINE, out=out, model=make_report_model(), journal=tmp_path / "j.sqlite")
    opened = docx.Document(str(out))
    words = [paragraph.text for paragraph in opened.paragraphs]
    assert "Who pays" in words
    assert any("Tenant 0 pays 100 crowns by 1 June 2027. [1]" in text for text in words)
    assert opened.tables[0].rows[0].cells[0].text == "document"


def test_a_matrix_asks_every_document_and_its_syntheses_name_the_rows(tmp_path: Path) -> None:
    from bookwheel.models.scripted import ScriptedModel

    def reply(messages) -> str:
        text = messages[0].content
        if "Write one section of a report" in text:
            assert "Ada Quill:\n[1] Ada Quill keeps" in text  # which document says what
            assert "Odo Farr:\n[2] Odo Farr keeps" in text
            return "Ada Quill keeps the light [1]. Odo Farr keeps the light [2]. Both are drunk [1][2]."
        name = next((name for name in ("Ada Quill", "Odo Farr") if name in text), "")
        return f"\\boxed{{{name} keeps the light}}" if "<section>" not in text else f"{name} keeps the light"

    documents = [TextDocument(f"{name} keeps the light. {FILLER}", name) for name in ("Ada Quill", "Odo Farr")]
    out = tmp_path / "m.md"
    made = matrix(documents, ["Who keeps the light?"], out=out, model=ScriptedModel(reply), journal=tmp_path / "j")
    assert [[one.is_kept for one in column] for column in made.syntheses] == [[True, True, False]]
    text = out.read_text()
    assert "Ada Quill keeps the light" in text
    assert "left out: Both are drunk" in text


def test_an_updated_matrix_takes_answers_and_goes_on_with_readings_of_before(tmp_path: Path) -> None:
    from bookwheel.models.scripted import ScriptedModel

    asked: list[str] = []

    def reply(messages) -> str:
        text = messages[0].content
        asked.append("write" if "Write one section of a report" in text else text)
        return "\\boxed{Ada keeps the light}" if "<section>" not in text else "Ada keeps the light"

    settings = {"model": ScriptedModel(reply), "journal": tmp_path / "j", "chunk_tokens": 60, "memory_tokens": 20}
    first, second = (TextDocument(f"Ada keeps the light. {FILLER * 20} {n}", f"{n}") for n in "ab")
    begun = matrix([first], ["Who keeps the light?"], max_tokens_total=400, **settings)
    assert [one.status for one in begun.unread] == ["stopped"]
    ended = matrix([first, second], ["Who keeps the light?"], update=True, **settings)
    assert ended.rows[0][0].id == begun.rows[0][0].id
    assert not ended.unread
    asked.clear()
    again = matrix([first, second], ["Who keeps the light?"], update=True, **settings)
    assert [row[0].id for row in again.rows] == [row[0].id for row in ended.rows]
    assert asked == ["write"]
    # A newer reading that stopped takes the place of no answer.
    matrix([first], ["Who keeps the light?"], max_tokens_total=400, **settings)
    assert matrix([first], ["Who keeps the light?"], update=True, **settings).rows[0][0].id == ended.rows[0][0].id


def test_a_model_that_only_quotes_gives_each_answer_once_with_its_documents(tmp_path: Path) -> None:
    from bookwheel.models.scripted import ScriptedModel

    documents = [TextDocument(f"{name} keeps the light. {FILLER}", name) for name in ("Ada", "Odo", "Ada  ")]
    model = ScriptedModel(lambda _: pytest.fail("it writes nothing"), likelihood=lambda _, words: [-1.0] * len(words))
    made = matrix(
        documents,
        ["Who keeps the light?"],
        out=tmp_path / "m.md",
        model=model,
        journal=tmp_path / "j",
        prompts="small",
        way="quotes",
    )
    (column,) = made.syntheses
    assert all(one.is_kept for one in column)
    assert sorted(number for one in column for number in one.numbers) == [1, 2, 3]


def test_of_readings_the_newest_that_has_an_answer_without_gaps_is_taken() -> None:
    document, memory = DocumentInfo(id="d", name="d", length=1), Memory.blank(9)
    chunk = Chunk(index=0, start=0, end=1, text="x", tokens=1)
    talk = Conversation(messages=(), reply=Reply(text=""))
    gap = Step(chunk=chunk, before=memory, after=memory, conversation=talk, flags=(Flag.TRUNCATED,))
    make = partial(Reading, document=document, question="Who?", plan=Plan(), model="m")
    stopped, partly = make(id="4", status=Status.STOPPED), make(id="3", status=Status.ANSWERED, steps=(gap,))
    whole, older = make(id="2", status=Status.ANSWERED), make(id="1", status=Status.ANSWERED)
    assert match_readings([stopped, partly, whole, older], "m", "")["Who?"] is whole
    assert match_readings([stopped, partly], "m", "")["Who?"] is partly
    assert match_readings([stopped], "m", "")["Who?"] is stopped


def test_a_report_of_readings_that_are_looked_up_says_that_there_is_no_journal() -> None:
    session = Session(model=make_report_model())
    state = ReportState(brief="x", outline=parse_outline(OUTLINE), readings={"one": ["reading"]})
    with pytest.raises(InputError, match="no journal for the readings of a report"):
        asyncio.run(write_report(session, state, ["one"], session.model.plan))
