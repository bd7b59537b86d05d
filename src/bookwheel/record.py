"""A reading as JSON: the one shape that `ask --json`, `show --json` and the HTTP API return.

The record leaves out the document's text and the prompts: both can be rebuilt from the document, and would make the
record as large as the document. A reading parsed from JSON therefore has empty chunk texts, no messages and no token
records.

Texts with lone surrogates survive `json.dumps` and `json.loads` with the default `ensure_ascii=True`.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bookwheel.plan import Plan
from bookwheel.types import (
    Answer,
    Chunk,
    Claim,
    Conversation,
    DocumentInfo,
    Evidence,
    Finish,
    Flag,
    Memory,
    Reading,
    Reply,
    Status,
    Step,
    Usage,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


def reading_to_json(reading: Reading, *, steps: bool = True) -> dict[str, Any]:
    """Return plain values for `json.dumps`. `steps=False` leaves out steps, gaps and evidence, for lists."""
    values: dict[str, Any] = {
        "reading": reading.id,
        "status": str(reading.status),
        "question": reading.question,
        "answer": reading.answer.text if reading.answer else None,
        "answer_turn": _answer_turn_to_json(reading.answer) if reading.answer else None,
        "verdict": str(reading.verdict) if reading.verdict else None,
        "claims": [claim_to_json(claim) for claim in reading.claims],
        "model": reading.model,
        "way": reading.way,
        "language": reading.language,
        "document": {**asdict(reading.document), "notes": list(reading.document.notes)},
        "plan": reading.plan.to_json(),
        "usage": asdict(reading.usage),
        "cost": reading.cost,
        "error": reading.error,
        "parent": reading.parent,
        "created": reading.created,
    }
    if steps:
        values["steps"] = _steps_to_json(reading)
        values["gaps"] = [gap_to_json(step) for step in reading.gaps]
        values["evidence"] = [evidence_to_json(evidence) for evidence in reading.evidence]
    return values


def reading_from_json(values: Mapping[str, Any]) -> Reading:
    """Return the reading of a record that `reading_to_json` made."""
    plan = Plan.from_json(values["plan"])
    return Reading(
        id=values["reading"],
        document=_document_from_json(values["document"]),
        question=values["question"],
        plan=plan,
        model=values["model"],
        way=values["way"],
        language=values["language"],
        status=Status(values["status"]),
        steps=_steps_from_json(values.get("steps", ()), plan.memory_tokens),
        answer=_answer_from_json(values["answer"], values["answer_turn"]),
        usage=Usage(**values["usage"]),
        evidence=tuple(evidence_from_json(evidence) for evidence in values.get("evidence", ())),
        claims=tuple(claim_from_json(claim) for claim in values.get("claims", ())),
        error=values["error"],
        parent=values["parent"],
        created=values["created"],
    )


def gap_to_json(step: Step) -> dict[str, Any]:
    """Return a section that was not taken in as plain values."""
    chunk = step.chunk
    place = {"step": chunk.index, "start": chunk.start, "end": chunk.end, "pages": list(chunk.pages)}
    return {**place, "flags": [str(flag) for flag in step.flags]}


def evidence_to_json(evidence: Evidence) -> dict[str, Any]:
    """Return one passage behind an answer as plain values."""
    return {**asdict(evidence), "pages": list(evidence.pages)}


def evidence_from_json(values: Mapping[str, Any]) -> Evidence:
    """Return the evidence of a record that `evidence_to_json` made."""
    return Evidence(**{**values, "pages": tuple(values["pages"])})


def claim_to_json(claim: Claim) -> dict[str, Any]:
    """Return one sentence of an answer as plain values."""
    return {
        "text": claim.text,
        "verdict": str(claim.verdict),
        "evidence": list(claim.evidence),
        "step": claim.step,
        "missing": list(claim.missing),
    }


def claim_from_json(values: Mapping[str, Any]) -> Claim:
    """Return the claim of a record that `claim_to_json` made."""
    return Claim(
        text=values["text"],
        verdict=Verdict(values["verdict"]),
        evidence=tuple(values["evidence"]),
        step=values["step"],
        missing=tuple(values["missing"]),
    )


def _document_from_json(values: Mapping[str, Any]) -> DocumentInfo:
    # Older records have no notes.
    return DocumentInfo(**{**values, "notes": tuple(values.get("notes", ()))})


def _steps_to_json(reading: Reading) -> list[dict[str, Any]]:
    records, memory = [], Memory.blank(reading.plan.memory_tokens)
    for step in reading.steps:
        records.append(step_to_json(step, follows=step.before == memory))
        memory = step.after
    return records


def step_to_json(step: Step, *, follows: bool = True) -> dict[str, Any]:
    """Return one step as plain values. `follows`: its memory before is the last step's after, and is left out."""
    chunk, reply = step.chunk, step.conversation.reply
    before = {} if follows else {"before": step.before.text, "before_tokens": step.before.tokens}
    return {
        "index": chunk.index,
        "start": chunk.start,
        "end": chunk.end,
        "pages": list(chunk.pages),
        "source": ", ".join(chunk.sources),
        "sources": list(chunk.sources),
        "tokens": chunk.tokens,
        **before,
        "memory": step.after.text,
        "memory_tokens": step.after.tokens,
        "flags": [str(flag) for flag in step.flags],
        **({} if step.score is None else {"score": step.score}),
        "reply": reply.text,
        "finish": str(reply.finish),
        "usage": asdict(reply.usage),
    }


def _steps_from_json(records: list[Mapping[str, Any]], limit: int) -> tuple[Step, ...]:
    steps: list[Step] = []
    memory = Memory.blank(limit)
    for values in records:
        steps.append(_step_from_json(values, memory))
        memory = steps[-1].after
    return tuple(steps)


def _step_from_json(values: Mapping[str, Any], memory: Memory) -> Step:
    before = memory
    if "before" in values:
        before = Memory(text=values["before"], tokens=values["before_tokens"], limit=memory.limit)
    return Step(
        chunk=Chunk(
            index=values["index"],
            start=values["start"],
            end=values["end"],
            text="",
            tokens=values["tokens"],
            sources=tuple(values["sources"]),
            pages=tuple(values["pages"]),
        ),
        before=before,
        after=Memory(text=values["memory"], tokens=values["memory_tokens"], limit=memory.limit),
        conversation=_conversation_from_json(values),
        flags=tuple(Flag(flag) for flag in values["flags"]),
        score=values.get("score"),
    )


def _answer_turn_to_json(answer: Answer) -> dict[str, Any]:
    reply = answer.conversation.reply
    return {
        "reply": reply.text,
        "finish": str(reply.finish),
        "flags": [str(flag) for flag in answer.flags],
        "usage": asdict(reply.usage),
    }


def _answer_from_json(text: str | None, turn: Mapping[str, Any] | None) -> Answer | None:
    if text is None or turn is None:
        return None
    return Answer(
        text=text, conversation=_conversation_from_json(turn), flags=tuple(Flag(flag) for flag in turn["flags"])
    )


def _conversation_from_json(values: Mapping[str, Any]) -> Conversation:
    usage = Usage(**values["usage"])
    return Conversation(messages=(), reply=Reply(text=values["reply"], finish=Finish(values["finish"]), usage=usage))
