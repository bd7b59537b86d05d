"""What a reply says of the reading neither wipes a memory nor enters it; what it says of the document is never lost."""

from __future__ import annotations

import pytest

from bookwheel.flags import Flag
from bookwheel.reading.guards import next_memory
from bookwheel.text.tokens import WordTokenizer
from bookwheel.types import Memory, Reply

WORDS = WordTokenizer()
NOTES = "Ada Quill was harbour master from 1911; her fee was 40 crowns a month."
SECTION = (
    "The lamp at Skarholm burned colza oil until Bo Lind put in gas on 9 May 1924. He had been paid 65 crowns. The gulls "
    "were many that spring, and the pier was tarred twice. No pilot was drowned."
)
QUESTION = "Who was harbour master, and for what fee?"
NOTES_ZH = "码头商户二十三家,暂迁至东市场。"
SECTION_ZH = "施工时间为每日7时至18时。陈浩经营海风咖啡店,面积60平方米。违反者处罚款五千元,商户总数后经核实为25家。"
QUESTION_ZH = "码头商户有多少家?"


def write(reply: str, notes: str | None = None, limit: int = 400) -> tuple[str, tuple[Flag, ...]]:
    is_chinese = any("\u4e00" <= letter <= "\u9fff" for letter in reply)
    notes = (NOTES_ZH if is_chinese else NOTES) if notes is None else notes
    before = Memory(text=notes, tokens=WORDS.count(notes), limit=limit)
    section, question = (SECTION_ZH, QUESTION_ZH) if is_chinese else (SECTION, QUESTION)
    word = "不变" if is_chinese else "UNCHANGED"
    memory, flags = next_memory(before, Reply(text=reply), WORDS, word, question=question, section=section)
    return memory.text, flags


# Replies of a capable model that wiped a memory.
SEEN = [
    "UNCHANGED – the section has nothing on the price of the boat.",
    "UNCHANGED - no mention of insurance in this section.",
    "不变(本节没有商户总数的新线索)",
    "I don't see any relevant information in this section.",
    "This section does not contribute anything to the question. UNCHANGED",
    "Memory: unchanged",
    "No new information; keep the old memory.",
    "UNCHANGED. This section contains nothing about the call.",
    "\\boxed{UNCHANGED}",
    "Sure! Here is what changes:\n\nUNCHANGED",
]
REMARKS = [
    "I'll leave the memory as it is.",
    "Since this section contributes nothing to the question, the memory remains unchanged.",
    "The provided text neither names a harbour master nor gives a fee.",
    "UNCHANGED because the section is only about the lamp.",
    "Unchanged.",
    "The section does not contain information relevant to the question about the harbour master.",
    "Dieser Abschnitt enthält nichts zur Hafenmeisterin. UNCHANGED",
    "**UNCHANGED**\n\nReason: the section talks about the lamp and the pier.",
    "Keep existing memory.",
    "Memory remains the same as before.",
    '"UNCHANGED" - nothing on fees.',
    "Nothing to update: the text only describes a lamp.",
    "I did not find anything about the harbour master here, so the memory is kept.",
    "No changes to the memory are needed.",
    "There is nothing in this section about the fee.",
    "New memory: UNCHANGED",
    "This passage does not mention a harbour master.",
    "The word is: UNCHANGED",
    "The current section has no information regarding the fee.",
    "UNCHANGED: no harbour master is named in it.",
    "The section is irrelevant to the question.",
    "UNCHANGED (the passage deals with lighting and paint)",
    "```\nUNCHANGED\n```",
    "无新信息,保留原有记忆。",
    "**不变**",
    "本节没有提到商户数量,记忆保持不变。",
    "本节内容没有涉及商户总数,因此不变",
    "不变。本节只讲施工时间。",
    "本节与问题无关。",
    "记忆不变",
]
ADDITIONS = [
    "The section adds that Bo Lind put in gas on 9 May 1924. The rest of the memory is unchanged.",
    "Everything else stays; new: the fee of Bo Lind was 65 crowns.",
    "The section states that no pilot was drowned.",
    "No new harbour master; however, Bo Lind received 65 crowns (9 May 1924). UNCHANGED otherwise.",
    "In this section no harbour master is named, but Bo Lind was paid 65 crowns.",
    "This section says that Bo Lind had been paid 65 crowns.",
    "UNCHANGED, except that Bo Lind was paid 65 crowns.",
    "Add to the memory: Bo Lind was paid 65 crowns for the gas.",
    "Memory unchanged, but note: Bo Lind was paid 65 crowns on 9 May 1924.",
    "本节补充:商户总数后经核实为25家。其余不变。",
    "不变,但商户总数核实为25家。",
]
REWRITES = [
    "The text of the inscription reads: 1924.",
    "Ada Quill (1911, 40 crowns a month). The rest of the memory was of no use and is dropped.",
    "Superseded: the earlier note on Ada Quill was about another port. Master at Skarholm: Bo Lind.",
    "Unchanged fees were paid to Bo Lind in 1924.",
    "- Ada Quill, harbour master from 1911, 40 crowns\n- this section: Bo Lind put in gas, 9 May 1924",
    "No pilot was drowned.",
    "The fee was not 40 but 65 crowns.",
    "Harbour master from 1911: Ada Quill, 40 crowns a month.\nBo Lind: 65 crowns (1924). Nothing yet on whether he was master.",
    "Here is the updated memory:\nBo Lind, 65 crowns, 9 May 1924.",
    "The rent remains unchanged until 2031.",
    "The memorial of Ada Quill stands on the pier.",
    "Section 4 of the by-laws: the fee is 65 crowns.",
    "Bo Lind was paid 65 crowns for putting in gas on 9 May 1924.",
    "Nothing but the pier was tarred.",
    "Lamp: colza oil, later gas (9 May 1924). Fee unknown.",
    "The gulls were many.",
    "Notes on the lamp: colza oil, then gas.",
    "Same lamp, other oil: colza until 9 May 1924.",
    "None of the pilots was drowned.",
    "No new lamp was bought before 1924; the old one stayed.",
    "价格不变,商户25家。",
    "商户总数核实为25家。",
    "违反者处罚款五千元;施工7时至18时。",
    "第三条改为25家。码头商户二十三家暂迁至东市场。",
]


