"""What a reply of a large model makes of a memory of several lines, where it speaks of the reading beside."""

from __future__ import annotations

import pytest

from bookwheel.reading.asides import Scene, Stance

KALLAS = Scene(
    memory=(
        "- Deposit: 400 euros paid on 3 March 2026 to Kallas Computers, Tartu; balance 2,350 euros, due on delivery.\n"
        "- Fourteen used machines, 8 GB of memory and a 256 GB disk each; delivery promised for the week of 6 April.\n"
        "- Contact at Kallas: Ms Odile Brandt (odile@kallas.example)."
    ),
    section=(
        "Kallas wrote on 7 April: the balance is 2,530 euros, not 2,350; two digits were turned. The disks have 512 GB. They "
        "cannot deliver before 4 May. Mr Juhan Ilves is the contact from 1 May. The memory of the fourteen machines stays at "
        "8 GB each. The rest of the deposit is not refundable after 15 April. The roof of the shed leaks above the door. "
        "The summer party is on 13 June. There was no change of the price."
    ),
    question="What was ordered, from whom, and what is still to be paid?",
    unchanged="UNCHANGED",
)
PUT_RIGHT = (
    "- Deposit: 400 euros paid on 3 March 2026 to Kallas Computers, Tartu; balance 2,530 euros (2,350 was wrong), due on delivery.\n"
    "- Fourteen used machines, 8 GB of memory and a 512 GB disk each; delivery not before 4 May.\n"
    "- Contact at Kallas: Mr Juhan Ilves from 1 May (before: Ms Odile Brandt)."
)
NOVEL = Scene(
    memory="- 顾守业是顾长风二叔，光绪二十七年离家，带走祖传青花缠枝莲梅瓶。\n- 福伯记得顾守业最怕火。",
    section="顾长风看后说这是假的，真的瓶底有一处缩釉点。宋鹤年欠顾家三百两银子，约定端午还清。",
    question="顾长青到底是谁？真的梅瓶在谁手里？",
    unchanged="不变",
)
NOVEL_NEW = (
    "- 顾守业是顾长风二叔，光绪二十七年离家，带走祖传青花缠枝莲梅瓶。\n- 福伯记得顾守业最怕火。\n"
    "- 顾长风看后说这是假的；真的瓶底有一处缩釉点。\n- 宋鹤年欠顾家三百两，约定端午还清。"
)


@pytest.mark.parametrize(
    "reply",
    [
        f"{PUT_RIGHT}\nThe rest of the memory is unchanged.",
        f"{PUT_RIGHT}\nUNCHANGED",
        f"{PUT_RIGHT}\n- UNCHANGED: the other terms of the order.",
        f"Here is the updated memory:\n\n{PUT_RIGHT}",
        f"{PUT_RIGHT}\n\n(No other changes to the memory.)",
        f"Updated memory, with what this section changes:\n{PUT_RIGHT}\nLet me know if you need anything else.",
    ],
)
def test_a_whole_rewriting_is_the_memory_without_its_remark(reply: str) -> None:
    assert KALLAS.read(reply) == (Stance.REWRITE, PUT_RIGHT)


@pytest.mark.parametrize(
    ("lead", "end"),
    [
        ("好的，以下是更新后的记忆：\n\n", ""),
        ("根据本节内容，更新后的记忆如下：\n", ""),
        ("", "\n（以上为更新后的记忆，约200字。）"),
        ("**新记忆：**\n", ""),
    ],
)
def test_what_frames_a_rewriting_is_no_part_of_it(lead: str, end: str) -> None:
    assert NOVEL.read(f"{lead}{NOVEL_NEW}{end}") == (Stance.REWRITE, NOVEL_NEW)
    assert Scene(section=NOVEL.section, unchanged="不变").read(f"{lead}{NOVEL_NEW}{end}") == (Stance.REWRITE, NOVEL_NEW)


