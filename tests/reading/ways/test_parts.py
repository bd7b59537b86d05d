"""What every composed way owes: the steps of the loop, durable before the next call, resumable and editable."""

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pytest

from bookwheel.errors import InputError, MissingAbility, ServerFault
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import GatePlan, Plan
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.provenance import find_origins
from bookwheel.reading.ways.registry import is_known, load_way
from bookwheel.types import Answer, Flag, Memory, Message, Part, Step

QUESTION = "Where does the owner of the ship Halcyon live?"
FIRST = "Ada Quill owns the ship Halcyon."
SECOND = "Ada Quill lives at Tern Point."
PLAN = Plan(
    question_tokens=80,
    chunk_tokens=120,
    memory_tokens=80,
    answer_tokens=40,
    gate=GatePlan(threshold=0.5),
    language="en",
)
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


@dataclass(frozen=True)
class Text:
    """A document that is one string."""

    text: str
    name: str = "text"

    @property
    def length(self) -> int:
        return len(self.text)

    def parts(self, start: int = 0) -> Iterator[Part]:
        yield Part(text=self.text[start:], source=self.name)

    def slice(self, start: int, end: int) -> str:
        return self.text[start:end]


def pages(count: int = 160, **facts: int) -> Text:
    lines = [
        f"Page {n} tells of harvests, tolls and rain in plain words. Nothing else is on it.\n" for n in range(count)
    ]
    for text, at in {FIRST: facts.get("first", 40), SECOND: facts.get("second", 90)}.items():
        lines.insert(at, text + "\n")
    return Text("".join(lines))


def tag(prompt: str, name: str) -> str:
    return prompt.rpartition(f"<{name}>")[2].partition(f"</{name}>")[0].strip() if f"<{name}>" in prompt else ""


def facts_in(text: str) -> list[str]:
    return [fact for fact in (FIRST, SECOND) if fact in text]


def reader(messages: Sequence[Message]) -> str:
    """A reader that keeps both facts, whatever it is asked to write."""
    prompt = messages[-1].content
    notes, new = facts_in(tag(prompt, "memory")), facts_in(tag(prompt, "section"))
    added = [fact for fact in new if fact not in notes]
    if "<memory>" not in prompt:
        return "Who owns the ship Halcyon?\nWhere does this person live?"
    if "<section>" not in prompt:
        return "\\boxed{Tern Point}" if len(notes) == 2 else "\\boxed{unknown}"
    if not added:
        return "UNCHANGED"
    if prompt.endswith("Changes:"):
        return "\n".join(f"ADD: {fact}" for fact in added)
    if prompt.endswith("New part:"):
        return f"Part {len(notes) + 1}:\n" + "\n".join(added)
    return "\n".join((*notes, *added))


def judge(messages: Sequence[Message], options: Sequence[str]) -> list[float]:
    prompt = messages[-1].content
    if "<section>" in prompt:
        is_yes = bool(facts_in(tag(prompt, "section")))
    else:
        is_yes = len(facts_in(tag(prompt, "memory"))) == 2
    assert options == ("Yes", "No")
    return [-0.05, -3.0] if is_yes else [-3.0, -0.05]


def model(**changes) -> ScriptedModel:
    return ScriptedModel(reader, **{"judge": judge, "window": 900, **changes})


def events(way: str, document: Text, reading: ScriptedModel, plan: Plan = PLAN, done: Sequence[Step] = ()):
    async def gather() -> list[Step | Answer]:
        return [event async for event in load_way(way)(document, QUESTION, reading, plan, done)]

    return asyncio.run(gather())


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

    rest = events(way, pages(first=150, second=155), model_of(listen), done=done)
    assert isinstance(rest[-1], Answer)
    assert rest[0].before.text == text
    assert any(text in prompt for prompt in prompts)


def model_of(script) -> ScriptedModel:
    return ScriptedModel(script, judge=judge, window=900)


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


def test_parallel_does_not_exit_early():
    with pytest.raises(InputError, match="no segment knows"):
        events("parallel+early-exit", pages(), model())


