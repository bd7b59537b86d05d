"""The question and the plan of a chat's reading: the conversation beside the question, within the model's window."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bookwheel.errors import PlanError
from bookwheel.reading.follow_up import find_newest_turn
from bookwheel.reading.loop import template_tokens
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.question_words import QuestionWords
from bookwheel.serve.openai.answer_step import find_answer_schema, is_schema_optional

if TYPE_CHECKING:
    from collections.abc import Callable

    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.serve.engine.service import Service
    from bookwheel.serve.openai.conversation import ChatParts
    from bookwheel.serve.openai.schemas import ChatShape


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedQuestion:
    """A question with the conversation around it, the plan to read by, and notes on what was left out."""

    question: str
    plan: Plan
    notes: tuple[str, ...] = ()


def plan_question(service: Service, chat: ChatShape, conversation: ChatParts, model: Model) -> PlannedQuestion:
    """Return what to ask and how to read. It counts tokens, which may wait for a server's tokenizer."""
    values: dict[str, Any] = {"sampling": _list_sampling(chat)}
    if schema := find_answer_schema(chat):
        values |= {"schema": schema, "schema_optional": is_schema_optional(chat)}
    plan = service.make_plan(model.name, values, chat.plan)
    count = model.tokenizer.count
    conversation, alone = _leave_turns(conversation, plan)
    plan = _widen_question(plan, count(conversation.question), is_fixed="question_tokens" in chat.plan)
    conversation, left_out = _leave_instructions(conversation, plan.question_tokens, count)
    question, notes = conversation.format_question(count, plan.question_tokens)
    notes = (*alone, *left_out, *notes)
    if chat.limit is not None and "answer_tokens" not in chat.plan:
        plan = _limit_answer(plan, chat.limit, count(question), model)
    return PlannedQuestion(question=question, plan=plan, notes=notes)


def _list_sampling(chat: ChatShape) -> dict[str, Any]:
    given = {name: getattr(chat, name) for name in ("temperature", "top_p", "seed")}
    return {name: value for name, value in given.items() if value is not None}


def _widen_question(plan: Plan, tokens: int, *, is_fixed: bool) -> Plan:
    """Return the plan with room for a long question, taken from the chunk; unchanged where too little were left."""
    extra = tokens - plan.question_tokens
    if is_fixed or extra <= 0 or 2 * extra > plan.chunk_tokens:
        return plan
    return replace(plan, question_tokens=tokens, chunk_tokens=plan.chunk_tokens - extra)


def _leave_turns(conversation: ChatParts, plan: Plan) -> tuple[ChatParts, tuple[str, ...]]:
    """Return what was typed last alone, and a note, for a plan that only quotes.

    Such a reader looks for the question's words, and those of earlier answers stand in the document for certain. A
    question without words of its own ("And when?") keeps the turns.
    """
    typed = find_newest_turn(conversation.question)
    is_alone = not conversation.earlier and not conversation.later
    if is_alone or not prompts_for(plan, typed).quotes or not QuestionWords(typed).has_subject:
        return conversation, ()
    note = "earlier turns went unread: the model only looks for passages to quote"
    return replace(conversation, question=typed, earlier=(), later=()), (note,)


def _leave_instructions(
    conversation: ChatParts, room: int, count: Callable[[str], int]
) -> tuple[ChatParts, tuple[str, ...]]:
    """Return the conversation with what the user typed alone, and a note, where the whole question has no room.

    Clients of retrieval put some 500 tokens of rules before a question, more than a small model's plan has for it.
    """
    typed = find_newest_turn(conversation.question)
    if count(conversation.question) <= room or count(typed) > room:
        return conversation, ()
    note = "the instructions before the question did not fit beside it and were left out"
    return replace(conversation, question=typed), (note,)


def _limit_answer(plan: Plan, limit: int, question: int, model: Model) -> Plan:
    """Return the plan with the client's limit of the answer, as far as the window has room for it."""
    limited = plan.with_values({"answer_tokens": limit})
    if limit <= plan.answer_tokens or model.window is None:
        return limited
    template = template_tokens(model, plan, prompts_for(plan, ""))
    try:
        limited.check(model.window, question=question, template=template)
    except PlanError:
        room = model.window - plan.answer_turn_tokens(question=question, template=template) + plan.answer_tokens
        return replace(plan, answer_tokens=max(plan.answer_tokens, min(limit, room)))
    return limited
