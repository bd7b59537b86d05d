"""What every composed way owes: the steps of the loop, durable before the next call, resumable and editable."""

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from halcyon import FIRST, PLAN, SECOND, events, model, pages, reader

from bookwheel.errors import InputError, MissingAbility
from bookwheel.flags import Flag
from bookwheel.models.scripted import ScriptedModel
from bookwheel.reading.ways.registry import is_known, load_way
from bookwheel.types import Answer, Memory, Message
from bookwheel.verdict.provenance import find_origins

PARTS = ["edits", "heads", "gated", "parallel", "ranked", "early-exit", "look-back", "planned"]
COMBINATIONS = [
    "gated+edits",
    "gated+heads",
    "gated+edits+early-exit",
    "parallel+gated+edits",
    "ranked+gated+edits",
    "planned+gated+edits",
    "gated+look-back",
    "planned+parallel+gated+heads+look-back",
]


@pytest.mark.parametrize("way", [*PARTS, *COMBINATIONS])
def test_every_composed_way_finds_both_facts_and_counts_every_call(way):
    reading = model()
    *steps, answer = events(way, pages(), reading)
    assert answer.text == "Tern Point"
    assert sum(event.conversation.reply.usage.calls for event in (*steps, answer)) == reading.calls


@pytest.mark.parametrize("way", [*PARTS, *COMBINATIONS])
def test_the_spans_cover_the_document_once_and_the_indexes_count_the_steps(way):
    document = pages()
    *steps, _ = events(way, document, model())
    assert [step.chunk.index for step in steps] == list(range(len(steps)))
    spans = sorted({(step.chunk.start, step.chunk.end) for step in steps if step.chunk.end > step.chunk.start})
    assert [start for start, _ in spans] == [0, *(end for _, end in spans[:-1])]
    assert spans[-1][1] == document.length


@pytest.mark.parametrize("way", [*PARTS, *COMBINATIONS])
@pytest.mark.parametrize("kept", [0, 1, 7, 13, 99])
def test_a_resumed_reading_takes_the_same_steps_that_were_left(way, kept):
    *steps, answer = events(way, pages(), model())
    kept = min(kept, len(steps))
    # What a journal gives back has neither the chunk's text nor the prompt.
    done = [
        replace(step, chunk=replace(step.chunk, text=""), conversation=replace(step.conversation, messages=()))
        for step in steps[:kept]
    ]
    resumed = model()
    *rest, again = events(way, pages(), resumed, done=done)
    assert again.text == answer.text
    assert {(s.chunk.start, s.chunk.end, s.before.text, s.after.text, s.flags) for s in rest} == {
        (s.chunk.start, s.chunk.end, s.before.text, s.after.text, s.flags) for s in steps[kept:]
    }
    assert [s.chunk.index for s in rest] == [s.chunk.index for s in steps[kept:]]


@pytest.mark.parametrize("way", ["edits", "heads", "gated", "ranked", "gated+edits", "gated+look-back"])
def test_a_memory_that_was_changed_by_hand_is_read_on_from(way):
    *steps, _ = events(way, pages(first=150, second=155), model())
    text = "By hand: nothing of this is in the document."
    memory = Memory(text=text, tokens=12, limit=PLAN.memory_tokens)
    at = 0 if way == "ranked" else 3
    done = [*steps[:at], replace(steps[at], after=memory, flags=(*steps[at].flags, Flag.EDITED))]
    prompts: list[str] = []

    def listen(messages: Sequence[Message]) -> str:
        prompts.append(messages[-1].content)
        return reader(messages)

    rest = events(way, pages(first=150, second=155), model(listen), done=done)
    assert isinstance(rest[-1], Answer)
    assert rest[0].before.text == text
    assert any(text in prompt for prompt in prompts)


@pytest.mark.parametrize("way", [*PARTS, *COMBINATIONS])
def test_no_prompt_and_reply_outgrow_the_window(way):
    window = 700
    sizes: list[int] = []

    def gabble(messages: Sequence[Message]) -> str:
        sizes.append(sum(reading.tokenizer.count(message.content) for message in messages))
        kind = messages[-1].content[-9:]
        return {"Changes:"[-9:]: "ADD: word and word\n" * 60, "New part:": "Part 2:\n" + "word " * 300}.get(
            kind, "word " * 500
        )

    reading = ScriptedModel(gabble, judge=lambda _m, _o: [-0.1, -4.0], window=window)
    events(way, pages(), reading)
    assert sizes
    assert max(sizes) + PLAN.answer_tokens <= window


@pytest.mark.parametrize("way", ["gated", "early-exit", "ranked", "gated+edits"])
def test_a_model_that_cannot_judge_is_refused_before_the_first_call(way):
    reading = ScriptedModel(reader, window=900)
    with pytest.raises(MissingAbility, match="log-probabilities"):
        events(way, pages(), reading)
    assert reading.calls == 0


def test_a_model_without_a_threshold_is_told_to_be_calibrated(monkeypatch, tmp_path):
    monkeypatch.setenv("BOOKWHEEL_CALIBRATIONS", str(tmp_path / "none.json"))
    reading = model()
    with pytest.raises(InputError, match="bookwheel calibrate"):
        events("gated", pages(), reading, plan=replace(PLAN, gate=None))
    assert reading.calls == 0


@pytest.mark.parametrize(
    ("way", "why"),
    [
        ("edits+heads", "both set the writer"),
        ("parallel+ranked", "both set the course"),
        ("gated+cascade", "both set the gate"),
        ("gated+sequential", "goes with no other"),
        ("gated+edit", "did you mean 'edits'"),
        ("gated+gated", "twice"),
    ],
)
def test_parts_that_do_not_go_together_are_refused(way, why):
    with pytest.raises(InputError, match=re.escape(why)):
        load_way(way)


def test_known_names_are_those_that_load():
    assert is_known("gated+edits")
    assert is_known("sequential")
    assert not is_known("gated+nothing")


@pytest.mark.parametrize(
    "way", ["sequential", "edits", "heads", "parallel", "parallel+gated+edits", "ranked", "planned"]
)
def test_each_line_is_traced_to_the_chunk_that_it_came_from(way):
    document = pages(first=120, second=15)
    *steps, _ = events(way, document, model())
    origins = {origin.line: origin for origin in find_origins(steps, document)}
    assert set(origins) == {FIRST, SECOND}
    for line, origin in origins.items():
        assert line in document.text[origin.start : origin.end]
        assert origin.quote is not None
        assert document.text[origin.quote.start : origin.quote.end] in line