def test_known_names_are_those_that_load():
    assert is_known("gated+edits")
    assert is_known("sequential")
    assert not is_known("gated+nothing")


def test_what_a_gate_skips_is_a_flagged_step_with_its_score():
    reading = model()
    *steps, _ = events("gated", pages(), reading)
    skipped = [step for step in steps if Flag.SKIPPED in step.flags]
    assert len(skipped) == len(steps) - 2
    assert all(step.before == step.after for step in skipped)
    assert all(step.score is not None and step.score < 0.5 for step in skipped)
    assert [step.score > 0.5 for step in steps if step not in skipped] == [True, True]
    assert reading.calls == len(steps) + 2 + 1


def test_judgement_and_writing_share_the_words_up_to_the_end_of_the_memory():
    prompts = prompts_for(PLAN, QUESTION)
    shared = {"question": "Q?", "memory": "M.", "section": "S."}
    turns = [prompts.turn(name, **shared)[-1].content for name in ("judge", "edits", "heads")]
    update = prompts._messages(prompts.updates["section-first"], **shared)[-1].content
    for turn in (*turns, update):
        assert turn.partition("</memory>")[0] == update.partition("</memory>")[0]
    about = prompts.turn("about", question="", section="S.")[-1].content
    assert update.startswith(about.partition("\n\nWrite")[0])


def test_early_exit_leaves_the_rest_unread_and_says_so():
    document = pages()
    reading = model()
    *steps, answer = events("early-exit", document, reading)
    assert answer.text == "Tern Point"
    assert Flag.UNREAD in steps[-1].flags
    assert steps[-1].chunk.end == document.length
    assert len(steps) < 40
    assert [Flag.UNREAD in step.flags for step in steps[:-1]] == [False] * (len(steps) - 1)


def test_an_answer_that_the_text_does_not_bear_out_does_not_stop_the_reading():
    def invent(messages: Sequence[Message]) -> str:
        prompt = messages[-1].content
        return "\\boxed{Gull Rock}" if "<section>" not in prompt and "<memory>" in prompt else reader(messages)

    *steps, _ = events("early-exit", pages(), ScriptedModel(invent, judge=judge, window=900))
    assert not any(Flag.UNREAD in step.flags for step in steps)


def test_an_answer_that_there_is_none_does_not_stop_the_reading():
    def deny(messages: Sequence[Message]) -> str:
        prompt = messages[-1].content
        # The words of the answer stand in the text, so evidence alone would bear it out.
        return "\\boxed{not said}" if "<section>" not in prompt and "<memory>" in prompt else reader(messages)

    document = Text(pages().text.replace("Nothing else", "It is not said what else"))
    *steps, _ = events("early-exit", document, ScriptedModel(deny, judge=judge, window=900))
    assert not any(Flag.UNREAD in step.flags for step in steps)


def test_a_question_about_the_whole_document_is_read_to_its_end():
    async def gather():
        way = load_way("early-exit")
        return [e async for e in way(pages(), f"{QUESTION} List all places.", model(), PLAN, ())]

    *steps, _ = asyncio.run(gather())
    assert not any(Flag.UNREAD in step.flags for step in steps)


def test_ranked_reads_what_the_question_and_then_the_memory_point_to():
    document = pages(first=120, second=15)
    *steps, answer = events("ranked", document, model())
    read = [document.text[step.chunk.start : step.chunk.end] for step in steps if Flag.UNREAD not in step.flags]
    assert FIRST in read[0]
    assert SECOND in read[1]
    assert len(read) == 2
    assert answer.text == "Tern Point"


def test_ranked_reads_everything_when_nothing_suffices():
    reading = ScriptedModel(reader, judge=lambda _m, _o: [-4.0, -0.02], window=900)
    *steps, _ = events("ranked", pages(), reading)
    assert not any(Flag.UNREAD in step.flags for step in steps)


def test_parallel_keeps_what_a_single_segment_found():
    *steps, answer = events("parallel", pages(first=70, second=72), model())
    assert answer.text == "Tern Point"
    assert steps[-1].after.text.splitlines() == [FIRST, SECOND]


