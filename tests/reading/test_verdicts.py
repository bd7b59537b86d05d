"""A model that judges its own answer decides the verdict; what it did not judge is unchecked."""

import asyncio
from dataclasses import replace

import pytest

from bookwheel import read as read_file
from bookwheel.claims import Fit, Sign, Verdict
from bookwheel.documents.opening import TextDocument
from bookwheel.errors import BadReply, BudgetReached, InputError, ModelError
from bookwheel.flags import Flag
from bookwheel.journal import Journal
from bookwheel.models.patience import Patience
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan, VerdictMode
from bookwheel.reading.judge_view import JudgeView
from bookwheel.reading.runner import judge_again, new_reading, run_reading
from bookwheel.reading.ways.registry import estimate_cost
from bookwheel.types import DocumentInfo, Status
from bookwheel.verdict.judge import examine
from bookwheel.verdict.search import LocatedSentence
from bookwheel.verdict.sources import PlacedParts

TEXT = "The keeper of the lamp is Ada Quill. Her deputy winds the clock. Rain fell for weeks."
ANSWER = "Ada Quill looks after the lamp."
PLAN = Plan(question_tokens=40, chunk_tokens=900, memory_tokens=60, answer_tokens=60, verdict=VerdictMode.MODEL)


def find_turn(messages):
    text = messages[-1].content
    return next(
        (
            turn
            for turn, words in (
                ("supports", "everything that"),
                ("denies", "cannot be true"),
                ("otherwise", "that is wrong. Copy"),
            )
            if words in text
        ),
        "responds" if "or a part of it?" in text else "read",
    )


def read(judge, *, answer=ANSWER, plan=PLAN, in_words=False, text=TEXT, question="Who keeps the lamp?"):
    """Return a reading whose model answers so, and judges by the turn's name: yes, or no, or an error."""
    asked = []

    def reply(messages):
        turn = find_turn(messages)
        if turn == "read":
            return answer
        asked.append(turn)
        if isinstance(judge[turn], Exception):
            raise judge[turn]
        return judge[turn]

    def weigh(messages, _options):
        return (-0.05, -3.0) if reply(messages) == "Yes" else (-3.0, -0.05)

    model = ScriptedModel(reply, judge=None if in_words else weigh)
    info = DocumentInfo(id="", name="lamp", length=len(text))
    reading = new_reading(info, question, model, plan)
    return asyncio.run(run_reading(reading, TextDocument(text), model)), asked


@pytest.mark.parametrize(("in_words", "yes"), [(False, "Yes"), (True, "<think>\n\n</think>\n\nYes"), (True, "はい。")])
def test_the_models_yes_makes_an_answer_supported_and_green(in_words, yes):
    ended, asked = read({"supports": yes, "denies": "No", "responds": yes}, in_words=in_words)
    assert (ended.verdict, ended.answers, ended.sign) == (Verdict.SUPPORTED, Fit.YES, Sign.GREEN)
    # A word is no probability.
    assert ended.claims[0].score is None if in_words else ended.claims[0].score > 0.9
    assert asked == ["supports", "responds"]


def test_the_model_is_shown_passages_in_the_documents_order():
    shown = []

    def reply(messages):
        shown.append(messages[-1].content)
        return "A storm broke the pier at Holm." if find_turn(messages) == "read" else "Yes"

    text = f"The pier at Holm is old. Rain fell for weeks. A storm broke the pier. {'Nobody came. ' * 400}"
    reading = new_reading(
        DocumentInfo(id="", name="pier", length=len(text)), "What broke it?", model := ScriptedModel(reply), PLAN
    )
    asyncio.run(run_reading(reading, TextDocument(text), model))
    (asked,) = (one for one in shown if "everything that" in one)
    assert asked.index("The pier at Holm is old.") < asked.index("A storm broke the pier.")


