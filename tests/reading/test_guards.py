"""Memory is never wiped by an empty or evasive reply, and never exceeds its limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.flags import Flag
from bookwheel.reading.asides import Scene
from bookwheel.reading.guards import clean, is_empty, next_memory, trim
from bookwheel.text.tokens import WordTokenizer
from bookwheel.types import Finish, Memory, Reply

WORDS = WordTokenizer()
BEFORE = Memory(text="The lease ends in 2031.", tokens=6, limit=30)


def after(text: str, finish: Finish = Finish.STOP, unchanged: str = "UNCHANGED") -> tuple[Memory, tuple[Flag, ...]]:
    return next_memory(BEFORE, Reply(text=text, finish=finish), WORDS, Scene(memory=BEFORE.text, unchanged=unchanged))


@pytest.mark.parametrize(
    "text", ["", "   \n ", "...", "<|im_end|>", "```\n\n```", "<think>hmm</think>", "<think>never closed"]
)
def test_an_empty_reply_keeps_the_memory(text: str) -> None:
    memory, flags = after(text)
    assert memory == BEFORE
    assert Flag.KEPT_EMPTY in flags


@pytest.mark.parametrize(
    "text", ["UNCHANGED", "unchanged.", '"Unchanged"', "**UNCHANGED**", " UNCHANGED\n", "The memory remains unchanged."]
)
def test_the_one_word_for_unchanged_is_understood(text: str) -> None:
    assert after(text) == (BEFORE, (Flag.UNCHANGED,))


@pytest.mark.parametrize(
    "text",
    [
        "UNCHANGED. This section contains nothing about the call.",
        f"**UNCHANGED** — the section speaks of {'the paint of the weir and ' * 8}nothing that the question asks for.",
        "Unchanged (the section is about gulls).\n\nIt can be passed over.",
    ],
)
def test_a_remark_behind_the_word_for_unchanged_wipes_nothing(text: str) -> None:
    assert after(text) == (BEFORE, (Flag.UNCHANGED,))


def test_notes_behind_the_word_for_unchanged_are_notes() -> None:
    notes = f"{BEFORE.text}\nIt rained."
    assert after(f"UNCHANGED.\n{notes}")[0].text == notes
    blank = Memory.blank(BEFORE.limit)
    reply = Reply(text="UNCHANGED:\nAda signed.\nIt rained.")
    assert next_memory(blank, reply, WORDS, Scene(unchanged="UNCHANGED"))[0].text == "Ada signed.\nIt rained."
    assert after("Unchanged rents: 5 crowns a month.")[0].text == "Unchanged rents: 5 crowns a month."


def test_the_chinese_word_for_unchanged_is_understood() -> None:
    assert after("不变。", unchanged="不变") == (BEFORE, (Flag.UNCHANGED,))


@pytest.mark.parametrize(
    "text",
    [
        "No new information.",
        "There is no new information in this section.",
        "There is no relevant information about the question in this section.",
        "This section does not contain any relevant information.",
        "The section contains nothing relevant to the question.",
        "Nothing to add.",
        "Nothing new.",
        "No change needed.",
        "No update needed",
        "No relevant information found.",
        "No new information, the memory stays the same.",
        "N/A",
        "None.",
        "本节没有新信息。",
        "没有相关内容,记忆保持不变。",
        "无需更新。",
        "无",
    ],
)
def test_a_remark_that_nothing_is_new_keeps_the_memory(text: str) -> None:
    memory, flags = after(text)
    assert memory == BEFORE
    assert flags == (Flag.KEPT_COMMENT,)


@pytest.mark.parametrize(
    "text",
    ["I'm sorry, but I can't help with that.", "I cannot assist.", "抱歉,我无法回答。", "As an AI, I do not read."],
)
def test_a_refusal_keeps_the_memory(text: str) -> None:
    assert after(text) == (BEFORE, (Flag.KEPT_REFUSAL,))


@pytest.mark.parametrize(
    "text",
    [
        "No new tenants are allowed after 2031.",
        "Nothing was found in the wreck but a silver spoon.",
        "The none-such inn belongs to Ada Quill.",
        "Notes of the meeting: the harbour is closed.",
        "No. 7 Quay Street is the address.",
        "The section manager is not related to the owner.",
        "无锡的灯塔建于1871年。",
        "None of the five ships returned; the captain was Ada Quill.",
    ],
)
def test_a_fact_that_begins_like_a_remark_is_a_memory(text: str) -> None:
    memory, flags = after(text)
    assert memory.text == text
    assert flags == ()


def test_a_filtered_reply_keeps_the_memory() -> None:
    assert after("half a sen", Finish.FILTER) == (BEFORE, (Flag.FILTERED,))


def test_a_truncated_reply_is_taken_over_and_flagged() -> None:
    memory, flags = after("The rent is 9 crowns", Finish.LENGTH)
    assert (memory.text, flags) == ("The rent is 9 crowns", (Flag.TRUNCATED,))


def test_an_over_long_memory_is_cut_at_a_line_end_and_reported() -> None:
    memory, flags = after("\n".join(f"fact number {n} is here" for n in range(20)))
    assert flags == (Flag.TRIMMED,)
    assert memory.tokens == WORDS.count(memory.text) <= 30
    assert memory.text.splitlines()[-1] == "fact number 5 is here"


@pytest.mark.parametrize(
    "text",
    [
        "<memory>\nAda signed.\n</memory>",
        "Ada signed.<|im_end|>",
        "</section>Ada signed.",
        "<think>should I?</think>Ada signed.",
        "reasoning without its opening</think>Ada signed.",
        "<\uff5cend\u2581of\u2581sentence\uff5c>Ada signed.",
        "[INST]Ada signed.</s>",
    ],
)
def test_tags_and_special_tokens_are_stripped_and_reported(text: str) -> None:
    memory, flags = after(text)
    assert memory.text == "Ada signed."
    assert Flag.CLEANED in flags


@pytest.mark.parametrize(
    "text",
    ["New memory: Ada signed.", "**Updated memory:** Ada signed.", "新记忆:Ada signed.", "```text\nAda signed.\n```"],
)
def test_a_label_or_fence_around_the_memory_goes(text: str) -> None:
    assert after(text)[0].text == "Ada signed."


@given(text=st.text(max_size=300), limit=st.integers(1, 40))
def test_a_memory_never_exceeds_its_limit_whatever_the_reply(text: str, limit: int) -> None:
    before = Memory(text="x", tokens=1, limit=limit)
    memory, flags = next_memory(before, Reply(text=text), WORDS, Scene(memory="x", unchanged="UNCHANGED"))
    assert memory.tokens == WORDS.count(memory.text) <= limit
    assert memory.text
    assert memory == before or Flag.TRIMMED in flags or memory.text == clean(text)[0]


@given(text=st.text(max_size=300), limit=st.integers(1, 40))
def test_trimming_gives_a_prefix(text: str, limit: int) -> None:
    cut, tokens, trimmed = trim(text, limit, WORDS)
    assert text.startswith(cut)
    assert tokens == WORDS.count(cut) <= limit
    assert trimmed == (WORDS.count(text) > limit)


@pytest.mark.parametrize(
    ("text", "limit", "cut"),
    [
        ("a b\nc d e", 4, "a b"),
        ("a\nb c d", 2, "a"),
        ("\nb c d", 3, "\nb c"),
        ("a b c d", 3, "a b c"),
        ("a b\nc d e", 5, "a b\nc d e"),
    ],
)
def test_a_memory_is_cut_at_the_last_line_end_that_leaves_a_line(text: str, limit: int, cut: str) -> None:
    assert trim(text, limit, WORDS) == (cut, WORDS.count(cut), cut != text)


@pytest.mark.parametrize(
    ("text", "limit", "cut"),
    [
        ("总预算四千八百六十万元", 7, "总预算"),
        ("它长,总预算四千八百六十万元,其中市财政", 14, "它长,总预算四千八百六十万元"),
        ("The linkspan costs 6,500,000 euros", 3, "The linkspan costs"),
        ("The fee was paid. The linkspan costs more", 6, "The fee was paid."),
    ],
)
def test_no_cut_is_within_a_number_or_a_sentence_that_can_go(text: str, limit: int, cut: str) -> None:
    assert trim(text, limit, Letters() if limit > 6 else WORDS)[0] == cut


class Letters(WordTokenizer):
    """A tokenizer whose tokens are single characters."""

    def count(self, text: str) -> int:
        return len(text)

    def fit(self, text: str, limit: int) -> int:
        return min(limit, len(text))


def test_a_number_that_the_limit_broke_off_is_not_taken_over() -> None:
    assert after("The mill has 3 wheels, the linkspan costs 6,50", Finish.LENGTH)[0].text.endswith("costs")
    assert after("预算四千八百六", Finish.LENGTH)[0].text == "预算"


class Boastful(WordTokenizer):
    """A tokenizer that says every text fits."""

    def fit(self, text: str, limit: int) -> int:
        del limit
        return len(text)


def test_trimming_ends_with_a_tokenizer_that_contradicts_itself() -> None:
    assert trim("a b c d", 2, Boastful()) == ("a b", 2, True)


def test_a_memory_of_which_no_visible_character_fits_is_not_taken() -> None:
    before = Memory(text="The lease ends in 2031.", tokens=6, limit=1)
    shown = " " * 40 + "lease of the harbour until 2031"
    memory, flags = next_memory(
        before, Reply(text="x\n" + shown), WORDS, Scene(memory=before.text, section=shown, quotes=True)
    )
    assert memory == before
    assert flags[-1] is Flag.KEPT_EMPTY


def test_only_a_short_reply_can_be_a_refusal() -> None:
    short, long = "I cannot say more.", "I cannot say more than that it was Ada." + " " * 160 + "Nor when."
    assert after(short) == (BEFORE, (Flag.KEPT_REFUSAL,))
    assert after(long)[0].text == long


def test_reasoning_is_removed_in_capitals_and_over_several_lines() -> None:
    assert clean("<THINK>\nlet me see\n\nyes\n</THINK>\nThe lease ends in 2031.") == ("The lease ends in 2031.", True)


@pytest.mark.parametrize("reply", ["", " \n", "...", r"\boxed{}", r"\boxed { }.", "<think>hmm</think>", "<|im_end|>"])
def test_a_reply_without_a_word_is_empty(reply: str) -> None:
    assert is_empty(reply)


@pytest.mark.parametrize("reply", ["no", "7", "灯", r"\boxed{7}", r"\boxed{} 7", "<think>hmm</think> no"])
def test_a_reply_with_a_word_is_not_empty(reply: str) -> None:
    assert not is_empty(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "\\boxed{UNCHANGED}",
        "$\\boxed{\\text{UNCHANGED}}$.",
        "**UNCHANGED**!",
        "Sure! Here is what changes:\n\nUNCHANGED",
        "The section says nothing new.\n\nUNCHANGED",
        "UNCHANGED – the section has nothing on the price of the boat.",
        "UNCHANGED. Jonas only speaks of his dentist.",
    ],
)
def test_the_word_for_unchanged_is_known_in_a_box_and_below_an_opening(reply: str) -> None:
    assert after(reply) == (BEFORE, (Flag.UNCHANGED,))


@pytest.mark.parametrize(
    "reply",
    [
        "I don't see any relevant information in this section.",
        "This section does not contribute anything to the question. UNCHANGED",
        "Memory: unchanged",
        "No new information; keep the old memory.",
        "The section is about the weather and says nothing of the question.",
        "本节没有涉及商户总数的内容,记忆保持不变。",
    ],
)
def test_a_reply_that_speaks_of_the_section_wipes_nothing(reply: str) -> None:
    memory, flags = after(reply)
    assert memory == BEFORE
    assert {Flag.KEPT_COMMENT, Flag.UNCHANGED} & set(flags)


def test_the_chinese_word_for_unchanged_may_have_a_reason_behind_it() -> None:
    assert after("不变(本节没有商户总数的新线索)", unchanged="不变") == (BEFORE, (Flag.UNCHANGED,))
    assert after("不变的是租金500元", unchanged="不变")[0].text == "不变的是租金500元"


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (
            "The section confirms that 500 euros were sent in May; otherwise the memory remains unchanged.",
            "The section confirms that 500 euros were sent in May",
        ),
        ("Piet pays 5 euros.\nUNCHANGED", "Piet pays 5 euros."),
    ],
)
def test_what_a_remark_tells_is_written_below_the_old_memory(reply: str, told: str) -> None:
    memory, flags = after(reply)
    assert (memory.text, flags) == (f"{BEFORE.text}\n{told}", (Flag.ADDED,))


def test_a_memory_that_keeps_the_old_words_is_the_memory() -> None:
    reply = "The lease ends in 2031. The section adds that the rent is 900."
    assert after(reply) == (Memory(text=reply, tokens=WORDS.count(reply), limit=30), ())


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("好的，以下是更新后的记忆：\n\n", ""),
        ("根据本节内容，更新后的记忆如下：\n", "\n（以上为更新后的记忆，约200字。）"),
        ("【新记忆】\n", ""),
        ("好的。\n以下是重写后的记忆：\n", ""),
        ("**更新后的记忆**\n", ""),
        ("根据本节内容，记忆更新如下：\n", ""),
        ("Sure! Here is the updated memory:\n", ""),
        ("Certainly. Below is the rewritten memory, in 80 words:\n\n", "\n(The above is the new memory.)"),
    ],
)
def test_a_line_that_hands_the_memory_over_is_no_part_of_it(opening: str, closing: str) -> None:
    notes = "- 顾守业：顾长风二叔，离家，带走梅瓶\n- 福伯：记得顾守业怕火"
    before = Memory(text=notes, tokens=20, limit=200)
    said = f"{notes}\n- 方子安：冒名顾长青"
    scene = Scene(memory=notes, section=said, unchanged="不变")
    after, flags = next_memory(before, Reply(text=f"{opening}{said}{closing}"), WordTokenizer(), scene)
    assert (after.text, Flag.ADDED in flags) == (said, False)


@pytest.mark.parametrize(
    "line", ["Here are the notes of the meeting:", "Memory: 16 GB", "以下是会议纪要：", "新的笔记："]
)
def test_a_heading_of_the_document_stays(line: str) -> None:
    assert clean(f"{line}\n- Ada")[0] == f"{line}\n- Ada"