@pytest.mark.parametrize("reply", SEEN + REMARKS)
def test_a_remark_on_the_reading_keeps_the_memory(reply: str) -> None:
    text, flags = write(reply)
    assert text in (NOTES, NOTES_ZH)
    assert set(flags) & {Flag.UNCHANGED, Flag.KEPT_COMMENT}


@pytest.mark.parametrize("reply", ADDITIONS)
def test_what_is_told_beside_a_remark_is_added_below_the_memory(reply: str) -> None:
    text, flags = write(reply)
    first, *added = text.splitlines()
    assert first in (NOTES, NOTES_ZH)
    assert added
    assert Flag.ADDED in flags


def test_no_more_than_the_new_fact_is_added() -> None:
    reply = "The section adds that Bo Lind was paid 65 crowns; otherwise the memory remains unchanged."
    assert write(reply)[0] == f"{NOTES}\nThe section adds that Bo Lind was paid 65 crowns"
    assert write(reply, write(reply)[0])[0] == write(reply)[0]


@pytest.mark.parametrize("reply", REWRITES)
def test_a_rewriting_replaces_the_memory_whatever_it_drops(reply: str) -> None:
    text, flags = write(reply)
    assert text == reply.removeprefix("Here is the updated memory:\n")
    assert flags == ()


def test_a_memory_that_is_restated_whole_is_no_addition() -> None:
    reply = f"Memory (unchanged, and one line more):\n{NOTES}\nBo Lind was paid 65 crowns."
    assert write(reply) == (reply, ())
    assert write(f"UNCHANGED\n\n1. {NOTES}")[0] == NOTES


def test_an_addition_that_finds_no_room_is_told() -> None:
    text, flags = write("UNCHANGED, except that Bo Lind was paid 65 crowns.", limit=WORDS.count(NOTES) + 2)
    assert text == NOTES
    assert {Flag.ADDED, Flag.TRIMMED} <= set(flags)


def test_what_a_section_says_is_the_first_memory() -> None:
    assert write("This section says that Bo Lind was paid 65 crowns.", "")[0].endswith("65 crowns.")
    assert write("UNCHANGED, as this section has nothing on the fee.", "")[0] == ""
