"""The passages that a sentence rests on: where the memory took it from first, as whole sentences."""

import pytest

from bookwheel.claims import Verdict
from bookwheel.documents.opening import TextDocument
from bookwheel.types import Chunk, Conversation, Memory, Reply, Step
from bookwheel.verdict.judge import judge_answer
from bookwheel.verdict.sources import EvidenceList, PlacedParts

SECTIONS = (
    "The boat has two owners. Insurance was asked for in June, and the excess was 1,000 euros then. ",
    "Marta signed with Hansa yesterday, after they dropped the excess to 500 euros. Rain fell. ",
    "The engine was overhauled by Jonas Okafor for 4,536 euros in all. The mast is sound. ",
)


def judge(answer, question, *memories, sections=SECTIONS):
    return judge_answer(answer, question, remember(*memories, sections=sections), TextDocument("".join(sections)))


def remember(*memories, sections=SECTIONS):
    """Return one step a section, with these memories after them."""
    steps, before, start = [], Memory(text="", tokens=0, limit=99), 0
    for number, (section, text) in enumerate(zip(sections, memories, strict=True)):
        after = Memory(text=text, tokens=9, limit=99)
        chunk = Chunk(index=number, start=start, end=start + len(section), text=section, tokens=9)
        steps.append(
            Step(
                chunk=chunk, before=before, after=after, conversation=Conversation(messages=(), reply=Reply(text=text))
            )
        )
        before, start = after, start + len(section)
    return steps


def test_a_sentence_of_two_lines_of_the_memory_rests_on_both_places():
    insured = "Marta signed with Hansa, the excess is 500 euros."
    both = f"{insured}\nJonas Okafor overhauled the engine for 4,536 euros."
    evidence, (claim,) = judge(
        "The boat costs Hansa's excess of 500 euros and Jonas Okafor's 4,536 for the engine.",
        "What does the boat cost?",
        "",
        insured,
        both,
    )
    assert [evidence[number].step for number in claim.evidence[:2]] in ([1, 2], [2, 1])


def test_a_passage_is_a_whole_sentence_where_the_memory_has_a_piece_of_it():
    evidence, (claim,) = judge(
        "The insurer is Hansa: 500 euros.",
        "Who insures it?",
        "",
        "signed with Hansa yesterday: 500",
        "signed with Hansa yesterday: 500",
    )
    first = evidence[claim.evidence[0]].quote
    assert first == "Marta signed with Hansa yesterday, after they dropped the excess to 500 euros."


CHINESE = "栈桥的重建原定于二月十日开工，为期十个月。"


def test_words_of_another_language_are_not_judged():
    _, (claim,) = judge_answer(
        "The rebuilding starts on 10 February.", "When does it start?", (), TextDocument(CHINESE)
    )
    assert (claim.verdict, claim.missing) == (Verdict.UNCHECKED, ())


def test_what_the_memory_took_it_from_is_shown_of_words_that_are_not_judged():
    evidence, (claim,) = judge(
        "Ada Quill will sign it in 2026.", "Who signs?", "Ada Quill, 2026", sections=("由Ada Quill于2026年签字。",)
    )
    assert claim.verdict is Verdict.UNCHECKED
    assert [evidence[number].quote for number in claim.evidence] == ["由Ada Quill于2026年签字。"]


def test_the_places_of_a_memorys_lines_come_with_that_first_which_has_most_of_a_text():
    steps = remember("The boat has two owners.", "The boat has two owners.\nThe excess is 500 euros with Hansa.", "")
    sources = EvidenceList(steps[:2], PlacedParts(TextDocument("".join(SECTIONS))))
    assert [one.text[:5] for one in sources.list_origins("How much is the excess with Hansa?")] == ["Marta", "The b"]
    assert [one.text[:5] for one in sources.list_origins("Has the boat owners?")] == ["The b", "Marta"]


@pytest.mark.parametrize("answer", ["TX-500", "4,536"])
def test_a_name_or_a_figure_is_judged_in_any_language(answer):
    _, (claim,) = judge_answer(answer, "哪一个？", (), TextDocument(CHINESE))
    assert claim.verdict is Verdict.NOT_FOUND


def test_a_number_that_the_question_brings_is_not_missing_from_the_document():
    text = TextDocument("The operator owes 265 euros for each call below the minimum of 500 calls.")
    question = "What does the operator owe for 505 calls?"
    _, (claim,) = judge_answer("With 505 calls the operator owes no euros, and 17 less.", question, (), text)
    assert claim.missing == ("17",)
