"""What a reply is to the memory before it, in four settings as models of several families reply."""

from __future__ import annotations

import pytest

from bookwheel.reading.asides import Scene, Stance

LEASE = Scene(
    memory="1. Rent: 2,300 euros a month from 1 May 2025 (clause 4).\n2. Deposit: three months' rent, paid to Kaya Lindholm.\n3. Tenant may not keep dogs.",
    section="12. Heating is by district heat; the meter stands in room 014. The landlord, Orsolya Vanek, reads it each January. Clause 4 is replaced: the rent is 2,150 euros from 1 July 2026. Subletting needs consent.",
    question="What does the tenant pay, and to whom?",
    unchanged="UNCHANGED",
)


HARBOUR = Scene(
    memory="- Berth 4 is reserved for the tug Halma until 30 June 2029 (harbour order 17).\n- Dues: 88 crowns a night, 61 in winter.\n- Water is free, power 0.4 crowns a kilowatt-hour.",
    section="Order 23 of 2 March 2028: berth 4 is given to the pilot boat Rask; the tug moves to berth 9. Dues rise to 94 crowns a night. Dogs are kept on a lead. The crane is out of order and no lifting is done before May.",
    question="Which vessel may lie at berth 4, and what does it pay?",
    unchanged="UNCHANGED",
)


INSURANCE = Scene(
    memory="- Premium 410 a year (Nordlicht, offer of 21 June 2026)\n- Hansa: 365 a year, excess 500\n- Marta signs for all four",
    section="[2026-06-29] Marta: I did not sign with Nordlicht after all, they want a survey. [2026-07-01] Marta: Signed with Hansa yesterday, 372 with the trailer. [2026-07-02] Tom: The varnish is dry. [2026-07-03] Li: Heron again.",
    question="What does the insurance cost, and with whom?",
    unchanged="UNCHANGED",
)


DEBT = Scene(
    memory="老王欠小李三百元,约定四月还清。小李已收到一百元。",
    section="[5月2日] 老王:今天转了两百,清了。[5月3日] 小李:收到,谢谢。[5月4日] 张姐:周末去不去江边?[5月5日] 老王:不去,加班。",
    question="老王还欠小李多少钱?",
    unchanged="不变",
)


STANCES = {
    "keep": {Stance.REMARK, Stance.UNCHANGED},
    "add": {Stance.ADDITION},
    "replace": {Stance.REWRITE},
}


OF_LEASE = [
    ("keep", "Unchanged (only heating is dealt with)."),
    ("keep", "I would leave the notes as they are."),
    ("keep", "The notes remain valid as they stand."),
    ("keep", "This section deals with heating and does not bear on the question."),
    ("keep", "Nothing in this section affects what the tenant pays."),
    ("keep", "None of the information in this section is relevant."),
    ("keep", "(unchanged)"),
    ("keep", "Answer: UNCHANGED"),
    ("keep", "UNCHANGED.\n\nThe section covers heating, which the question does not ask about."),
    ("keep", "No, the section contributes nothing."),
    ("keep", "The memory need not be changed."),
    ("keep", "I have reviewed the section. It has no relevant facts. UNCHANGED"),
    ("keep", "Updated memory: unchanged"),
    ("keep", "Since there is no new information about payments, I will keep the memory the same."),
    ("keep", "The section does not provide any details about payments or recipients."),
    ("keep", "> UNCHANGED"),
    ("keep", "This section contains no payment terms, so there is nothing to add to the memory."),
    ("keep", "*UNCHANGED* — heating only."),
    ("keep", "Die Notizen bleiben unverändert."),
    ("keep", "Memory stays."),
    ("add", "The section changes clause 4: the rent is 2,150 euros from 1 July 2026."),
    ("add", "UNCHANGED apart from the rent: 2,150 euros from 1 July 2026."),
    ("add", "Keep the memory. Add: rent 2,150 euros from 1 July 2026."),
    ("add", "All other notes remain. New rent: 2,150 euros from 1 July 2026 (clause 4 replaced)."),
    ("add", "The passage says the meter is read by Orsolya Vanek each January."),
    ("add", "In addition to the existing memory: Orsolya Vanek is the landlord."),
    ("replace", "Rent 2,150 euros from 1 July 2026 (before: 2,300). Deposit: three months' rent, to Kaya Lindholm."),
    (
        "replace",
        "1. Rent: 2,150 euros from 1 July 2026 (clause 4 replaced).\n2. Deposit: three months' rent, paid to Kaya Lindholm.\n3. Landlord: Orsolya Vanek.",
    ),
    ("replace", "The tenant pays 2,150 euros."),
    ("replace", "The landlord is Orsolya Vanek."),
    ("replace", "No deposit is due after 2026."),
    ("replace", "Subletting needs consent; nothing is paid for it."),
    ("replace", "Rent: 2,150 euros, unchanged since 1 July 2026."),
    ("replace", "The deposit remains with Kaya Lindholm; the rent is 2,150 euros."),
    ("replace", "Heating: district heat, meter in room 014, read in January."),
    ("replace", "Nothing further is owed to Kaya Lindholm."),
    ("replace", "Clause 4 now: 2,150 euros from 1 July 2026. The earlier 2,300 euros no longer hold."),
]