def test_the_model_sees_what_a_passage_stands_under():
    shown = []

    def reply(messages):
        shown.append(messages[-1].content)
        return "£3.50 a day" if find_turn(messages) == "read" else "Yes"

    text = "# Lot 9: the kiosk\n\nFifty seats.\n\n# Lot 14: the sand\n\nPrice to the public not above £3.50 a day. No dogs."
    text += "\n\n# Lot 15: the pier\n\n" + "Nobody came. " * 1000
    info = DocumentInfo(id="", name="lots", length=len(text))
    reading = new_reading(info, "What may a seat cost?", model := ScriptedModel(reply), PLAN)
    asyncio.run(run_reading(reading, TextDocument(text), model))
    (asked,) = (one for one in shown if "everything that" in one)
    assert "Lot 14: the sand\nPrice to the public not above £3.50 a day." in asked


def test_a_short_document_is_shown_whole():
    assert JudgeView(TextDocument(TEXT)).show(find_one("Nets need 12 metres.", TEXT), "") == TEXT


class Bare:
    """A document that is read from its beginning alone."""

    def parts(self):
        yield from ()


@pytest.mark.parametrize("turned", [False, True])
def test_a_passage_within_another_is_shown_once(turned):
    small, large = LocatedSentence("Kites fly.", 0, 10), LocatedSentence("Kites fly. A kite has a tail.", 0, 29)
    finding = replace(find_one("Kites fly.", TEXT), passages=(large if turned else small,), near=())
    assert JudgeView(Bare()).show(finding, "", [small if turned else large]) == large.text


LEASE = f"""# 12 Term

The lease ends on 30 June 2033. {"The tenant keeps the drains clear. " * 90}

# Amendment

In clause 12 the date of 30 June 2033 is replaced by 31 December 2032. {"Nothing else is changed. " * 120}
"""


def test_what_puts_a_sentence_right_is_shown_beside_it_and_makes_a_copy_contradicted():
    answer = "The lease ends on 30 June 2033."
    shown = JudgeView(TextDocument(LEASE), 3000).show(find_one(answer, LEASE), "When does the lease end?")
    assert shown.index("The lease ends on 30 June 2033.") < shown.index("is replaced by 31 December 2032.")
    ended, asked = read(
        {
            "denies": "Yes",
            "responds": "Yes",
            "otherwise": "“… the date of 30 June 2033 is replaced by 31 December 2032”",
        },
        answer=answer,
        text=LEASE,
        question="When does the lease end?",
    )
    assert asked == ["denies", "responds", "otherwise"]
    assert (ended.verdict, ended.sign) == (Verdict.CONTRADICTED, Sign.RED)
    (against,) = ended.claims[0].against
    assert "is replaced by" in ended.evidence[against].quote


def test_what_the_memory_was_taken_from_is_shown_though_the_answer_has_other_words():
    rain, wind = "It never rained. " * 250, "It blew. " * 250
    text = f"{rain}Each of them earns 45 crowns a month. {wind}Unit 3 has sixty square metres. {wind}"
    finding = find_one("2,700 crowns", text)
    first = text.index("Unit 3")
    origin = LocatedSentence(text[first : first + 31], first, first + 31)
    assert "Unit 3 has sixty square metres." not in JudgeView(TextDocument(text), 1000).show(finding, "")
    assert "Unit 3 has sixty square metres." in JudgeView(TextDocument(text), 1000).show(finding, "", [origin])


@pytest.mark.parametrize(
    ("said", "times", "verdict"),
    [("Yes", 9, Verdict.SUPPORTED), ("No", 9, Verdict.NOT_FOUND), ("No", 400, Verdict.UNCHECKED)],
)
def test_a_no_to_words_of_another_language_says_nothing_of_what_was_not_shown(said, times, verdict):
    text = "灯塔由欧阳负责。" * times
    ended, _ = read(
        {"supports": said, "denies": "No", "responds": "Yes"}, answer="Somebody else keeps the lamp.", text=text
    )
    assert ended.verdict is verdict


