"""An answer of a memory has the verdict of whoever judges it, and quotes words of the texts alone."""

from dataclasses import replace

import pytest
from value_notes import PLAN, note_values

from bookwheel.claims import WORDS, Claim, Evidence, Fit, Sign, Verdict, choose_sign
from bookwheel.memory.answers import describe
from bookwheel.memory.append import append
from bookwheel.memory.asking import ask
from bookwheel.memory.editing import edit
from bookwheel.memory.opened import begin_memory, open_memory
from bookwheel.memory.passages import PassageDocument, cut_passages
from bookwheel.memory.text_index import rank_passages
from bookwheel.plan import VerdictMode

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("said", "verdict", "sign"), [("Yes", Verdict.SUPPORTED, Sign.GREEN), ("No", Verdict.NOT_FOUND, Sign.RED)]
)
@pytest.mark.parametrize("is_known", [True, False])
async def test_an_answer_is_judged_by_the_model_that_the_plan_names(make_session, said, verdict, sign, is_known):
    """Of the memory as of the texts; what words alone would say of it is not asked."""

    def reply(messages):
        text = messages[-1].content
        if "Reply Yes or No" in text or "one word" in text:
            return said
        if "Between sections" in text:
            return "Ada pays for everybody." if is_known else "UNCHANGED"
        return "It is Ada who foots the bill."

    session = make_session(reply)
    await begin_memory(session, "ada", "Everything about Ada", replace(PLAN, verdict=VerdictMode.MODEL))
    opened = open_memory(session, "ada")
    await append(opened, "All of it was settled by Ada, as ever.", source="mail-1", at="2026-01-01")
    answer = await ask(opened, "Who pays?")
    assert {claim.judge for claim in answer.claims} == {session.model.name}
    assert (answer.verdict, choose_sign(answer.verdict, answer.answers)) == (verdict, sign)


async def test_a_value_by_hand_is_borne_out_by_no_text_and_what_the_texts_say_is_superseded(session, begin):
    opened = await begin(session)
    await append(opened, "cymbals = 130", source="chat", at="2026-01-01")
    await append(opened, "They have the drums, too. Harries asks 130 for cymbals.", source="mail", at="2026-01-02")
    assert (await ask(opened, "cymbals?")).verdict is not Verdict.BY_HAND
    await edit(opened, "cymbals = 130", "cymbals = 118")
    answer = await ask(opened, "cymbals?")
    assert (answer.answer, answer.origin) == ("cymbals = 118", "memory")
    assert (answer.verdict, choose_sign(answer.verdict, answer.answers)) == (Verdict.BY_HAND, Sign.AMBER)
    assert [one.quote.strip() for one in answer.superseded] == ["Harries asks 130 for cymbals.", "cymbals = 130"]


async def test_within_days_that_were_read_together_the_texts_are_asked_and_no_older_version(make_session, begin):
    def reply(messages):
        text = messages[-1].content
        return "room = 14" if "room = 14" in text.partition("<section>")[2] else note_values(messages)

    opened = await begin(make_session(reply))
    await append(opened, "room = 12", source="mail", at="2026-05-12")
    talk = "[2026-05-20 10:00] Ada: From today\nroom = 14\n\n[2026-06-02 11:00] Bo: Thanks.\n"
    await append(opened, talk, source="chat", at="2026-06-02T11:00:00+00:00")
    then = await ask(opened, "room?", as_of="2026-05-25")
    assert (then.answer, then.origin) == ("room = 14", "texts")
    before = await ask(opened, "room?", as_of="2026-05-19")
    assert (before.answer, before.origin) == ("room = 12", "memory")


@pytest.mark.parametrize(
    ("words", "judge", "fit"),
    [
        ("Present: Sian, Meg Tudor.", WORDS, Fit.DOUBTFUL),
        ("Present: Sian, Meg Tudor.", "a-model", Fit.YES),
        ("Ada Quill thanks Meg Tudor.", WORDS, Fit.DOUBTFUL),
        ("Meg Tudor has the key.", WORDS, Fit.YES),
    ],
)
async def test_a_name_that_words_find_in_another_matter_answers_nothing_beyond_doubt(session, begin, words, judge, fit):
    opened, question = await begin(session), "Who has the key of Ada Quill?"
    await append(opened, words, source="minutes", at="2026-05-12")
    document = PassageDocument(rank_passages(opened, question, opened.newest(), None), has_headers=False)
    evidence = [Evidence(step=None, quote=words, start=0, end=len(words))]
    claim = Claim(text="Meg Tudor", verdict=Verdict.SUPPORTED, evidence=(0,), judge=judge, answers=Fit.YES)
    answer = describe("Meg Tudor", question, 1, document, "memory", (evidence, [claim]))
    assert (answer.verdict, answer.answers) == (Verdict.SUPPORTED, fit)


async def test_the_line_above_a_text_is_no_evidence(session, begin):
    opened = await begin(session)
    await append(opened, "room = 12", source="mail-1", at="2026-01-01")
    document = PassageDocument(rank_passages(opened, "room?", opened.newest(), None), has_headers=True)
    above, words = document.passages[0].place, len("room = 12")
    evidence = [
        Evidence(step=None, quote="", start=0, end=above),
        Evidence(step=None, quote="room = 12", start=above, end=above + words),
    ]
    claim = Claim(text="12", verdict=Verdict.QUOTED, evidence=(0, 1), against=(1,))
    answer = describe("12", "room?", 1, document, "texts", (evidence, [claim]))
    assert [quote.quote for quote in answer.evidence] == ["room = 12"]
    assert (answer.claims[0].evidence, answer.claims[0].against) == ((0,), (0,))


def test_no_message_is_cut_from_the_line_that_says_whose_it_is() -> None:
    chat = "\n\n".join(f"2025-02-14 09:{at:02}:00 王{'芳敏'[at % 2]}\n{'草莓两盒' * (at % 7 + 1)}" for at in range(60))
    for is_short in (False, True):
        passages = [words for _, words in cut_passages(chat, is_short=is_short)]
        assert len(passages) > 1
        assert "".join(passages) == chat
        assert all(words.startswith("2025-") and "草莓" in words.strip().splitlines()[-1] for words in passages)