OF_HARBOUR = [
    ("keep", "My notes stand."),
    ("keep", "I will not change the memory."),
    ("keep", "Existing notes are kept."),
    ("keep", "No relevant update."),
    ("keep", "The excerpt gives no information on berth 4."),
    ("keep", "Nothing relevant in this chunk, so memory stays unchanged."),
    ("keep", "unchanged, since this part concerns dogs"),
    ("keep", "The given section contains rules for dogs, which are not relevant to the question."),
    ("keep", "Result: UNCHANGED."),
    ("keep", "The content of this section is unrelated to berth 4 or its dues."),
    ("keep", "Not applicable - the section is about the crane."),
    ("keep", "As the section adds no facts, the previous memory is retained."),
    ("add", "The section reports that berth 4 is given to the pilot boat Rask (order 23, 2 March 2028)."),
    ("add", "Existing memory kept. New: order 23 gives berth 4 to the pilot boat Rask."),
    ("add", "UNCHANGED but add: dues rise to 94 crowns a night."),
    ("add", "The section says that no lifting is done before May."),
    ("add", "To the memory I add: the tug moves to berth 9."),
    ("replace", "Berth 4: pilot boat Rask (order 23, 2 March 2028), 94 crowns a night."),
    (
        "replace",
        "- Berth 4: Rask, a pilot boat, since order 23 of 2 March 2028; before that the tug Halma (order 17)\n- Dues 94 crowns a night (88 before, 61 in winter)",
    ),
    ("replace", "The crane is out of order."),
    ("replace", "No lifting before May."),
    ("replace", "Order 17 no longer holds. Rask lies at berth 4."),
    ("replace", "Dues: 94 crowns. Winter dues are not mentioned any more."),
    ("replace", "The tug Halma keeps berth 9; the winter section of the quay is closed."),
    ("replace", "Nothing is paid for water."),
    ("replace", "- dogs on a lead\n- crane out of order"),
]


OF_INSURANCE = [
    ("keep", "The section consists of chat messages about varnish. It adds nothing.\n\nUNCHANGED"),
    ("keep", "Memory:\nUNCHANGED"),
    ("keep", "no changes"),
    ("keep", "Final memory: (unchanged)"),
    ("keep", "The section has no details on cost or insurer; the existing notes are still accurate and complete."),
    ("add", "The existing notes are still valid, with one addition: signed with Hansa, 372 with the trailer."),
    ("add", "Only one change: Hansa costs 372 with the trailer (signed 30 June); keep the rest of the memory as is."),
    ("add", "I found one relevant fact in this section: Marta did not sign with Nordlicht, they want a survey."),
    ("add", "The section confirms that Marta signed with Hansa."),
    (
        "replace",
        "- Hansa: 372 a year with the trailer, excess 500, signed 30 June 2026 by Marta\n- Nordlicht (410) was not signed: they want a survey",
    ),
    ("replace", "Hansa, 372 with the trailer."),
    ("replace", "Nordlicht wants a survey, so Marta did not sign there; Hansa it is."),
    ("replace", "Insurance: Hansa 372. Nordlicht: nothing signed, nothing paid."),
    ("replace", "The old offers no longer matter: Marta signed with Hansa, 372 with the trailer."),
]


OF_DEBT = [
    ("keep", "不变。"),
    ("keep", "本段聊天与欠款无关,记忆不变。"),
    ("keep", "没有新的相关信息。"),
    ("keep", "不变——这里只说了周末去江边。"),
    ("keep", "此节未提到欠款。"),
    ("keep", "保持不变"),
    ("keep", "记忆保持原样。"),
    ("keep", "(不变)"),
    ("keep", "该节没有提供与问题有关的内容。"),
    ("keep", "维持原记忆,无需更新。"),
    ("add", "本节说明老王5月2日转了两百元,其余不变。"),
    ("add", "记忆不变,补充:老王5月2日转了两百,清了。"),
    ("replace", "老王已于5月2日还清全部三百元。"),
    ("replace", "老王欠小李三百元,约定四月还清;小李先收到一百元,5月2日又收到两百元,已清。"),
    ("replace", "老王不再欠钱。"),
    ("replace", "小李5月3日收到两百元。"),
]


CASES = [(LEASE, OF_LEASE), (HARBOUR, OF_HARBOUR), (INSURANCE, OF_INSURANCE), (DEBT, OF_DEBT)]


@pytest.mark.parametrize(
    ("scene", "kind", "reply"),
    [(scene, *case) for scene, cases in CASES for case in cases],
)
def test_a_reply_is_taken_for_what_it_is_to_the_memory(scene: Scene, kind: str, reply: str) -> None:
    assert scene.read(reply)[0] in STANCES[kind]