@pytest.mark.parametrize(("said", "verdict"), [("Yes", Verdict.SUPPORTED), ("No", Verdict.PARTLY)])
def test_a_bare_yes_is_judged_with_its_reason(said, verdict):
    answer = "Yes. Ada Quill looks after the lamp."
    ended, asked = read(
        {"supports": said, "denies": "No", "responds": "Yes"}, answer=answer, question="Does Ada Quill keep the lamp?"
    )
    assert [(claim.text, claim.verdict) for claim in ended.claims] == [(answer, verdict)]
    assert asked[0] == "supports"


def find_one(answer, text):
    (finding,) = examine(answer, "What do cricket nets need?", PlacedParts(TextDocument(text)))
    return finding


def test_only_what_bears_an_answer_out_is_its_evidence():
    text = (
        "A seat on the sand costs at most £3.50 a day. The siren may sound on Remembrance Day. Fifty seats are inside."
    )
    question = "Up to what price may sunbathers be charged for a seat inside?"
    ended, _ = read(
        {"supports": "Yes", "denies": "No", "responds": "Yes"}, answer="£3.50 a day", text=text, question=question
    )
    assert [piece.quote for piece in ended.evidence] == ["A seat on the sand costs at most £3.50 a day."]


def test_each_claim_says_who_judged_it():
    answer = f"{ANSWER} The document does not say who pays her."
    ended, _ = read({"supports": "Yes", "denies": "No", "responds": "Yes"}, answer=answer)
    assert [(claim.verdict, claim.judge) for claim in ended.claims] == [
        (Verdict.SUPPORTED, "scripted"),
        (Verdict.ABSENT, "words"),
    ]
    measured, _ = read({}, plan=replace(PLAN, verdict=VerdictMode.QUOTES))
    assert [claim.judge for claim in measured.claims] == ["words"]
    failed, _ = read(dict.fromkeys(("supports", "denies", "responds"), ModelError("the server is gone")))
    assert [claim.judge for claim in failed.claims] == [None]


def test_a_true_answer_to_another_question_is_not_green():
    ended, _ = read({"supports": "Yes", "denies": "No", "responds": "No"})
    assert (ended.verdict, ended.answers, ended.sign) == (Verdict.SUPPORTED, Fit.NO, Sign.AMBER)


def test_what_the_model_says_is_denied_is_contradicted_by_the_passage_quoted():
    judge = {"supports": "No", "denies": "Yes", "responds": "Yes", "otherwise": "Rain fell for weeks"}
    ended, asked = read(judge, answer="Ada Quill broke the lamp.")
    (claim,) = ended.claims
    assert (claim.verdict, ended.sign) == (Verdict.CONTRADICTED, Sign.RED)
    assert ended.evidence[claim.against[0]].quote == "Rain fell for weeks."
    assert asked == ["supports", "denies", "responds", "otherwise"]
    ended, _ = read(judge | {"otherwise": "It hailed for weeks"}, answer="Ada Quill broke the lamp.")
    assert (ended.sign, ended.claims[0].against) == (Sign.RED, ())


@pytest.mark.parametrize("reply", [ModelError("the server is gone"), "Perhaps."])
def test_where_the_judge_fails_the_answer_is_kept_and_unchecked(reply):
    ended, _ = read({"supports": reply, "denies": reply, "responds": reply}, in_words=True)
    assert (ended.status, ended.verdict, ended.sign) == (Status.ANSWERED, Verdict.UNCHECKED, Sign.GREY)
    assert ended.answer.text == ANSWER


