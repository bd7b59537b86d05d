"""What a memory is to make likelier where nobody knows the answer, by a reader whose likelihoods are known."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from math import log

import pytest

pytest.importorskip("torch")

from known_reference import OTHER, Reference, likelihood, read_prompt, reply, sample, settings

from bookwheel.lab.training.likelihood import LikelihoodCredit
from bookwheel.lab.training.targets import PointedSentence, find_sentences
from bookwheel.reading import worth
from bookwheel.text.ranking import score_texts

MOVED = "oak at mill .\nwind blew over .\noak at quay .\nash at barn .\noak at inn .\n"


def find(question, text, reference=None, **changes):
    reference = reference or Reference(reply, likelihood=likelihood)
    credit = LikelihoodCredit(reference, (OTHER,), replace(settings(recovered=1.0), **changes))
    return [one.text for one in asyncio.run(credit.find_targets(sample(question, text, golds=())))]


def find_notes(question, text):
    return [one.notes for one in find_sentences(question, text)]


def test_a_sentence_stands_alone_and_with_what_its_own_words_point_at():
    text = "oak near elm .\nwind blew over .\nelm has blue .\nash has red .\n"
    assert find_sentences("oak near", text) == [
        PointedSentence(text="oak near elm .", notes=("oak near elm", "oak near elm\nelm has blue")),
    ]
    assert find("oak near", text) == ["blue"]


def test_a_hop_follows_the_words_a_sentence_brings_in_and_not_those_that_were_asked():
    assert find_notes("oak near", "oak near elm .\nash near fir .\nelm has blue .\n") == [
        ("oak near elm", "oak near elm\nelm has blue")
    ]


def test_notes_stand_in_the_documents_order():
    assert find_notes("oak near", "elm has blue .\noak near elm .\n") == [
        ("oak near elm", "elm has blue\noak near elm")
    ]


def test_a_sentence_that_leads_to_nothing_is_shown_once():
    assert find_notes("elm has", "moss has grey .\nelm has blue .\n") == [("elm has blue",)]
    assert find_notes("elm has", "wind blew over .\n") == []


def test_states_stand_in_the_documents_order_whichever_shares_more_with_the_question():
    text = "wind and oak at old mill .\nrain fell .\noak at quay .\n"
    assert [one.text for one in find_sentences("oak at", text)] == ["wind and oak at old mill .", "oak at quay ."]


def test_a_document_is_ranked_once_and_then_for_the_hop_outside_the_event_loop(monkeypatch):
    ranked = []

    def rank(sentences, words):
        ranked.append((words, threading.current_thread() is threading.main_thread()))
        return score_texts(sentences, words)

    monkeypatch.setattr(worth, "score_texts", rank)
    assert find("elm has", "moss has grey .\nelm has blue .\n") == ["blue"]
    assert ranked == [("moss has", True), ("elm has", False), ("blue", False)]


@pytest.mark.parametrize(
    ("past", "control", "is_target"),
    [
        # It can all but be guessed, or nearly so.
        (0.9, 0.7, False),
        (0.9, 0.6, True),
        # 20 bits and 1.6, of what is hardly ever said.
        (1e-3, 1e-9, False),
        (0.3, 0.1, False),
        (0.4, 0.1, True),
    ],
)
def test_what_the_words_in_hand_make_hardly_likelier_is_no_target(past, control, is_target):
    def tell(said, text):
        notes = said[-1].content.partition(" question ")[0].split()
        return [log(past if word in notes else control) for word in text.split()]

    found = find("elm has", "elm has blue .\n", Reference(reply, likelihood=tell))
    assert found == (["blue"] if is_target else [])


def test_what_can_be_guessed_does_not_stand_before_what_cannot():
    # "elm" is likely with any notes; alone, the sentence speaks against "blue".
    known = {"oak near elm": -9.0, "oak near elm\nelm has blue": -0.1}

    def weigh(said, text):
        return [-0.1] if text == "elm" else [known.get(read_prompt(said)[0], -3.0)]

    text = "oak near elm .\nelm has blue .\n"
    reader = Reference(
        lambda said: "blue" if "blue" in read_prompt(said)[0] else "elm",
        likelihood=weigh,
    )
    assert find("oak near", text, reader) == ["blue"]


def test_a_hop_that_leads_astray_does_not_hide_what_the_sentence_says_alone():
    text = "oak at mill .\nwind blew over .\nash near mill .\n"
    lost = Reference(lambda said: "ash" if "ash" in said[-1].content else reply(said), likelihood=likelihood)
    assert find("oak at", text, lost) == ["mill"]


def test_a_reference_that_says_nothing_leaves_nothing_to_earn():
    assert find("elm has", "elm has blue .\n", Reference(lambda _: " ", likelihood=likelihood)) == []


def test_the_state_counts_that_the_reader_itself_keeps():
    assert find("oak at", MOVED) == ["inn"]
    assert find("oak at", MOVED.removesuffix("oak at inn .\n")) == ["quay"]

    def append(said):
        """Keep the notes and add what is read."""
        notes, section, _ = read_prompt(said)
        return f"{notes}\n{section}" if section else reply(said)

    # One that keeps all of it has not let the first go.
    assert find("oak at", MOVED, Reference(append, likelihood=likelihood)) == ["mill", "quay", "inn"]


def test_a_state_that_comes_back_holds():
    assert find("oak at", f"{MOVED}oak at mill .\n") == ["mill"]


def test_states_of_which_the_reader_keeps_none_all_count():
    forgets = Reference(lambda said: "same" if read_prompt(said)[1] else reply(said), likelihood=likelihood)
    assert find("oak at", MOVED, forgets) == ["mill", "quay", "inn"]


def test_two_sentences_of_one_answer_are_one_target():
    again = "oak at mill .\noak at old mill .\n"
    assert find("oak at", again, Reference(lambda _: "mill", likelihood=likelihood)) == ["mill"]


def test_sentences_are_read_by_the_brief_where_memories_know_no_question():
    def keep_first(said):
        """Overwrite by the question; by the brief keep the first that is read."""
        notes, section, _ = read_prompt(said)
        briefed = "every place" in said[-1].content
        return notes if section and briefed and "oak" in notes else reply(said)

    reference = Reference(keep_first, likelihood=likelihood)
    assert find("oak at", MOVED, reference) == ["inn"]
    assert find("oak at", MOVED, reference, brief="every place") == ["mill"]


def test_the_reference_says_its_likeliest_words():
    asked = []

    class Recorder(Reference):
        async def reply(self, messages, *, limit, sampling):
            asked.append((limit, sampling.temperature))
            return await super().reply(messages, limit=limit, sampling=sampling)

    assert find("oak at", MOVED, Recorder(reply, likelihood=likelihood)) == ["inn"]
    plan = settings().plan
    # Each sentence is asked of, and read; what comes after the last one is nobody's business.
    assert asked == [(plan.answer_tokens, 0.0)] * 3 + [(plan.memory_tokens, 0.0)] * 3
