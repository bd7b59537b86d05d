"""A memory whose model only quotes is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bookwheel.claims import Fit, Verdict
from bookwheel.memory import asking
from bookwheel.memory.append import append
from bookwheel.memory.asking import ask
from bookwheel.memory.editing import edit
from bookwheel.memory.forgetting import forget
from bookwheel.memory.opened import begin_memory, open_memory
from bookwheel.memory.passages import PassageDocument, leave_out_titles
from bookwheel.memory.text_index import rank_passages
from bookwheel.memory.values import list_newest
from bookwheel.models.base import Copies
from bookwheel.models.copying import CopiedSpan
from bookwheel.models.patience import Patience
from bookwheel.models.scripted import ScriptedModel, keyword_likelihood
from bookwheel.plan import Plan
from bookwheel.session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.types import Message

pytestmark = pytest.mark.anyio


VET = "When's the vet coming for the vaccinations?"
QUOTING = Plan(prompts="small", chunk_tokens=200, memory_tokens=120, answer_tokens=60, question_tokens=60)


async def begin_quoting(journal, name, about, *, kind=ScriptedModel):
    """Begin a memory whose model quotes, and open it."""
    model = kind(lambda _: "", plan=QUOTING, likelihood=keyword_likelihood)
    model.default_way = "quotes"
    session = Session(model=model, journal=journal, patience=Patience(seconds=0))
    await begin_memory(session, name, about, QUOTING)
    return open_memory(session, name)


async def test_a_model_that_quotes_gives_the_newest_value(journal):
    opened = await begin_quoting(journal, "harbour", "what the harbour decides")
    await append(opened, "The council met.\nThe fee for visitors is 14 crowns.\n", source="mail-1", at="2031-05-03")
    await append(opened, "Later.\nThe fee for visitors is now 17 crowns.\n", source="mail-2", at="2031-06-03")
    answer = await ask(opened, "What is the fee for visitors?")
    assert "17 crowns" in answer.answer
    assert [quote.quote for quote in answer.superseded] == ["The fee for visitors is 14 crowns."]
    assert answer.newer == ()
    then = await ask(opened, "What is the fee for visitors?", as_of="2031-05-10")
    assert "17" not in then.answer
    assert "14" in then.answer


async def test_the_newest_that_answers_holds_and_not_what_only_shares_its_words(journal):
    opened = await begin_quoting(journal, "kitchen", "the kitchen")
    assert (await ask(opened, "When does the kitchen start?")).answer == "The memory is empty."
    texts = (
        "Subject: Kitchen start\nThe kitchen starts on 16 March.",
        "The kitchen starts on 23 March, a week later.",
        "Subject: It starts\nThe old kitchen goes to Elin in Uppsala, who starts with green cupboards there.",
    )
    for number, text in enumerate(texts):
        await append(opened, text, source=f"mail-{number}", at=f"2026-03-{number + 2:02}")
    answer = await ask(opened, "When does the kitchen start?")
    assert answer.answer == "The kitchen starts on 23 March, a week later."
    assert [quote.quote for quote in answer.superseded] == ["The kitchen starts on 16 March."]


async def test_neither_the_name_of_a_file_nor_a_title_cut_off_from_its_mail_is_a_passage(journal):
    opened = await begin_quoting(journal, "club", "the club")
    await append(opened, "\n===== members.csv =====\nOrla has not paid yet.\n", source="members.csv", at="2031-05-03")
    letter = "The rowers carried the boat to the mill, and nobody knew who had asked for it. " * 8
    mail = f"From: a@b.example\nSubject: The members and the regatta\n\n{letter}\n"
    await append(opened, mail, source="mail", at="2031-05-04")
    question = "Which members have not paid?"
    passages = leave_out_titles(rank_passages(opened, question, opened.newest(), None), question)
    document = PassageDocument(passages, has_headers=False)
    text = document.slice(0, document.length)
    assert ("Orla" in text, "=====" in text, "regatta" in text) == (True, False, False)
    assert document.quote(text.index("Orla"), text.index("Orla") + 4).start == len("\n===== members.csv =====\n")
    answer = await ask(opened, question)
    assert [quote.quote for quote in answer.evidence] == ["Orla has not paid yet."]


async def test_a_number_that_a_later_text_put_right_is_no_sure_yes(journal):
    opened = await begin_quoting(journal, "bridge", "the bridge")
    await append(opened, "The mean width of the bridge is 4.2 m.", source="a", at="2031-05-03")
    await append(opened, "Recomputed mean of the bridge: 3.9 m.", source="b", at="2031-06-03")
    answer = await ask(opened, "Is the mean width of the bridge 4.2 m?")
    assert (answer.answer, answer.answers) != ("Yes.", Fit.YES)


class CopyingModel(ScriptedModel):
    """Copies the first name that it was told to, or else what stands around it."""

    rival = -9.0

    async def copy(self, messages: Sequence[Message], passage: str, gap: str = "") -> Copies:
        del messages, gap
        found = [
            (at, name, odds) for name, odds in (("Orm", -0.1), ("now", self.rival)) if (at := passage.find(name)) >= 0
        ]
        return Copies(spans=tuple(CopiedSpan(at, at + len(name), odds) for at, name, odds in found))


async def test_of_the_newest_statement_the_short_answer_is_given(journal):
    opened = await begin_quoting(journal, "talk", "what they say", kind=CopyingModel)
    await append(opened, "[2026-01-05 09:00] Dorian: My doctor is called Vix.", source="a", at="2026-01-05T09:00")
    await append(opened, "[2026-03-05 09:00] Dorian: My doctor is called Orm now.", source="b", at="2026-03-05T09:00")
    answer = await ask(opened, "What is the name of Dorian's doctor?")
    assert answer.answer == "Orm"
    (quote,) = answer.evidence
    assert (quote.speaker, quote.at[:10], "called Orm now" in quote.quote) == ("Dorian", "2026-03-05", True)
    assert ["Vix" in one.quote for one in answer.superseded] == [True]
    question = "What is the doctor called now?"
    assert (await ask(opened, question)).answers is Fit.YES
    opened.session.model.rival = -1.0
    assert (await ask(opened, question)).answers is Fit.DOUBTFUL


async def test_a_few_passages_answer_no_question_for_a_list_beyond_doubt(journal):
    opened = await begin_quoting(journal, "club", "the club")
    await append(opened, "The fee is due in May. All students pay £40.", source="rules", at="2026-01-05")
    assert (await ask(opened, "What do students pay?")).answers is Fit.YES
    assert (await ask(opened, "What do all students pay? List every one.")).answers is not Fit.YES


TALK = (
    ("Ilse: My doctor is called Vix.\nDorian: The weather turns.\n", "session 1"),
    ("Dorian: By the way, my doctor is called Naicksteand.\nIlse: I have been thinking about it.\n", "session 2"),
    ("Dorian: My doctor is called Orm now.\nIlse: That is how it goes.\n", "session 3"),
)


@pytest.mark.parametrize("forgets", [False, True])
async def test_a_model_that_quotes_says_that_what_was_forgotten_is_not_there(journal, forgets):
    opened = await begin_quoting(journal, "talk", "what they say")
    for text, source in TALK:
        await append(opened, text, source=source)
    if forgets:
        await forget(opened, source="session 1")
    answer = await ask(opened, "What is the name of Ilse's doctor?")
    if forgets:
        assert (answer.answer, answer.verdict) == ("The document does not say.", Verdict.ABSENT)
    else:
        assert "Vix" in answer.answer
    assert "Orm" in (await ask(opened, "What is the name of Dorian's doctor?")).answer


async def test_a_chinese_thing_of_one_sign_is_told_anew(journal):
    opened = await begin_quoting(journal, "talk", "他们说的一切")
    await append(opened, "景行：告诉你，我的船叫银溪。\n若兰：大家都这么说。\n", source="1", at="2026-01-05")
    await append(opened, "若兰：这天气说变就变。\n景行：我换了船，这回的叫寒江。\n", source="2", at="2026-02-02")
    assert "寒江" in (await ask(opened, "景行的船叫什么名字？")).answer
    await forget(opened, source="1")
    await forget(opened, source="2")
    await append(opened, "景行：我换了马，这回的叫红海。\n若兰：大家都这么说。\n", source="3", at="2026-03-02")
    assert "红海" not in (await ask(opened, "景行的船叫什么名字？")).answer


async def test_a_chinese_thing_of_two_signs_is_no_thing_of_one(journal):
    opened = await begin_quoting(journal, "talk", "他们说的一切")
    await append(opened, "景行：我的电话是五五七一。\n若兰：大家都这么说。\n", source="1", at="2026-01-05")
    await append(opened, "景行：我住在柳谷。\n若兰：大家都这么说。\n", source="2", at="2026-02-02")
    assert "五五七一" in (await ask(opened, "景行的电话是什么？")).answer
    await forget(opened, source="1")
    await forget(opened, source="2")
    other = "景行：我这话当真，马叫红海。\n若兰：大家都这么说。\n景行：我到底记住了，马叫红海。\n"
    await append(opened, other, source="3", at="2026-03-02")
    for question in ("景行的电话是什么？", "景行住在哪里？"):
        assert (await ask(opened, question)).verdict is Verdict.ABSENT


async def test_a_chinese_place_is_known_by_where_one_goes(journal):
    opened = await begin_quoting(journal, "class", "家长群里的事")
    await append(opened, "春游去白鹿坡。", source="1", at="2026-01-05")
    await append(opened, "春游改去云溪谷。", source="2", at="2026-02-02")
    assert "云溪谷" in (await ask(opened, "春游去哪里？")).answer


async def test_an_older_value_is_in_doubt_where_a_newer_text_tells_of_a_change(journal, monkeypatch):
    opened, question = await begin_quoting(journal, "harbour", "its fees"), "How much is the fee for visitors?"
    told, later = "The fee for visitors is 14 crowns.", "The council changed the fee, as Bo told Cy."
    await append(opened, told, source="mail-1", at="2031-05-03")
    sure = await ask(opened, question)
    await append(opened, later, source="mail-2", at="2031-05-09")
    monkeypatch.setattr(asking, "list_newest", lambda *_: [later, told])
    answer = await ask(opened, question)
    assert (sure.answer, answer.answer) == (told, told)
    assert (sure.answers, answer.answers) == (Fit.YES, Fit.DOUBTFUL)
    assert [quote.quote for quote in answer.newer] == [later]


async def test_a_correction_beside_the_words_that_it_corrects_holds(journal):
    opened = await begin_quoting(journal, "yard", "the vet")
    told = "The next routine visit is Tuesday 11 February, for vaccinations of Juno."
    await append(opened, told, source="vet", at="2025-01-22")
    await edit(opened, "the vet is coming on Tuesday for the jabs", "the vet is coming on Thursday for the jabs")
    document = PassageDocument(rank_passages(opened, VET, opened.newest(), None), has_headers=False)
    joined = f"the vet is coming on Thursday for the jabs … {told}"
    assert list_newest(joined, VET, document) == ["the vet is coming on Thursday for the jabs"]
    answer = asking._choose_newest(opened, "on Thursday", joined, VET, opened.newest(), document)
    assert answer is not None
    assert answer.answer == "on Thursday"


async def test_a_label_that_shares_a_word_with_the_question_names_nobody(journal):
    opened = await begin_quoting(journal, "flat", "装修")
    await append(opened, "橱柜店小曾：28号装不了，改到5月6日，抱歉！\n", source="wx-1", at="2024-04-25")
    answer = await ask(opened, "橱柜哪天来装？")
    assert "5月6日" in answer.answer


async def test_the_title_of_a_mail_is_no_answer(journal):
    opened = await begin_quoting(journal, "roof", "the roof")
    await append(opened, "The asbestos flag of the boiler house is AMBER.", source="a", at="2026-01-05")
    mail = "From: Ada Quill\nDate: Mon, 2 Feb 2026\nSubject: Re: asbestos flag of the boiler house\n\nThanks, noted."
    await append(opened, mail, source="b", at="2026-02-02")
    answer = await ask(opened, "What is the asbestos flag of the boiler house?")
    assert "AMBER" in answer.answer


async def test_a_sentence_that_only_asks_is_no_answer(journal):
    opened = await begin_quoting(journal, "roof", "the roof")
    await append(
        opened, "Ada: Has Cleo got the key of the boiler house?\nBo: The weather turns.\n", source="a", at="2026-01-05"
    )
    answer = await ask(opened, "Who has the key of the boiler house?")
    assert (answer.answer, answer.verdict) == ("The document does not say.", Verdict.ABSENT)
    answer = await ask(opened, "What did Ada ask about the key of the boiler house?")
    assert "Has Cleo got the key" in answer.answer


async def test_what_is_left_of_a_sentence_of_which_words_were_forgotten_answers_by_its_form_alone(journal):
    opened = await begin_quoting(journal, "practice", "the practice")
    await append(opened, "Rosa Tamm was told the door code 7719-QX.", source="a", at="2026-01-05")
    assert "7719-QX" in (await ask(opened, "What is the door code?")).answer
    await forget(opened, text="7719-QX")
    assert (await ask(opened, "What is the door code?")).verdict is Verdict.ABSENT
    assert "Rosa Tamm" in (await ask(opened, "Who was told the door code?")).answer


async def test_what_is_left_of_a_chinese_sentence_is_no_answer(journal):
    opened = await begin_quoting(journal, "gate", "大门的事")
    await append(opened, "大门的密码是七七。", source="a", at="2026-01-05")
    assert "七七" in (await ask(opened, "大门的密码是什么？")).answer
    await forget(opened, text="七七")
    assert (await ask(opened, "大门的密码是什么？")).verdict is Verdict.ABSENT


async def test_blanks_alone_are_nothing_forgotten(journal):
    opened = await begin_quoting(journal, "practice", "the practice")
    await append(opened, "The door code is   7719-QX.", source="a", at="2026-01-05")
    assert "7719-QX" in (await ask(opened, "What is the door code?")).answer
    await append(opened, "Rosa Tamm was told the gate word Heron.", source="b", at="2026-01-06")
    await forget(opened, text="Heron")
    assert "7719-QX" in (await ask(opened, "What is the door code?")).answer


async def test_a_value_behind_a_label_is_newest(journal):
    opened = await begin_quoting(journal, "choir", "the choir")
    await append(
        opened, "The concert is on 3 May 2026 in the old town hall, doors at seven.", source="a", at="2026-01-05"
    )
    await append(opened, "Concert: 14 June 2026.", source="b", at="2026-02-02")
    assert "14 June" in (await ask(opened, "When is the concert?")).answer