def test_judging_counts_in_the_budget_and_its_end_leaves_the_answer_unchecked():
    free, _ = read({"supports": "Yes", "denies": "No", "responds": "Yes"})
    unjudged, asked = read({}, plan=replace(PLAN, verdict=VerdictMode.OFF))
    assert not asked
    assert (unjudged.verdict, unjudged.sign) == (None, Sign.GREY)
    assert free.usage.calls == unjudged.usage.calls + 2
    spent = BudgetReached("the tokens are used up")
    ended, _ = read({"supports": spent, "denies": spent, "responds": spent})
    assert (ended.status, ended.verdict) == (Status.ANSWERED, Verdict.UNCHECKED)


def test_a_measured_verdict_asks_nobody():
    _, asked = read({}, plan=replace(PLAN, verdict=VerdictMode.QUOTES))
    assert not asked


def test_a_model_that_only_quotes_is_left_at_the_measure():
    ended, asked = read({}, plan=replace(PLAN, prompts="small"))
    assert not asked
    assert ended.verdict is not Verdict.UNCHECKED


def test_judging_is_part_of_the_estimate():
    document, plain = TextDocument(TEXT), replace(PLAN, verdict=VerdictMode.QUOTES)
    model = ScriptedModel(lambda _: "x", judge=lambda _messages, _options: (-0.1, -3.0))
    without, judged = (estimate_cost(document, "Who keeps the lamp?", model, plan) for plan in (plain, PLAN))
    assert judged.calls > without.calls
    assert judged.prompt_tokens > without.prompt_tokens
    assert judged.least_calls == without.least_calls
    ended, _ = read({"supports": "Yes", "denies": "No", "responds": "Yes"})
    assert ended.usage.calls <= judged.calls


def judge_later(journal, reading, judge, plan=PLAN):
    """Let another model judge a kept reading, and return it."""
    model, document = (
        ScriptedModel(lambda messages: judge[find_turn(messages)], plan=plan),
        journal.document_of(reading.id),
    )
    return asyncio.run(judge_again(reading, document, model, journal, Patience(seconds=0)))


@pytest.fixture
def kept(tmp_path):
    """Return a journal and a reading in it that was judged by its words alone."""
    model, file = ScriptedModel(lambda _messages: "The one who tends it is Miss Quill."), tmp_path / "lamp.txt"
    file.write_text(TEXT)
    reading = read_file(file, "Who keeps the lamp?", model=model, journal=tmp_path / "journal.sqlite")
    with Journal(tmp_path / "journal.sqlite") as journal:
        yield journal, journal.reading(reading.id)


def test_a_kept_answer_can_be_judged_by_a_model_later(kept):
    journal, reading = kept
    assert reading.sign is not Sign.GREEN
    judged = judge_later(journal, reading, {"supports": "Yes", "denies": "No", "responds": "Yes"})
    stored = journal.reading(reading.id)
    assert stored.claims == judged.claims
    assert (stored.sign, stored.plan.verdict, stored.answer) == (Sign.GREEN, VerdictMode.MODEL, reading.answer)
    assert stored.usage.calls == reading.usage.calls + 2


def test_a_judge_knows_better_than_who_copied_an_answer_and_was_not_sure(kept):
    journal, reading = kept
    unsure = replace(reading, answer=replace(reading.answer, flags=(Flag.UNSURE,)))
    judged = judge_later(journal, unsure, {"supports": "Yes", "denies": "No", "responds": "Yes"})
    assert judged.sign is Sign.GREEN


def test_a_judge_that_says_nothing_leaves_the_verdicts_as_they_were(kept):
    journal, reading = kept
    with pytest.raises(BadReply, match="as they were"):
        judge_later(journal, reading, {"supports": "Perhaps", "denies": "No", "responds": "Yes"})
    stored = journal.reading(reading.id)
    assert stored.usage.calls == reading.usage.calls + 1
    assert replace(stored, usage=reading.usage) == reading


def test_what_fails_while_judging_later_is_told_as_it_is(kept):
    journal, reading = kept
    with pytest.raises(ModelError, match="the server is down"):
        judge_later(journal, reading, {"supports": ModelError("the server is down")})
    assert journal.reading(reading.id).claims == reading.claims


