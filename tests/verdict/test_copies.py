"""A passage of an answer is a copy where the document has it word for word, from a sentence's beginning to its end."""

from hypothesis import given
from hypothesis import strategies as st

from bookwheel.documents.opening import TextDocument
from bookwheel.text.sentences import list_sentences
from bookwheel.verdict.copies import find_copies, find_quote, is_findable

MANUAL = (
    "# 3. The mill\n\nNobody came.\n\n## Who built it?\nThe mill was built by Odo Farr,\na carpenter of\nEste. "
    "He died in 1601.\n\n- It has two wheels.\n- Both are “of oak”.\n\nNobody says that Ada Quill built it. So be it."
)


def copies_of(*pieces, text=MANUAL, least=12):
    found = find_copies(TextDocument(text).parts(), pieces, lambda passage: len(" ".join(passage)) >= least)
    for sentence in found.values():
        assert text[sentence.start : sentence.end] == sentence.text
    return {at: sentence.text for at, sentence in found.items()}


def test_a_passage_over_lines_and_sentences_is_a_copy_from_its_heading_on():
    answer = ("Who built it?", "The mill was built by Odo Farr, a", "carpenter of Este.", "He died in 1601.")
    found = copies_of(*answer)
    assert [*found] == [0, 1, 2, 3]
    assert found[0] == "## Who built it?"
    assert found[1] == found[2] == "The mill was built by Odo Farr,\na carpenter of\nEste."


def test_bullets_and_quotes_do_not_count():
    assert [*copies_of("It has two wheels.", "Both are “of oak”.")] == [0, 1]
    assert [*copies_of('"He died in 1601."', "It has two wheels.")] == [0, 1]
    assert [*copies_of("It has two wheels.", "Both are of oak.")] == [0, 1]


def test_the_middle_of_a_sentence_is_no_copy():
    assert copies_of("Ada Quill built it.") == {}
    assert copies_of("The mill was built by Odo Farr") == {}
    assert copies_of("a carpenter of Este.") == {}
    # What stands before and behind it in the answer may be a copy.
    assert [*copies_of("a carpenter of Este.", "He died in 1601.")] == [1]
    assert [*copies_of("He died in 1601.", "It has two")] == [0]


def test_a_mark_that_the_answer_lacks_does_not_count():
    assert [*copies_of("Nobody says that Ada Quill built it")] == [0]


def test_other_words_and_another_order_are_no_copy():
    assert copies_of("The mill was built by Ada Quill, a carpenter of Este.") == {}
    assert [*copies_of("He died in 1601.", "Nobody came at all in 1601.", "It has two wheels.")] == [0, 2]


def test_a_passage_that_says_nothing_is_no_copy():
    assert copies_of("So be it.", least=12) == {}
    assert [*copies_of("Nobody says that Ada Quill built it.", "So be it.", least=12)] == [0, 1]


def test_a_passage_across_two_blocks_is_a_copy():
    rest = "Gulls circled over the pier all day long. " * 5000
    for before in (65_480, 65_536, 70_000):
        start = rest[:before].rpartition(". ")[0] + ".\n\n"
        found = copies_of("Who built it?", "The mill was built by Odo Farr, a carpenter of Este.", text=start + MANUAL)
        assert [*found] == [0, 1], before


def test_invisible_characters_hide_no_copy():
    text = "The har\u00adbour master of Skar\u200bholm is Ada. She sleeps."
    assert copies_of("The harbour master of Skarholm is Ada.", "She sleeps.", text=text)[0] == text[:-12].rstrip()


def test_the_end_of_the_document_ends_a_sentence():
    assert [*copies_of("He sold forty herrings", text="Rain fell. He sold forty herrings")] == [0]


@given(st.integers(0, 3), st.integers(1, 6), st.sampled_from([" ", "\n", "  \n"]))
def test_any_run_of_sentences_is_a_copy_however_its_lines_are_broken(first, count, blank):
    sentences = list_sentences(MANUAL.replace("#", ""))[first : first + count]
    pieces = [piece for sentence in sentences for piece in sentence.replace(" ", blank).splitlines() if piece.strip()]
    pieces = [piece.strip().removeprefix("- ") for piece in pieces]
    pieces = [piece for piece in pieces if piece not in {"-", "3."}]
    if max(map(len, pieces)) >= 8:
        assert [*copies_of(*pieces, text=MANUAL.replace("#", ""), least=8)] == [*range(len(pieces))]


def test_a_quote_is_a_line_of_its_own_before_a_part_of_another():
    text = 'carriers: [{name: brevity, base: "http://localhost"}]\n\ncarriers:\n  - name: brevity\n    base: "http://east"\n'
    found = find_quote(TextDocument(text).parts(), "- name: brevity")
    assert found.text == "- name: brevity"
    assert find_quote(TextDocument(text).parts(), "[{name: brevity, base:").start == 0


def test_a_quote_of_few_signs_or_in_quotation_marks_is_found():
    text = "问2：二级资质可否投标？\n答：不可。\n出差不同意，改为视频。\nThe sill is 2.4 m high."
    assert find_quote(TextDocument(text).parts(), "答：不可。").text == "答：不可。"
    assert (
        find_quote(TextDocument(text).parts(), "It says: “The sill is 2.4 m high.”").text == "The sill is 2.4 m high."
    )
    assert find_quote(TextDocument(text).parts(), "出差同意，改为视频。") is None
    assert [is_findable(one) for one in ("不可。", "答：不可。", "No.")] == [False, True, False]


def test_what_is_struck_out_is_copied_by_nobody():
    text = "~~The mill was let to Odo.~~ The mill was let to Ada.\n"
    assert [*copies_of("The mill was let to Odo.", "The mill was let to Ada.", text=text)] == [1]
