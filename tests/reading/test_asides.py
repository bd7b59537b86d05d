"""What a reply says of the reading neither wipes a memory nor enters it; what it says of the document is never lost."""

from __future__ import annotations

from time import process_time

import pytest

from bookwheel.flags import Flag
from bookwheel.reading.asides import Scene, Stance
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
    scene = Scene(memory=notes, section=section, question=question, unchanged=word)
    memory, flags = next_memory(before, Reply(text=reply), WORDS, scene)
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
    "I cannot find a harbour master in this section, but the pier was tarred twice.",
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
    reply = f"{NOTES}\nBo Lind was paid 65 crowns."
    assert write(f"Memory (unchanged, and one line more):\n{reply}") == (reply, ())
    assert write(f"UNCHANGED\n\n1. {NOTES}")[0] == NOTES


def test_an_addition_that_finds_no_room_is_told() -> None:
    text, flags = write("UNCHANGED, except that Bo Lind was paid 65 crowns.", limit=WORDS.count(NOTES) + 2)
    assert text == NOTES
    assert {Flag.ADDED, Flag.TRIMMED} <= set(flags)


def test_what_a_section_says_is_the_first_memory() -> None:
    assert write("This section says that Bo Lind was paid 65 crowns.", "")[0].endswith("65 crowns.")
    assert write("UNCHANGED, as this section has nothing on the fee.", "")[0] == ""


@pytest.mark.parametrize(
    ("memory", "sentence", "stance"),
    [
        ("", "The rest is not refundable.", Stance.REWRITE),
        ("The keyboard can be changed.", "The memory of the device is not replaceable.", Stance.ADDITION),
        ("The keyboard can be changed.", "The rest of the memory is not relevant.", Stance.REMARK),
    ],
)
def test_what_the_section_says_of_a_memory_or_a_rest_is_told(memory, sentence, stance):
    section = "The memory of the device is not replaceable by the user. The rest is not refundable."
    scene = Scene(memory=memory, section=section, question="What can be changed?", unchanged="UNCHANGED")
    assert scene.read(sentence)[0] is stance


LINES = "- Rent 900\n- Deposit 1800\n- Start 1 May"
GARDENS = "The lease mentions only gardens. The gardens are kept by the owner, but the tenant pays for water."


@pytest.mark.parametrize(
    ("reply", "added"),
    [
        ("The rent question is not addressed here.", ""),
        ("Nothing about rent. The lease mentions only gardens.", "The lease mentions only gardens."),
        ("I cannot find the rent in this section, but the tenant pays for water.", "the tenant pays for water."),
        ("Die Miete wird hier nicht behandelt.", "Die Miete wird hier nicht behandelt."),
        ("As an AI, I cannot continue.\nSorry.", ""),
        ("Keine neuen Informationen in diesem Abschnitt.", ""),
        ("The document does not mention it.", ""),
    ],
)
def test_what_takes_no_line_of_the_memory_over_wipes_none(reply: str, added: str) -> None:
    scene = Scene(memory=LINES, section=GARDENS, question="What is the rent?", unchanged="UNCHANGED")
    assert scene.read(reply) == ((Stance.ADDITION, f"{LINES}\n{added}") if added else (Stance.REMARK, ""))


TERMS = Scene(
    memory="- The lessee is Ada Quill.\n- The rent is forty crowns.",
    section="By agreement the rent rises to fifty crowns and all other terms stay unchanged. The lessee may keep a dog.",
    question="What is the rent?",
    unchanged="UNCHANGED",
)
TERMS_ZH = Scene(
    memory="- 承租人是张明。\n- 租金四十元。",
    section="租金改为五十元,其他条款不变。承租人不得转租。",
    question="租金多少?",
    unchanged="不变",
)


@pytest.mark.parametrize(
    ("scene", "reply", "told"),
    [
        (TERMS, "The lessee is Ada Quill. The rent rises to fifty crowns, everything else is unchanged.", "fifty"),
        (TERMS, "- The lessee is Ada Quill.\n- The rent rises to fifty crowns, the rest UNCHANGED.", "fifty"),
        (TERMS, "The lessee may keep a dog. The rent is fifty crowns, the rest is unchanged.", "fifty"),
        (TERMS, "UNCHANGED. The lessee may keep a dog.", "dog"),
        (TERMS, "UNCHANGED\n- The rent rises to fifty crowns.", "fifty"),
        (TERMS_ZH, "- 承租人是张明,不得转租。\n- 租金改为五十元,其他条款不变。", "五十元"),
        (TERMS_ZH, "承租人张明;租金五十元;不得转租;其他不变", "五十元"),
        (TERMS_ZH, "不变\n- 租金改为五十元", "五十元"),
    ],
)
def test_a_new_value_beside_a_word_for_the_rest_is_told(scene: Scene, reply: str, told: str) -> None:
    stance, text = scene.read(reply)
    assert stance in {Stance.ADDITION, Stance.REWRITE}
    assert told in text
    assert ("Ada Quill" if scene is TERMS else "张明") in text


def test_the_rest_of_a_sum_is_no_remark() -> None:
    for scene, reply in (
        (TERMS, "- Bo Fell pays the boats, the guild the rest.\n- A dog may be kept."),
        (TERMS_ZH, "- 李波付船租,其他费用由行会承担。\n- 不得转租。"),
    ):
        assert scene.read(reply) == (Stance.REWRITE, reply)


@pytest.mark.parametrize("heading", ["Memory:", "**Memory**", "## My notes:", "**Updated memory:**", "记忆:"])
def test_a_heading_of_the_memory_is_no_part_of_it(heading: str) -> None:
    assert write(f"{heading}\n\nBo Lind, 65 crowns.", NOTES) == ("Bo Lind, 65 crowns.", ())
    assert write("Memory: 16 GB", "")[0] == "Memory: 16 GB"


def test_a_reply_that_goes_on_from_the_memory_is_not_compared_with_the_section() -> None:
    scene = Scene(memory=LINES, section=GARDENS, question="What is the rent?", unchanged="UNCHANGED")
    assert scene.read("- Deposit 1800, paid\n- Start in June")[0] is Stance.REWRITE
    assert "_section_keys" not in vars(scene)


@pytest.mark.parametrize("words", ["memory ", "everything else ", "the rest ", "other a stays ", "keep the ", "其他"])
def test_a_reply_that_repeats_itself_is_read_in_time_that_grows_with_its_length(words: str) -> None:
    scene = Scene(memory=LINES, section=GARDENS, question="What is the rent?", unchanged="UNCHANGED")
    began = process_time()
    scene.read(words * (40_000 // len(words)))
    assert process_time() - began < 4