def test_what_has_no_answer_or_only_quotes_is_not_judged_later(kept):
    journal, reading = kept
    with pytest.raises(InputError, match="no answer to judge"):
        judge_later(journal, replace(reading, status=Status.STOPPED), {})
    seen = replace(reading, claims=tuple(replace(claim, verdict=Verdict.SEEN) for claim in reading.claims))
    with pytest.raises(InputError, match="rests on pictures"):
        judge_later(journal, seen, {})
    with pytest.raises(InputError, match="only quotes"):
        judge_later(journal, reading, {}, plan=replace(PLAN, prompts="small"))


def test_what_a_quoting_model_read_is_judged_by_one_that_writes(kept):
    journal, reading = kept
    quoted = replace(reading, plan=replace(reading.plan, prompts="small"))
    judged = judge_later(journal, quoted, {"supports": "Yes", "denies": "No", "responds": "Yes"})
    assert (judged.sign, judged.plan.prompts) == (Sign.GREEN, "small")


def test_after_a_failed_call_nothing_is_judged_any_more():
    answer = " ".join(f"Keeper number {number} saw the lamp." for number in range(40))
    ended, _ = read(
        {"supports": ModelError("down"), "denies": "No", "responds": "Yes"},
        answer=answer,
        plan=replace(PLAN, answer_tokens=900),
    )
    assert {claim.verdict for claim in ended.claims} == {Verdict.UNCHECKED}


def test_of_an_answer_that_runs_on_a_model_judges_the_beginning():
    answer = " ".join(f"Keeper number {number} saw the lamp." for number in range(60))
    plan = replace(PLAN, answer_tokens=900)
    ended, asked = read({"supports": "No", "denies": "No", "responds": "Yes"}, answer=answer, plan=plan)
    assert len(ended.claims) == 60
    assert asked.count("supports") == 32


def test_a_sentence_is_judged_with_the_one_before_it():
    shown = []

    def reply(messages):
        shown.append(messages[-1].content)
        return "It was built by Ada Quill. She came from Riga." if find_turn(messages) == "read" else "Yes"

    text = "The lamp was built by Ada Quill, who was born in Riga. " + "Rain fell. " * 9
    info = DocumentInfo(id="", name="lamp", length=len(text))
    reading = new_reading(info, "Who?", model := ScriptedModel(reply), PLAN)
    asyncio.run(run_reading(reading, TextDocument(text), model))
    judged = [one.partition("<answer>\n")[2].partition("\n</answer>")[0] for one in shown if "everything that" in one]
    assert judged[1:] == ["[said just before: It was built by Ada Quill.] She came from Riga."]


def test_the_evidence_of_a_sentence_is_what_the_judge_copies_for_it():
    text = (
        "The boat has three pumps. Its engine, a Volvo, was put in on 3 May 2021. Pumps cost 40 euros. " + "Rain. " * 9
    )
    copies = [
        "Its engine, a Volvo, was put in on 3 May 2021.",
        "“Its engine, a Volvo, was put in on 3 May 2021.”",
        "Oil leaks.",
    ]
    for copied, quoted in ((copies[0], True), (copies[1], True), (copies[2], False)):

        def reply(messages, copied=copied):
            if find_turn(messages) == "read":
                return "The motor dates from 2021, when pumps were dear."
            return f"Yes\n{copied}" if "everything that" in messages[-1].content else "Yes"

        info = DocumentInfo(id="", name="boat", length=len(text))
        reading = new_reading(info, "How old is the motor?", model := ScriptedModel(reply), PLAN)
        ended = asyncio.run(run_reading(reading, TextDocument(text), model))
        # What it does not copy word for word it has misread.
        assert ended.claims[0].verdict is (Verdict.SUPPORTED if quoted else Verdict.PARTLY)
        assert ([one.quote for one in ended.evidence] == [copies[0]]) is quoted
