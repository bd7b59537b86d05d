"""What each part of a composed way does: gates, early exit, ranks, segments, looks back and plans."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import pytest
from halcyon import FIRST, PLAN, QUESTION, SECOND, events, facts_in, judge, model, pages, reader, tag
from way_runs import Text

from bookwheel.errors import InputError, ServerFault
from bookwheel.flags import Flag
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import GatePlan
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.ranked import is_borne_out
from bookwheel.reading.ways.registry import load_way
from bookwheel.types import Answer, Chunk, Conversation, Finish, Memory, Message, Reply, Step


def test_parallel_does_not_exit_early():
    with pytest.raises(InputError, match="no segment knows"):
        events("parallel+early-exit", pages(), model())


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
    *steps, _ = events("early-exit", pages(), model(), question=f"{QUESTION} List all places.")
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
    below = "Smaller questions that help to answer it:\nWho owns the ship Halcyon?\nWhere does this person live?"
    assert all(tag(prompt, "question") == f"{QUESTION}\n\n{below}" for prompt in prompts[1:-1])
    assert tag(prompts[-1], "question") == QUESTION
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


def test_only_the_text_that_was_read_bears_an_answer_out():
    text = "Bo Reed lit the lamp. ", "Rain fell. Rain fell. ", "Ada Quill signed it. "
    document, chunks, end = Text("".join(text)), [], 0
    for index, part in enumerate(text):
        chunks.append(Chunk(index=index, start=end, end=end + len(part), text="", tokens=9))
        end += len(part)

    def borne_out(answer: str, *read: Step) -> bool:
        said = Conversation(messages=(), reply=Reply(text=answer))
        context = SimpleNamespace(question="Who?", document=document)
        return is_borne_out(Answer(text=answer, conversation=said), read, context)

    blank = Memory.blank(9)
    first, middle, last = (
        Step(chunk=chunk, before=blank, after=blank, conversation=Conversation(messages=(), reply=Reply(text="")))
        for chunk in chunks
    )
    # In an order of its own, as by rank: the last chunk first, then the first.
    assert borne_out("Ada Quill signed it.", last, first)
    assert not borne_out("Bo Reed lit the lamp.", last, middle)
    assert not borne_out("Bo Reed lit the lamp.", replace(first, flags=(Flag.SKIPPED,)), last)


@pytest.mark.parametrize("way", ["map-reduce", "parallel"])
def test_a_way_that_is_closed_leaves_no_call_under_way(way):
    class Stuck(ScriptedModel):
        begun = 0

        async def reply(self, messages, *, limit, sampling):
            self.begun += 1
            if self.begun > 1:
                await asyncio.Event().wait()
            return await super().reply(messages, limit=limit, sampling=sampling)

    async def close_after_one_step() -> int:
        reading = load_way(way)(pages(), QUESTION, Stuck(reader, window=900), PLAN)
        assert isinstance(await anext(reading), Step)
        under_way = len(asyncio.all_tasks())
        await reading.aclose()
        assert len(asyncio.all_tasks()) == 1
        return under_way

    assert asyncio.run(close_after_one_step()) > 2


def hoard(reply_to_room):
    """A reader that adds a line for each section, and names these lines to give up."""

    def script(messages: Sequence[Message]) -> str:
        prompt = messages[-1].content
        if prompt.endswith("Lines to give up:"):
            return reply_to_room(tag(prompt, "memory").splitlines())
        if prompt.endswith("Changes:"):
            new = facts_in(tag(prompt, "section")) or [f"Of {tag(prompt, 'section')[:8]}: nothing of use stands here."]
            return "\n".join(f"ADD: {line}" for line in new)
        return reader(messages)

    return script


def name_useless(lines):
    return "\n".join(f"DROP {n}" for n, line in enumerate(lines, 1) if not facts_in(line))


def test_a_full_memory_gives_up_only_the_lines_that_the_model_names_and_that_must_go():
    reading = model(hoard(name_useless))
    *steps, answer = events("edits", pages(), reading)
    assert answer.text == "Tern Point"
    assert not any(Flag.REWRITTEN in step.flags for step in steps)
    assert reading.calls > len(steps) + 1
    assert sum(event.conversation.reply.usage.calls for event in (*steps, answer)) == reading.calls
    for step in steps:
        lost = set(step.before.text.splitlines()) - set(step.after.text.splitlines())
        assert len(lost) <= 2
        assert not lost or step.after.tokens > PLAN.memory_tokens - 40
        assert lost <= set(step.given_up)
        assert bool(step.given_up) is (Flag.GAVE_UP in step.flags)


def test_a_reader_that_names_too_few_lines_is_asked_once_more():
    calls = []

    def script(messages):
        prompt = messages[-1].content
        lines = tag(prompt, "memory").splitlines()
        calls.append(prompt[-16:])
        if prompt.endswith("Changes:"):
            return f"ADD: {'so long a line, ' * (4 if len(calls) % 3 else 1)}{len(calls)}"
        shortest = min(range(len(lines)), key=lambda line: len(lines[line]))
        return hoard(lambda _: f"DROP {shortest + 1}")(messages)

    *steps, _ = events("edits", pages(), model(script))
    twice = [step for step in steps if step.conversation.reply.usage.calls == 3 and Flag.REWRITTEN not in step.flags]
    assert twice
    assert all(Flag.GAVE_UP in step.flags and step.after.tokens <= PLAN.memory_tokens for step in twice)


def test_a_full_memory_asks_for_as_many_words_as_it_is_too_long_by():
    asked = []

    def script(messages):
        if messages[-1].content.endswith("Lines to give up:"):
            asked.append(messages[-1].content)
        return hoard(name_useless)(messages)

    events("edits", pages(), model(script))
    assert asked
    assert all(re.search(r"until they have \d+ words together", prompt) for prompt in asked)


@pytest.mark.parametrize("reply", ["none of them", "DROP 99", "ADD: more", "REPLACE 1: a shorter line"])
def test_a_full_memory_is_written_anew_where_no_line_is_named(reply):
    *steps, answer = events("edits", pages(), model(hoard(lambda _: reply)))
    assert answer.text == "Tern Point"
    rewritten = [step for step in steps if Flag.REWRITTEN in step.flags]
    assert rewritten
    assert all(step.conversation.reply.usage.calls == 3 for step in rewritten)


def test_changes_that_a_filter_cut_off_are_not_made():
    def script(messages):
        filtered = Reply(text="ADD: Tern Point fell into the s", finish=Finish.FILTER)
        return filtered if messages[-1].content.endswith("Changes:") else reader(messages)

    *steps, _ = events("edits", pages(), model(script))
    assert {(step.after.text, step.flags) for step in steps} == {("", (Flag.FILTERED,))}


def test_parallel_says_in_how_many_segments_it_read():
    few = [step for step in events("parallel", Text("The harbour lay still. " * 60), model()) if isinstance(step, Step)]
    many = [step for step in events("parallel", pages(), model()) if isinstance(step, Step)]
    told = [next(s for s in steps if s.chunk.start == s.chunk.end).conversation.reply.text for steps in (few, many)]
    assert told[0].startswith("read in one go")
    assert "segments were read side by side" in told[1]


def test_a_reading_goes_on_in_the_segments_in_which_it_was_begun():
    *older, _ = events("parallel", pages(), model(), replace(PLAN, chunk_tokens=300))
    first = next(step for step in older if step.chunk.start == 0)
    *rest, answer = events("parallel", pages(), model(), done=[first])
    told, again = (next(s for s in steps if s.chunk.start == s.chunk.end) for steps in (older, rest))
    assert again.conversation.reply.text == told.conversation.reply.text
    assert answer.text == "Tern Point"
    afresh = events("parallel", pages(), model())
    assert not any(isinstance(e, Step) and e.conversation.reply.text == told.conversation.reply.text for e in afresh)


def test_lines_that_are_numbered_by_hand_are_shown_with_one_number():
    shown = []

    def script(messages):
        if messages[-1].content.endswith("Changes:"):
            shown.append(tag(messages[-1].content, "memory"))
        return "UNCHANGED"

    first = next(event for event in events("edits", pages(), model()) if isinstance(event, Step))
    by_hand = replace(first.after, text="1. Ada Quill is meant.\n1911. A year.", tokens=9)
    events("edits", pages(), model(script), done=[replace(first, after=by_hand)])
    assert set(shown) == {"1. Ada Quill is meant.\n2. 1911. A year."}


def test_a_line_that_is_replaced_by_the_word_for_unchanged_stays_as_it_is():
    first = next(event for event in events("edits", pages(), model()) if isinstance(event, Step))
    known = replace(first.after, text="Ada Quill is meant.\nShe paid 40.", tokens=9)
    script = model(lambda _: "REPLACE 1: (unchanged)\nREPLACE 2: She paid 50.")
    second = events("edits", pages(), script, done=[replace(first, after=known)])[0]
    assert second.after.text == "Ada Quill is meant.\nShe paid 50."
    only = events("edits", pages(), model(lambda _: "REPLACE 1: UNCHANGED"), done=[replace(first, after=known)])[0]
    assert (only.after.text, only.flags) == (known.text, (Flag.UNCHANGED,))


@pytest.mark.parametrize("polite", ["", "Sure! Here is the part:\n\n"])
def test_a_part_may_be_introduced_and_a_rewriting_is_shown_no_headings(polite):
    asked = []

    def script(messages):
        prompt = messages[-1].content
        if prompt.endswith("New part:"):
            reply = reader(messages)
            return reply if reply == "UNCHANGED" else polite + reply
        asked.append(tag(prompt, "memory"))
        return reader(messages)

    *steps, answer = events("heads", pages(), model(script))
    assert answer.text == "Tern Point"
    assert not any(Flag.REWRITTEN in step.flags for step in steps)

    def refuse(messages):
        is_refused = messages[-1].content.endswith("New part:") and facts_in(tag(messages[-1].content, "memory"))
        return "so be it, as any old poet would have sung" if is_refused else script(messages)

    asked.clear()
    *steps, answer = events("heads", pages(), model(refuse))
    assert answer.text == "Tern Point"
    assert any(FIRST in memory for memory in asked[:-1])
    assert not any("Part 1" in memory for memory in asked[:-1])
