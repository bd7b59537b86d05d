"""A question goes to the memory first, and to the texts where the memory does not bear the answer out."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest
from value_notes import note_values, take

from bookwheel.claims import WORDS, Claim, Evidence, Fit, Verdict
from bookwheel.journal.memory_rows import MemoryText
from bookwheel.memory import asking
from bookwheel.memory.answers import MemoryAnswer, describe, judge_words
from bookwheel.memory.append import append
from bookwheel.memory.asking import ask
from bookwheel.memory.editing import edit
from bookwheel.memory.passages import DatedQuote, MemoryPassage, PassageDocument, leave_out_titles
from bookwheel.memory.text_index import rank_passages
from bookwheel.models.scripted import keyword_reader

pytestmark = pytest.mark.anyio


async def test_a_model_is_told_of_which_day_it_is_asked(make_session, begin):
    asked = []

    def reply(messages):
        asked.append(messages[-1].content)
        return note_values(messages)

    opened = await begin(make_session(reply))
    await append(opened, "room = 12", source="mail-1", at="2026-01-01")
    await ask(opened, "room?", as_of="2031-05-03")
    assert "(It is 2031-05-03.)\n\nAsked now:\nroom?\n" in asked[-1]
    assert (await ask(opened, "room?")).question == "room?"
    assert f"(It is {datetime.now().astimezone().date()}.)" in asked[-1]


@pytest.mark.parametrize(
    ("question", "text"), [("What is the fee?", "The fee is 12 crowns."), ("谁是主席?", "主席是方可。")]
)
async def test_the_day_hides_no_answer_from_a_reader_by_words(make_session, begin, question, text):
    opened = await begin(make_session(keyword_reader))
    await append(opened, text, source="mail-1", at="2026-01-01")
    assert (await ask(opened, question)).answer == text


async def test_of_a_small_memory_all_passages_are_shown_as_far_as_there_is_room(session, begin):
    opened = await begin(session)
    await append(opened, "room = 12", source="mail-1", at="2026-01-01")
    await append(opened, "desk = 9", source="mail-2", at="2026-01-02")
    found = rank_passages(opened, "room?", opened.newest(), None)
    assert [one.words for one in found] == ["room = 12", "desk = 9"]
    await append(opened, f"shelf = oak{' and oak' * 50}", source="mail-3", at="2026-01-03")
    found = rank_passages(opened, "room?", opened.newest(), None)
    assert [one.words for one in found] == ["room = 12"]  # there is no room for the newest one


async def test_the_memory_answers_what_it_knows(session, begin):
    opened = await begin(session)
    await append(opened, "room = 12", source="mail-1", at="2026-01-01")
    answer = await ask(opened, "room?")
    assert (answer.answer, answer.origin, answer.version) == ("room = 12", "memory", 1)
    (quote,) = answer.evidence
    assert (quote.quote.strip(), quote.source, quote.at[:10]) == ("room = 12", "mail-1", "2026-01-01")


async def test_what_the_memory_does_not_know_is_looked_up_in_the_texts(session, begin):
    opened = await begin(session)
    await append(opened, "room = 12\nThe gate of the yard is painted green.", source="mail-1")
    answer = await ask(opened, "What colour is the gate of the yard?")
    assert answer.origin == "texts"


async def test_what_neither_proves_is_told_by_the_memory_which_knows_the_correction(make_session, begin):
    def reply(messages):
        text = messages[-1].content
        if "kept of it" in text:
            return "She signed up early in 1963 and not two years before."
        return "Ada = 1963" if "Between sections" in text else "Sixty-one it was, by her own account."

    opened = await begin(make_session(reply))
    await append(opened, "Ada joined in 1961.\nNo, write 1963, says Ada.", source="chat", at="2026-01-01")
    answer = await ask(opened, "Who joined when, and what else?")
    assert (answer.origin, "1963" in answer.answer) == ("memory", True)


async def test_a_line_by_hand_holds_though_older_texts_have_more_words_of_the_question(make_session, begin):
    def reply(messages):
        day = "18" if "18 July" in take(messages[-1].content, "memory") else "11"
        return f"\\boxed{{The fair is on {day} July.}}"

    opened = await begin(make_session(reply))
    await append(opened, "Bea plans and leads the fair. The fair is on 11 July.", source="mail", at="2026-01-01")
    await edit(opened, "11 July", "18 July", at="2026-01-02")
    answer = await ask(opened, "When is the fair that Bea leads?")
    assert (answer.answer, answer.verdict) == ("The fair is on 18 July.", Verdict.BY_HAND)
    assert [quote.quote for quote in answer.superseded] == ["The fair is on 11 July."]


async def test_older_values_are_superseded_and_as_of_goes_back(session, begin):
    opened = await begin(session)
    for day, room in (("01", "12"), ("02", "31"), ("03", "44")):
        await append(opened, f"room = {room}", source=f"mail-{day}", at=f"2026-01-{day}T12:00+00:00")
    answer = await ask(opened, "room?")
    assert answer.answer == "room = 44"
    assert [quote.quote for quote in answer.superseded] == ["room = 31", "room = 12"]
    then = await ask(opened, "room?", as_of="2026-01-02T13:00+00:00")
    assert (then.answer, then.version) == ("room = 31", 2)


async def test_a_text_that_came_late_is_looked_up_where_the_memory_of_a_day_did_not_know_it(session, begin):
    opened = await begin(session)
    await append(opened, "room = 12", source="mail-1", at="2026-01-01")
    await append(opened, "hall = 3", source="mail-2", at="2026-03-01")
    await append(opened, "room = 14", source="mail-3", at="2026-02-01")
    answer = await ask(opened, "room?", as_of="2026-02-03")
    assert (answer.origin, answer.as_of[:10]) == ("texts", "2026-02-03")
    now = await ask(opened, "room?")
    assert (now.origin, now.as_of) == ("memory", "")


def test_what_an_answer_rests_on_is_not_superseded():
    words = ("Agata begins on the 3rd of the month.", "Agata begins on the 10th of the month.")
    texts = [
        MemoryText(
            number=number,
            source=f"log-{number}",
            at=f"2026-08-0{number}T00:00:00+00:00",
            arrived=f"2026-08-0{number}T00:00:00+00:00",
            sha256="",
            characters=len(said),
            position=len(said),
        )
        for number, said in enumerate(words, 1)
    ]
    passages = [MemoryPassage(text=text, start=0, words=said) for text, said in zip(texts, words, strict=True)]
    document = PassageDocument(passages, has_headers=False)
    whole, question = document.slice(0, document.length), "On which day does Agata begin?"
    places = [(said, whole.find(said)) for said in words]
    cited = [Evidence(quote=said, start=at, end=at + len(said), step=None) for said, at in places]
    claim = Claim(text="The 10th.", verdict=Verdict.SUPPORTED, evidence=(0, 1), judge="a-model", answers=Fit.YES)
    both = describe(claim.text, question, 1, document, "texts", (cited, (claim,)))
    one = describe(claim.text, question, 1, document, "texts", (cited[1:], (replace(claim, evidence=(0,)),)))
    assert (both.superseded, [quote.quote for quote in one.superseded]) == ((), [words[0]])


async def test_a_line_of_a_file_that_was_changed_is_superseded_by_the_new_one(session, begin):
    opened = await begin(session)
    for reading in (430, 432):
        await append(opened, f"The water meter stands at {reading} tons.", source="meters.md", at="2026-10-08")
    passages = rank_passages(opened, "Where does the water meter stand?", opened.newest(), None)
    document = PassageDocument(passages, has_headers=False)
    old = judge_words("The water meter stands at 430 tons.", "Where does the water meter stand?", 1, document, "texts")
    assert [quote.quote for quote in old.newer] == ["The water meter stands at 432 tons."]


async def test_an_older_text_that_says_the_answer_too_is_not_superseded(session, begin):
    opened = await begin(session)
    await append(opened, "Here are Osmer (chair), Rao and Cy Pell.", source="mail-1", at="2026-01-01")
    await append(opened, "Here are Harriet Osmer (chair) and Bo Rao.", source="mail-2", at="2026-02-01")
    document = PassageDocument(rank_passages(opened, "chair?", opened.newest(), None), has_headers=False)
    for text, superseded in (("Osmer", []), ("Harriet Osmer", ["Here are Osmer (chair), Rao and Cy Pell."])):
        answer = judge_words(text, "Who is the chair here?", 1, document, "texts")
        assert [one.quote for one in answer.superseded] == superseded


async def test_a_day_alone_is_known_to_its_end(session, begin):
    opened = await begin(session)
    for day, room in (("01", "12"), ("02", "31"), ("03", "44")):
        await append(opened, f"room = {room}", source=f"mail-{day}", at=f"2026-01-{day}T12:00")
    then = await ask(opened, "room?", as_of="2026-01-02")
    assert (then.answer, then.version) == ("room = 31", 2)


async def test_a_quote_of_a_talk_has_its_own_time_and_who_says_it(session, begin):
    opened = await begin(session)
    talk = "[2026-01-01 10:00] Ada: The keys are new.\nroom = 12\n\n[2026-01-01 11:00] Bo: Thanks.\n"
    await append(opened, talk, source="chat", at="2026-01-01T11:00:00+02:00")
    (quote,) = (await ask(opened, "room?")).evidence
    assert (quote.quote.strip(), quote.speaker, quote.at) == ("room = 12", "Ada", "2026-01-01T10:00:00+02:00")
    assert quote.describe_place() == "chat · Ada · 2026-01-01T10:00:00+02:00"
    await append(opened, "Due: now\nPaid out: hall = 31\n", source="note", at="2026-01-02")
    note = PassageDocument(rank_passages(opened, "hall", opened.newest(), None), has_headers=False)
    start = note.slice(0, note.length).index("Paid out")
    quote = note.quote(start, start + len("Paid out: hall = 31"))
    assert quote is not None
    assert (quote.speaker, note.find_speaker(quote)) == ("", "Paid out")


async def test_a_line_that_a_reply_repeats_is_no_newer_for_it(session, begin):
    opened = await begin(session)
    await append(opened, "From: Ada\nThe meeting is on Thursday.\nroom = 12\n", source="mail-1", at="2026-01-01")
    await append(opened, "From: Bo\nThe room changes:\nroom = 14\n", source="mail-2", at="2026-01-02")
    reply = "From: Cy\n> The meeting is on\n> Thursday.\n> room = 12\n> room = 99\nThursday is fine.\n"
    await append(opened, reply, source="mail-3", at="2026-01-03")
    found = [one.words for one in rank_passages(opened, "room on Thursday", opened.newest(), None)]
    assert sum("room = 12" in words for words in found) == 1
    assert any("> room = 99" in words for words in found)
    assert any("Thursday is fine." in words for words in found)


async def test_an_answer_from_a_full_memory_says_so(session, begin):
    opened = await begin(session)
    await append(opened, "room = 12", source="mail-1")
    assert not (await ask(opened, "room?")).gaps
    await append(opened, "\n".join(f"key{n} = {n}" for n in range(25)), source="much", at="2026-01-02")
    await append(opened, "\n".join(f"word{n} = {n}" for n in range(25)), source="more", at="2026-01-02")
    assert [one.version for one in (await ask(opened, "key0?")).gaps] == [opened.newest().version]


async def test_an_empty_memory_says_so(session, begin):
    answer = await ask(await begin(session), "room?")
    assert answer.origin == "memory"
    assert not answer.claims


async def test_answers_are_kept(session, begin):
    opened = await begin(session)
    await append(opened, "room = 12", source="mail-1")
    await ask(opened, "room?")
    assert [one["answer"] for one in opened.tables.list_answers(opened.record.number)] == ["room = 12"]


def test_only_the_title_of_a_mail_is_left_out():
    def cut(words: str, question: str = "What is the roof made of?") -> str:
        text = MemoryText(number=1, source="a", at="", arrived="", sha256="", characters=len(words), position=0)
        return "".join(
            one.words for one in leave_out_titles([MemoryPassage(text=text, start=0, words=words)], question)
        )

    mail = "From: Ada Quill\nTo: Bo Marsh\nSubject: Re: roof on 3 May\n\nThanks, noted."
    assert cut(mail) == mail.replace("Subject: Re: roof on 3 May", "")
    assert cut(mail, "When is the roof laid?") == mail
    for other in (
        "Subject: roof\nRoom: 4\n\nAda teaches.",
        "From: Oslo\nTo: Bergen\nSubject: trains\nOne leaves at 9.",
    ):
        assert cut(other) == other


ANSWER = MemoryAnswer(question="?", answer="", origin="", version=1, verdict=None)
NOT_FOUND, PARTLY, QUOTED = Verdict.NOT_FOUND, Verdict.PARTLY, Verdict.QUOTED


@pytest.mark.parametrize(
    ("noted", "found", "is_noted"),
    [
        ((NOT_FOUND, Fit.YES), (NOT_FOUND, Fit.YES), True),
        ((PARTLY, Fit.YES), (NOT_FOUND, Fit.YES), True),
        ((NOT_FOUND, Fit.YES), (PARTLY, Fit.YES), False),
        ((PARTLY, Fit.NO), (PARTLY, Fit.DOUBTFUL), False),
        ((QUOTED, Fit.YES), (QUOTED, Fit.YES), False),
    ],
)
def test_notes_go_before_passages_only_where_they_are_as_sure_and_answer_as_well(noted, found, is_noted):
    def answer(text, verdict, answers, origin):
        return MemoryAnswer(question="?", answer=text, origin=origin, version=1, verdict=verdict, answers=answers)

    own, theirs = answer("In 1963.", *noted, "memory"), answer("In 1961.", *found, "texts")
    assert asking._knows_more(own, theirs) is is_noted


@pytest.mark.parametrize("judge", ["a-model", WORDS])
def test_notes_that_say_more_do_not_replace_what_a_judge_bears_out_where_it_does_not_bear_them_out(judge):
    def answer(text, verdict):
        claims = (Claim(text=text, verdict=verdict, judge=judge, answers=Fit.YES),)
        return MemoryAnswer(
            question="?", answer=text, origin="", version=1, verdict=verdict, answers=Fit.YES, claims=claims
        )

    own, theirs = answer("Half past five, with the piano.", PARTLY), answer("Half past five.", Verdict.SUPPORTED)
    assert asking._knows_more(own, theirs) is (judge == WORDS)
    assert asking._knows_more(replace(own, claims=theirs.claims), theirs)


@pytest.mark.parametrize(("day", "fit", "is_noted"), [(3, Fit.YES, True), (3, Fit.NO, False), (1, Fit.YES, False)])
def test_a_line_by_hand_that_is_newer_and_answers_goes_before_the_texts(day, fit, is_noted):
    def answer(text, verdict, day, fit):
        claim = Claim(text=text, verdict=verdict, evidence=(0,), judge="a-model", answers=fit)
        quote = DatedQuote(quote=text, source="", at=f"2026-01-0{day}T00:00:00+00:00", start=0, end=9)
        return replace(ANSWER, answer=text, verdict=verdict, answers=fit, claims=(claim,), evidence=(quote,))

    own = answer("On 18 July.", Verdict.BY_HAND, day, fit)
    assert asking._knows_more(own, answer("On 11 July.", QUOTED, 2, Fit.YES)) is is_noted


@pytest.mark.parametrize(
    ("day", "judge", "found", "is_noted"),
    [
        (3, "a-model", "5 mg twice a day.", True),
        (2, "a-model", "5 mg twice a day.", True),
        (1, "a-model", "5 mg twice a day.", False),
        (2, "a-model", "10 mg once a day, in the evening.", False),
        (3, WORDS, "5 mg twice a day.", False),
    ],
)
def test_notes_that_a_judge_bears_out_by_words_as_new_go_before_a_few_passages(day, judge, found, is_noted):
    def answer(text, day, judge):
        claim = Claim(text=text, verdict=Verdict.SUPPORTED, evidence=(0,), judge=judge, answers=Fit.YES)
        quote = DatedQuote(quote=text, source="", at=f"2026-01-0{day}T00:00:00+00:00", start=0, end=9)
        return replace(ANSWER, answer=text, verdict=claim.verdict, answers=Fit.YES, claims=(claim,), evidence=(quote,))

    assert asking._knows_more(answer("10 mg once a day.", day, judge), answer(found, 2, "a-model")) is is_noted
