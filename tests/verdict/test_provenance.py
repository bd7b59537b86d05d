"""Every line of a memory can be followed to the words it came from, or is said to come from none."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.flags import Flag
from bookwheel.types import Chunk, Conversation, Memory, Part, Reply, Step
from bookwheel.verdict.provenance import find_origins

SECTIONS = (
    "The mill stands by the river. It was built in 1588 for the monks of Este. ",
    "Rain fell on the valley for many weeks. Nobody came to the market. ",
    "The plan of the mill was signed by Agostino Ramelli, a captain. He asked 12,400 livres for it. ",
    "In the spring the bridge was mended and the miller paid his rent. ",
)


class Book:
    """A document in memory that tells which of its slices were asked for."""

    def __init__(self, text, name="book"):
        self.text, self.name, self.length = text, name, len(text)
        self.asked = []

    def parts(self, start=0):
        yield Part(text=self.text[start:], source=self.name, page=1)

    def slice(self, start, end):
        self.asked.append((start, end))
        return self.text[start:end]


BOOK = Book("".join(SECTIONS))


def steps_of(*memories, sections=SECTIONS, replies=None):
    """One step a section, with these memories after them."""
    steps, before, start = [], "", 0
    for index, (section, after) in enumerate(zip(sections, memories, strict=False)):
        reply = (replies or {}).get(index, after)
        steps.append(
            Step(
                chunk=Chunk(
                    index=index,
                    start=start,
                    end=start + len(section),
                    text="",
                    tokens=9,
                    sources=(f"{index}.txt",),
                    pages=(index + 1,),
                ),
                before=Memory(text=before, tokens=1, limit=99),
                after=Memory(text=after, tokens=1, limit=99),
                conversation=Conversation(messages=(), reply=Reply(text=reply)),
                flags=(Flag.EDITED,) if reply != after else (),
            )
        )
        before, start = after, start + len(section)
    return tuple(steps)


def test_a_line_is_from_the_step_where_it_entered_with_its_words_quoted():
    built = "- Built in 1588 for the monks"
    steps = steps_of(
        built, built, f"{built}\n- plan signed by Agostino Ramelli", f"{built}\n- plan signed by Agostino Ramelli"
    )
    first, second = find_origins(steps, BOOK)
    assert (first.step, first.since, first.pages, first.sources) == (0, 0, (1,), ("0.txt",))
    assert first.quote.quote == "built in 1588 for the monks"
    assert (second.step, second.found, second.missing) == (2, True, ())
    assert second.quote.quote == "signed by Agostino Ramelli"
    for line in (first, second):
        assert BOOK.text[line.quote.start : line.quote.end] == line.quote.quote
        assert line.start <= line.quote.start < line.quote.end <= line.end


def test_a_line_that_was_reworded_is_followed_back_and_keeps_its_first_step():
    steps = steps_of(
        "The mill by the river was built in 1588",
        "mill by river: built 1588",
        "Mill (river), built 1588, for monks",
        "Mill (river), built 1588, for monks",
    )
    (line,) = find_origins(steps, BOOK)
    assert (line.step, line.since, line.found) == (0, 2, True)
    assert "1588" in line.quote.quote


def test_what_a_rewording_added_is_looked_for_where_it_was_added():
    steps = steps_of(
        "The mill was built in 1588",
        "The mill was built in 1588",
        "The mill was built in 1588, plan by Agostino Ramelli",
        "same",
    )[:3]
    (line,) = find_origins(steps, BOOK)
    assert (line.step, line.since, line.found, line.missing) == (0, 2, True, ())


def test_a_line_with_other_figures_is_another_line():
    steps = steps_of("The mill was built in 1588", "The mill was built in 1601")
    (line,) = find_origins(steps, BOOK)
    assert (line.step, line.found, line.missing) == (1, False, ("1601",))


def test_a_claim_that_is_not_in_the_text_is_marked_so():
    steps = steps_of(
        "The mill was built in 1588 by Ada Quill\nThe miller owned seven dancing bears\nBuilt for the monks of Este"
    )
    invented_name, invented_fact, true = find_origins(steps, BOOK)
    assert (invented_name.found, invented_name.missing) == (False, ("Ada", "Quill"))
    assert not invented_fact.found
    assert true.found


def test_a_line_written_by_hand_is_said_to_be():
    steps = steps_of("Built in 1588", "Built in 1588\nThe miller was called Odo", replies={1: "Built in 1588"})
    model, hand = find_origins(steps, BOOK)
    assert (model.by_hand, hand.by_hand) == (False, True)
    assert not hand.found


def test_headings_have_no_origin_and_long_lines_are_taken_sentence_by_sentence():
    long = (
        "The mill was built in 1588 for the monks of Este. "
        + "Rain fell for weeks on the valley. " * 6
        + "It stands by the river."
    )
    found = find_origins(steps_of(f"# Notes\nFacts:\n{long}"), BOOK)
    assert len(found) == 8
    assert found[0].line.endswith("Este.")


def test_a_kept_memory_costs_nothing_and_only_chunks_of_changes_are_fetched():
    book = Book("".join(SECTIONS) * 50)
    steps = steps_of(*(["Built in 1588 for the monks"] * 200), sections=SECTIONS * 50)
    find_origins(steps, book)
    assert book.asked == [(0, len(SECTIONS[0]))]


def test_no_steps_have_no_origins():
    assert find_origins((), BOOK) == ()
    assert find_origins(steps_of(""), BOOK) == ()


line = st.text(st.sampled_from("mill 1588 Ada. \n书轮-#:é\u200b\ud800\x00<"), max_size=40)


@given(st.lists(st.tuples(line, line), min_size=1, max_size=5))
def test_any_memories_and_texts_are_explained_within_their_spans(pairs):
    sections = [section + "." for section, _ in pairs]
    book = Book("".join(sections))
    steps = steps_of(*(memory for _, memory in pairs), sections=sections)
    for origin in find_origins(steps, book):
        assert steps[0].chunk.index <= origin.step <= origin.since <= steps[-1].chunk.index
        assert origin.quote is None or book.text[origin.quote.start : origin.quote.end] == origin.quote.quote
        assert not (origin.found and (origin.quote is None or origin.missing))


@pytest.mark.parametrize("count", [1, 3])
def test_a_reading_whose_first_memory_was_given_is_explained_from_its_first_step(count):
    steps = list(steps_of(*["Built in 1588"] * count))
    steps[0] = replace(steps[0], before=steps[0].after)
    (found,) = find_origins(steps, BOOK)
    assert found.step == 0


def test_a_line_that_stays_is_no_earlier_wording_of_a_new_one():
    first = "The harbour master of Skarholm is Ada Quill."
    second = "The harbour of Skarholm was built in 1871 by the master mason Bo Reed."
    steps = steps_of(first, f"{first}\n{second}")
    assert [(origin.line, origin.step) for origin in find_origins(steps, BOOK)] == [(first, 0), (second, 1)]


def test_three_words_in_common_are_no_source():
    steps = steps_of("The mill by the river belonged to a cruel baron who taxed seven distant villages")
    (line,) = find_origins(steps, BOOK)
    assert (line.quote, line.found) == (None, False)


def test_a_sentence_that_says_the_opposite_is_no_source():
    steps = steps_of("The mill was not built in 1588 for the monks of Este")
    (line,) = find_origins(steps, BOOK)
    assert (line.quote, line.found) == (None, False)


def test_a_quote_has_its_own_pages_where_the_document_knows_them():
    book = Book("".join(SECTIONS))
    book.pages = lambda start, end: (start // 100, end // 100)
    (line,) = find_origins(steps_of("Built in 1588 for the monks"), book)
    assert line.quote.pages == (line.quote.start // 100, line.quote.end // 100)


def test_a_line_whose_name_was_changed_by_hand_is_written_by_hand():
    model, hand = "The plan was signed by Agostino Ramelli", "The plan was signed by Odo Farr"
    steps = steps_of(model, hand, hand, replies={1: model}, sections=(SECTIONS[2], SECTIONS[1], SECTIONS[3]))
    (line,) = find_origins(steps, Book(SECTIONS[2] + SECTIONS[1] + SECTIONS[3]))
    assert (line.by_hand, line.found, line.missing) == (True, False, ("Odo", "Farr"))