@pytest.mark.parametrize(
    "reply",
    [
        "Unchanged because this part is about the roof of the shed.",
        "unchanged because the section only says that the shed roof leaks above the door",
        "Unchanged since nothing here concerns Kallas.",
        "The memory stays the same as before, since this section only discusses the shed and the summer party.",
        "I have nothing to add.",
        "Keine Änderung.",
        "UNVERÄNDERT, da der Abschnitt nur von Kallas und vom Dach handelt.",
        "Keine neuen Informationen zu Kallas.",
        "- Deposit 400 euros (unchanged)\n- Contact (unchanged)\n- Machines (unchanged)",
    ],
)
def test_a_reason_for_keeping_wipes_no_memory_and_enters_none(reply: str) -> None:
    assert KALLAS.read(reply)[0] in {Stance.REMARK, Stance.UNCHANGED}


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (
            "Memory of the machines: stays at 8 GB. Everything else as before.",
            ["Memory of the machines: stays at 8 GB"],
        ),
        ("There was no change of the price: 2,530 euros was meant from the beginning.", ["change of the price: 2,530"]),
        ("Keep all lines. New line: the rest of the deposit is not refundable after 15 April.", ["15 April"]),
        ("Add: Mr Juhan Ilves is the contact from 1 May. Keep the rest.", ["Juhan Ilves is the contact from 1 May"]),
        ("- (lines 1 and 2 as before)\n- Contact at Kallas from 1 May: Mr Juhan Ilves", ["from 1 May: Mr Juhan Ilves"]),
        ("...\n- Contact at Kallas: Mr Juhan Ilves from 1 May", ["Mr Juhan Ilves from 1 May"]),
        ("The other terms stay unchanged; Mr Juhan Ilves writes from 1 May.", ["Juhan Ilves writes from 1 May"]),
        ("[previous notes unchanged]\n- Contact at Kallas: Mr Juhan Ilves from 1 May", ["Mr Juhan Ilves from 1 May"]),
        ("Memory unchanged, but disks are 512 GB.", ["disks are 512 GB"]),
        ("Unverändert, aber die Anzahlung bei Kallas betrug nur 390 Euro.", ["betrug nur 390 Euro"]),
        ("UNCHANGED except that the balance is 2,531 euros now, due on 12 May.", ["2,531 euros now, due on 12 May"]),
    ],
)
def test_a_part_of_the_memory_is_added_to_the_rest_of_it(reply: str, told: list[str]) -> None:
    stance, text = KALLAS.read(reply)
    assert stance is Stance.ADDITION
    assert all(one in text for one in (*told, "400 euros paid on 3 March", "256 GB"))


def test_a_line_that_is_said_anew_is_replaced_and_the_others_stay() -> None:
    line = PUT_RIGHT.splitlines()[0]
    stance, text = KALLAS.read(f"{line}\n(The other lines of the memory stay.)")
    assert (stance, text.splitlines()) == (Stance.ADDITION, [line, *KALLAS.memory.splitlines()[1:]])


def test_a_line_with_old_and_new_is_told_whole() -> None:
    line = "- Deposit: 400 euros paid on 3 March 2026 to Kallas Computers, Tartu; balance 2,530 euros."
    stance, text = KALLAS.read(f"{line}\n- UNCHANGED: the machines.")
    assert (stance, text.splitlines()) == (Stance.ADDITION, [line, *KALLAS.memory.splitlines()[1:]])


def test_what_tells_something_is_a_first_memory_though_every_part_of_it_speaks_of_the_reading() -> None:
    section = "The keeper wrote down names and numbers, dates and wording, exactly as they stand in the register."
    scene = Scene(section=section, question="Who came?", unchanged="UNCHANGED")
    reply = "Write the memory anew: add what this section contributes (names, numbers, dates and wording)."
    assert scene.read(reply)[0] is Stance.REWRITE
    assert "names, numbers, dates and wording" in scene.read(reply)[1]
