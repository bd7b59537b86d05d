"""The whole of MemAgent's reading: a document of any length past one fixed-size memory.

    m_0 = nothing
    m_k = model(question, m_{k-1}, chunk_k)      one fresh conversation a chunk; its reply overwrites the memory
    answer = model(question, m_K)                one last conversation, without the document

The cost is linear in the document and the window stays the same. Every m_k is plain text and is yielded with the
conversation that made it, so that whoever drives this generator can keep, show, judge or train on it. It knows
nothing of journals, budgets or rewards. Other ways of reading are other functions with this signature.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from typing import Final, Protocol

from bookwheel.errors import QuestionError
from bookwheel.flags import Flag
from bookwheel.models.base import Model, count_messages
from bookwheel.patterns import compile_late
from bookwheel.plan import Plan, Sampling
from bookwheel.reading.guards import clean, next_memory
from bookwheel.reading.prompts import Prompts, prompts_for
from bookwheel.text.boxes import find_around, find_box
from bookwheel.text.chunks import split_ahead
from bookwheel.text.remarks import is_absence, is_refusal
from bookwheel.types import Answer, Chunk, Conversation, Document, Finish, Memory, Message, Step

_LABEL: Final = compile_late(
    r"\A[*#_\s]*(?:(?:the |my )?(?:final )?answer|(?:最终)?答案)[*_]*\s*[:：][*_]*\s*", re.IGNORECASE
)


class Way(Protocol):
    """A way of reading: yields every step, then the answer. `done` holds the steps that a resumed reading has."""

    def __call__(
        self, document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
    ) -> AsyncGenerator[Step | Answer]:
        """Nothing more is asked of the model until the next event is asked for."""
        ...


async def read(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
) -> AsyncGenerator[Step | Answer]:
    """Read the chunks in order, then answer. Raises PlanError or QuestionError before the first call."""
    prompts = prompts_for(plan, question)
    check(question, model, plan, prompts)
    memory = done[-1].after if done else Memory.blank(plan.memory_tokens)
    position = done[-1].chunk.end if done else 0
    async for chunk in split_ahead(document, model.tokenizer, plan.chunk_tokens, start=position, index=len(done)):
        step = await update(question, memory, chunk, model, plan, prompts)
        yield step
        memory = step.after
    yield await answer(question, memory, model, plan, prompts)


async def update(question: str, memory: Memory, chunk: Chunk, model: Model, plan: Plan, prompts: Prompts) -> Step:
    """One step: question, memory and chunk in; the next memory out."""
    messages = prompts.update(question, memory, chunk, plan.layout)
    said = await converse(messages, model, plan.memory_tokens, plan.sampling)
    scene = prompts.set_scene(question, memory, chunk.shown)
    after, flags = next_memory(memory, said.reply, model.tokenizer, scene)
    return Step(chunk=chunk, before=memory, after=after, conversation=said, flags=flags)


async def answer(question: str, memory: Memory, model: Model, plan: Plan, prompts: Prompts) -> Answer:
    """Take the last turn: question and memory in, the answer out, under a token limit of its own."""
    messages = prompts.answer(question, memory)
    said = await converse(messages, model, plan.answer_tokens, plan.sampling)
    # The word of the turns before, which is about the memory.
    word = prompts.unchanged if prompts.unchanged not in memory.text else ""
    if not _is_only(said, word):
        return conclude(said)
    again = await converse(messages, model, plan.answer_tokens, plan.sampling)
    final = conclude(again.add_usage(said.reply.usage))
    return replace(final, flags=(*final.flags, Flag.NO_ANSWER)) if _is_only(again, word) else final


def _is_only(said: Conversation, word: str) -> bool:
    return bool(word) and clean(said.reply.text)[0].strip(" .。*_`") == word


def conclude(said: Conversation) -> Answer:
    """Return the answer that the last conversation gave."""
    text, cleaned = clean(said.reply.text)
    # What the model was shown so is no LaTeX of its own.
    boxed, is_cut = find_box(text, "\n".join(message.content for message in said.messages))
    final = _LABEL.sub("", text) if boxed is None else boxed or find_around(text)
    # What stands in a box is an answer, and may be somebody's words.
    is_refused = boxed is None and is_refusal(final) and not is_absence(final)
    flags = (
        *((Flag.TRUNCATED,) if is_cut or said.reply.finish is Finish.LENGTH else ()),
        *((Flag.FILTERED,) if said.reply.finish is Finish.FILTER else ()),
        *((Flag.CLEANED,) if cleaned else ()),
        *((Flag.NO_ANSWER,) if is_refused or not final else ()),
    )
    return Answer(text=final, conversation=said, flags=flags)


async def converse(messages: Sequence[Message], model: Model, limit: int, sampling: Sampling) -> Conversation:
    reply = await model.reply(messages, limit=limit, sampling=sampling)
    return Conversation(messages=tuple(messages), reply=reply)


def check(question: str, model: Model, plan: Plan, prompts: Prompts) -> None:
    """Refuse what cannot be read in full: no question, one over its budget, a plan beyond the model's window."""
    tokens = check_question(question, model, plan)
    plan.check(model.window, question=tokens, template=template_tokens(model, plan, prompts))


def check_question(question: str, model: Model, plan: Plan) -> int:
    """Return the question's tokens; QuestionError when it is empty or over its budget."""
    if not question.strip():
        raise QuestionError("the question is empty; ask something about the document")
    tokens = model.tokenizer.count(question)
    if tokens > plan.question_tokens:
        raise QuestionError(
            f"the question has {tokens} tokens and its budget is {plan.question_tokens}: "
            f"shorten it, or raise --question-tokens"
        )
    return tokens


def template_tokens(model: Model, plan: Plan, prompts: Prompts, *others: Sequence[Message]) -> int:
    """Return the tokens of prompt and chat template alone, for the longest of the two turns and of any others."""
    words = max(count_messages(turn, model.tokenizer) for turn in (*prompts.empty(plan.layout), *others))
    return words + model.template_tokens + model.tokenizer.count(prompts.blank)