def test_segments_read_side_by_side_and_each_waits_for_its_own_step():
    calls: list[int] = []
    stored: list[int] = []

    class Watching(ScriptedModel):
        async def reply(self, messages, *, limit, sampling):
            calls.append(len(stored))
            await asyncio.sleep(0)
            return await super().reply(messages, limit=limit, sampling=sampling)

    async def drive():
        async for event in load_way("parallel")(pages(), QUESTION, Watching(reader, window=900), PLAN, ()):
            stored.append(1)
            if isinstance(event, Answer):
                return

    asyncio.run(drive())
    assert calls[:8] == [0] * 8
    # A segment's next call never starts before one more step was taken in.
    assert all(calls[8 + n] >= n + 1 for n in range(len(calls) - 9))


def test_a_failing_segment_loses_none_of_the_steps_that_ended_before_it():
    seen: list[Step | Answer] = []

    async def read_on():
        reading = ScriptedModel(reader, window=900, faults={12: ServerFault("503")})
        async for event in load_way("parallel")(pages(), QUESTION, reading, PLAN, ()):
            seen.append(event)  # noqa: PERF401

    with pytest.raises(ServerFault):
        asyncio.run(read_on())
    assert len(seen) >= 12
    assert len({(step.chunk.start, step.chunk.end) for step in seen}) == len(seen)


def test_look_back_reads_again_what_the_memory_points_to():
    # The home is told first, when it means nothing yet; only the owner's name makes it matter.
    def forgetful(messages: Sequence[Message]) -> str:
        prompt = messages[-1].content
        if "<section>" in prompt and FIRST not in tag(prompt, "section") and FIRST not in tag(prompt, "memory"):
            return "UNCHANGED"
        return reader(messages)

    document = pages(first=120, second=15)
    assert events("sequential", document, ScriptedModel(forgetful, window=900))[-1].text == "unknown"
    *steps, answer = events("look-back", document, ScriptedModel(forgetful, window=900))
    assert answer.text == "Tern Point"
    spans = [(step.chunk.start, step.chunk.end) for step in steps]
    again = [span for number, span in enumerate(spans) if span in spans[:number]]
    assert 1 <= len(again) <= len(steps) // 10 + 1


def test_a_chunk_near_the_threshold_is_looked_back_at():
    def unsure(messages: Sequence[Message], options: Sequence[str]) -> list[float]:
        return [-1.0, -0.9] if facts_in(tag(messages[-1].content, "section")) else [-6.0, -0.01]

    *steps, answer = events("gated+look-back", pages(), ScriptedModel(reader, judge=unsure, window=900))
    assert answer.text == "Tern Point"
    assert sum(Flag.SKIPPED in step.flags for step in steps) == len(steps) - 2


def test_the_plan_is_a_step_whose_memory_is_the_smaller_questions():
    prompts: list[str] = []

    def listen(messages: Sequence[Message]) -> str:
        prompts.append(messages[-1].content)
        return reader(messages)

    first, *_ = events("planned", pages(), ScriptedModel(listen, window=900))
    assert (first.chunk.start, first.chunk.end) == (0, 0)
    assert first.after.text == "Who owns the ship Halcyon?\nWhere does this person live?"
    assert all("Where does this person live?" in tag(prompt, "question") for prompt in prompts[1:])
    assert tag(prompts[1], "memory") == "(no notes yet)"


def test_gates_by_likelihood_ask_once_for_the_question_alone():
    asked: list[str] = []

    def likely(messages: Sequence[Message], continuation: str) -> list[float]:
        asked.append(tag(messages[-1].content, "section"))
        assert continuation == QUESTION
        return [-1.0 if facts_in(asked[-1]) else -3.0] * 4

    plan = replace(PLAN, gate=GatePlan(scorer="likelihood", threshold=0.5))
    reading = ScriptedModel(reader, likelihood=likely, window=900)
    *steps, answer = events("gated", pages(), reading, plan=plan)
    assert answer.text == "Tern Point"
    assert asked.count("") == 1
    assert {round(step.score, 3) for step in steps} == {0.0, 2.0}


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
