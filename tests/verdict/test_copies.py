"""A passage of an answer is a copy where the document has it word for word, from a sentence's beginning to its end."""

from hypothesis import given
from hypothesis import strategies as st

from bookwheel.documents.opening import TextDocument
from bookwheel.text.sanitize import sanitize
from bookwheel.verdict.copies import find_copies, find_quotes, is_findable
from bookwheel.verdict.search import make_query, search

MANUAL = (
    "# 3. The mill\n\nNobody came.\n\n## Who built it?\nThe mill was built by Odo Farr,\na carpenter of Este. "
    "He died in 1601 of the plague at Este.\n\n- It has two wheels with iron rims.\n- Both rims are “of oak” from the woods of Este.\n\n"
    "Nobody says that Ada Quill built the lower mill. So be it."
)
BUILT = "The mill was built by Odo Farr, a carpenter of Este."
DIED = "He died in 1601 of the plague at Este."
WHEELS = "It has two wheels with iron rims."


def copies_of(*pieces, text=MANUAL):
    queries = [make_query(piece, "") for piece in pieces]
    search(TextDocument(text).parts(), queries)
    found = find_copies(pieces, [one for query in queries for one in query.sentences])
    for sentence in found.values():
        assert sanitize(text[sentence.start : sentence.end]) == sentence.text
    return {at: sentence.text for at, sentence in found.items()}


def test_a_passage_over_lines_and_sentences_is_a_copy_from_its_heading_on():
    answer = ("Who built it?", "The mill was built by Odo Farr, a", "carpenter of Este.", DIED)
    found = copies_of(*answer)
    assert [*found] == [0, 1, 2, 3]
    assert found[0] == "## Who built it?"
    assert found[1] == found[2] == "The mill was built by Odo Farr,\na carpenter of Este."


def test_bullets_and_quotes_do_not_count():
    assert [*copies_of(WHEELS, "Both rims are “of oak” from the woods of Este.")] == [0, 1]
    assert [*copies_of(f'"{DIED}"', WHEELS)] == [0, 1]
    assert [*copies_of(WHEELS, "Both rims are of oak from the woods of Este.")] == [0, 1]


def test_the_middle_of_a_sentence_is_no_copy():
    assert copies_of("Ada Quill built the lower mill.") == {}
    assert copies_of("The mill was built by Odo Farr") == {}
    assert copies_of("a carpenter of Este.") == {}
    # What stands before and behind it in the answer may be a copy.
    assert [*copies_of("a carpenter of Este.", DIED)] == [1]
    assert [*copies_of(DIED, "It has two wheels")] == [0]


def test_a_mark_that_the_answer_lacks_does_not_count():
    assert [*copies_of("Nobody says that Ada Quill built the lower mill")] == [0]


def test_other_words_and_another_order_are_no_copy():
    assert copies_of("The mill was built by Ada Quill, a carpenter of Este.") == {}
    assert copies_of("The lower mill says that nobody built Ada Quill.") == {}
    assert [*copies_of(DIED, "Nobody came at all in 1601 to Este.", WHEELS)] == [0, 2]


def test_what_says_little_is_a_copy_only_beside_what_says_more():
    assert copies_of("Nobody came.") == {}
    assert copies_of("Nobody came.", WHEELS).keys() == {1}
    assert [*copies_of("Who built it?", BUILT)] == [0, 1]
    many = "Ada Quill\n\nBo Reed\n\nThe rent of the upper field is nine crowns.\n\nAda Quill\n"
    assert copies_of("Ada Quill", text=many) == {}
    assert [*copies_of("The rent of the upper field is nine crowns.", "Ada Quill", text=many)] == [0, 1]


def test_a_passage_across_two_blocks_is_a_copy():
    rest = "Gulls circled over the pier all day long. " * 5000
    for before in (65_480, 65_536, 70_000):
        start = rest[:before].rpartition(". ")[0] + ".\n\n"
        assert [*copies_of("Who built it?", BUILT, text=start + MANUAL)] == [0, 1], before


def test_where_a_block_begins_no_sentence_does():
    text = ("Gulls. " * 20_000)[
        :64_300
    ] + "Nobody who knew them says that Ada Quill built the lower mill of Este. " * 40
    assert copies_of("Ada Quill built the lower mill of Este.", text=text + "Gulls. " * 20_000) == {}


def test_invisible_characters_hide_no_copy():
    text = "The har\u00adbour master of Skar\u200bholm is Ada. She sleeps."
    assert copies_of("The harbour master of Skarholm is Ada.", "She sleeps.", text=text)[0].endswith("Skarholm is Ada.")


def test_the_end_of_the_document_ends_a_sentence():
    assert [*copies_of("He sold forty herrings at Holm", text="Rain fell. He sold forty herrings at Holm")] == [0]


def test_a_long_sentence_is_a_copy_as_a_short_one_is():
    clause = "the tenant of the {} field pays nine crowns on the first day of the month"
    whole = "; ".join(clause.format(name) for name in ("upper", "lower", "long", "narrow", "wet", "dry", "far")) + "."
    assert len(whole) > 500
    assert [*copies_of(whole, text=f"Rain fell. {whole} Nobody came.")] == [0]


@given(st.integers(0, 3), st.integers(1, 6), st.sampled_from([" ", "\n", "  \n"]))
def test_any_run_of_sentences_is_a_copy_however_its_lines_are_broken(first, count, blank):
    sentences = [BUILT, DIED, WHEELS, "Both rims are “of oak” from the woods of Este."][first : first + count]
    pieces = [line.strip() for sentence in sentences for line in _break(sentence, blank)]
    assert [*copies_of(*pieces)] == [*range(len(pieces))]


def _break(sentence, blank):
    """Return the lines of a sentence, broken behind every third word."""
    words = sentence.split()
    return blank.join(" ".join(words[at : at + 3]) for at in range(0, len(words), 3)).splitlines()


def test_a_quote_is_a_line_of_its_own_before_a_part_of_another():
    text = 'carriers: [{name: brevity, base: "http://localhost"}]\n\ncarriers:\n  - name: brevity\n    base: "http://east"\n'
    (found,) = find_quotes(TextDocument(text).parts(), "- name: brevity")
    assert found.text == "- name: brevity"
    assert find_quotes(TextDocument(text).parts(), "[{name: brevity, base:")[0].start == 0


def test_a_quote_of_few_signs_or_in_quotation_marks_is_found():
    text = "问2：二级资质可否投标？\n答：不可。\n出差不同意，改为视频。\nThe sill is 2.4 m high."
    assert find_quotes(TextDocument(text).parts(), "答：不可。")[0].text == "答：不可。"
    assert (
        find_quotes(TextDocument(text).parts(), "It says: “The sill is 2.4 m high.”")[0].text
        == "The sill is 2.4 m high."
    )
    assert find_quotes(TextDocument(text).parts(), "出差同意，改为视频。") == ()
    assert [is_findable(one) for one in ("不可。", "答：不可。", "No.")] == [False, True, False]


def test_what_is_struck_out_is_copied_by_nobody():
    text = "~~The old mill at Este was let to Odo.~~ The old mill at Este was let to Ada.\n"
    assert [*copies_of("The old mill at Este was let to Odo.", "The old mill at Este was let to Ada.", text=text)] == [
        1
    ]


def test_each_sentence_of_a_copied_line_is_found_and_words_in_quotes_within_one_are_not_looked_for_again():
    text = 'Nordhylla withdrew. The order goes to Regalbau Fuchs. He said: the minister "gives the speech" himself.\n'
    text += "Who gives the speech is open.\n"
    copied = 'Nordhylla withdrew. The order goes to Regalbau Fuchs. The minister "gives the speech" himself.'
    found = find_quotes(TextDocument(text).parts(), copied)
    assert [one.text for one in found] == [
        "Nordhylla withdrew.",
        "The order goes to Regalbau Fuchs.",
        'He said: the minister "gives the speech" himself.',
    ]
