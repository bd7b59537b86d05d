"""A reading as JSON: the one shape that `ask --json`, `show --json`, the HTTP API and its description have.

The types here are the schema: the functions that make the values are checked against them, and the OpenAPI document is
generated from them. Values that are a dataclass written out have its schema (`SchemaOf`).

The record leaves out the document's text and the prompts: both can be rebuilt from the document, and would make the
record as large as the document. A reading parsed from JSON therefore has empty chunk texts, no messages and no token
records.

Texts with lone surrogates survive `json.dumps` and `json.loads` with the default `ensure_ascii=True`. Pydantic takes no
such text, so records are parsed by hand.
"""

from collections.abc import Mapping
from typing import (
    Annotated,
    Any,
    Final,
    NotRequired,  # pydantic cannot read TypedDict of typing before Python 3.12
    TypeAlias,
    cast,
)

from typing_extensions import TypedDict

from bookwheel.claims import Claim, Evidence, Fit, Sign, Verdict
from bookwheel.flags import Flag
from bookwheel.plan import Plan
from bookwheel.schema import SchemaOf, from_plain, make_fields, to_plain
from bookwheel.types import (
    Answer,
    Chunk,
    Conversation,
    DocumentInfo,
    Finish,
    Memory,
    Reading,
    Reply,
    ScoredLine,
    Status,
    Step,
    Usage,
    WayChoice,
)
from bookwheel.views.diff import ChangeKind, changed_share, diff_memories
from bookwheel.views.verdicts import Caution, list_cautions

UsageJson: TypeAlias = Annotated[dict[str, Any], SchemaOf(Usage)]
ClaimJson: TypeAlias = Annotated[dict[str, Any], SchemaOf(Claim)]
DocumentJson: TypeAlias = Annotated[dict[str, Any], SchemaOf(DocumentInfo)]
ChoiceJson: TypeAlias = Annotated[dict[str, Any], SchemaOf(WayChoice)]
CautionJson: TypeAlias = Annotated[dict[str, Any], SchemaOf(Caution)]
LineJson: TypeAlias = Annotated[dict[str, Any], SchemaOf(ScoredLine)]
PlanJson: TypeAlias = Annotated[dict[str, Any], SchemaOf(Plan)]
FINDINGS: Final = ("choice", "ranking", "lines", "given_up")
"""The fields of a step that most steps have nothing in."""
# The fields of a reading that stand in its record under their own names.
_SAME: Final = (
    *("document", "question", "model", "way", "language", "status", "usage", "evidence", "claims"),
    *("error", "error_kind", "parent", "created"),
)


class EvidenceJson(TypedDict):
    """A verbatim passage of the document."""

    quote: str
    start: int
    end: int
    step: int | None
    """The step that read it; null where no step did."""
    source: str
    sources: list[str]
    """The files, paths or addresses that it stands in; nearly always one."""
    page: int | None
    pages: list[int]
    line: int | None
    lines: list[int]
    """The first and the last line of its file, of a text that is read as it stands; else none."""


class MemoryChangeJson(TypedDict):
    """One line of the memory after a step, or one that the step removed."""

    kind: ChangeKind
    text: str
    words: NotRequired[list[tuple[ChangeKind, str]]]
    """The parts of a reworded line."""


class FindingsJson(TypedDict):
    """What a step found beside its score; only what there is."""

    choice: NotRequired[ChoiceJson]
    """The way that the reading goes on by, in the step that chose it."""
    ranking: NotRequired[list[float]]
    """How near the chunks, or the passages, of the document are to the question, in the step that measured them."""
    lines: NotRequired[list[LineJson]]
    """What each line of the memory is worth, where the way chooses passages."""
    given_up: NotRequired[list[str]]
    """The lines that a full memory lost."""


class StepJson(FindingsJson):
    """One chunk read."""

    index: int
    start: int
    end: int
    pages: list[int]
    source: str
    sources: list[str]
    tokens: int
    before: NotRequired[str]
    """The memory before the step, where it is not the one after the last step: it was edited by hand."""
    before_tokens: NotRequired[int]
    memory: str
    memory_tokens: int
    flags: list[Flag]
    score: NotRequired[float]
    """The judgement of the section, where the way of reading makes one."""
    reply: str
    finish: Finish
    usage: UsageJson
    changes: NotRequired[list[MemoryChangeJson]]
    """With `?changes=1`."""
    changed_share: NotRequired[float]
    """The share of the memory that changed, from 0 to 1; with `?changes=1`."""


class AnswerTurnJson(TypedDict):
    """The model's reply in the answer turn."""

    reply: str
    finish: Finish
    flags: list[Flag]
    usage: UsageJson


class GapJson(TypedDict):
    """A section that was not taken in, also when it was read again."""

    step: int
    """Its newest step."""
    start: int
    end: int
    pages: list[int]
    flags: list[Flag]


class ListedReadingJson(TypedDict):
    """A reading without its steps."""

    reading: str
    status: Status
    question: str
    answer: str | None
    passage: NotRequired[str]
    """The document's own words that a short answer is taken from; not there where the answer is no such one."""
    working: NotRequired[str]
    """What the reply says beside the answer, such as how a number was worked out; not there where it says no more."""
    value: NotRequired[Any]
    """The answer as the value that the plan's JSON Schema asks for; not there without one."""
    answer_turn: AnswerTurnJson | None
    verdict: Verdict | None
    """The verdict of the whole answer; null where there is none to judge."""
    answers: Fit | None
    """Whether it answers the question; null where nothing was judged."""
    sign: Sign
    """The colour of both: `green` only where the document bears the answer out and it answers the question."""
    claims: list[ClaimJson]
    """The sentences of the answer, each with its verdict; their evidence stands in the whole reading."""
    model: str
    way: str
    language: str
    document: DocumentJson
    plan: PlanJson
    usage: UsageJson
    cost: float | None
    """In the currency of the plan's prices; null without prices."""
    error: str
    error_kind: NotRequired[str]
    """What kind of error it was, such as `Unreachable`; not there without one."""
    parent: str
    """The reading that this one was forked from; empty where there is none."""
    created: str
    name: NotRequired[str]
    """The name that somebody gave it; not there where nobody did."""
    starred: NotRequired[bool]
    """True, or not there."""


class OutcomeJson(ListedReadingJson):
    """How a reading ended, for those who have its steps."""

    gaps: list[GapJson]
    """The sections that were not taken in."""
    evidence: list[EvidenceJson]
    cautions: NotRequired[list[CautionJson]]
    """What the answer may lack though the document has it; not there where there is nothing to say."""


class ReadingJson(OutcomeJson):
    """A whole reading."""

    steps: list[StepJson]


def reading_to_json(reading: Reading, *, changes: bool = False) -> ReadingJson:
    """Return the whole reading as plain values for `json.dumps`; on demand with what each step changed."""
    steps, memory = list[StepJson](), Memory.blank(reading.plan.memory_tokens)
    for step in reading.steps:
        steps.append(step_to_json(step, memory, changes=changes))
        memory = step.after
    return {**outcome_to_json(reading), "steps": steps}


def outcome_to_json(reading: Reading) -> OutcomeJson:
    """Return the reading without its steps."""
    values: OutcomeJson = {
        **summary_to_json(reading),
        "gaps": [
            {
                "step": step.chunk.index,
                "start": step.chunk.start,
                "end": step.chunk.end,
                "pages": list(step.chunk.pages),
                "flags": list(step.flags),
            }
            for step in reading.gaps
        ],
        "evidence": [evidence_to_json(piece) for piece in reading.evidence],
        "cautions": [to_plain(caution) for caution in list_cautions(reading)],
    }
    if not values["cautions"]:
        del values["cautions"]
    return values


def summary_to_json(reading: Reading) -> ListedReadingJson:
    """Return the reading without steps, gaps and evidence, for lists."""
    values: ListedReadingJson = {
        "reading": reading.id,
        "status": reading.status,
        "question": reading.question,
        "answer": (reading.answer and reading.answer.text) or None,
        "answer_turn": _answer_turn_to_json(reading.answer) if reading.answer else None,
        "verdict": reading.verdict,
        "answers": reading.answers,
        "sign": reading.sign,
        "claims": [to_plain(claim) for claim in reading.claims],
        "model": reading.model,
        "way": reading.way,
        "language": reading.language,
        "document": to_plain(reading.document),
        "plan": reading.plan.to_json(),
        "usage": to_plain(reading.usage),
        "cost": reading.cost,
        "error": reading.error,
        "parent": reading.parent,
        "created": reading.created,
    }
    if (value := reading.value) is not None:
        values["value"] = value
    if reading.answer and (working := _find_working(reading.answer)):
        values["working"] = working
    if reading.answer and reading.answer.passage:
        values["passage"] = reading.answer.passage
    if reading.error_kind:
        values["error_kind"] = reading.error_kind
    return values


def step_to_json(step: Step, previous: Memory, *, changes: bool = False) -> StepJson:
    """Return one step as plain values; its memory before is left out where it is `previous`, the last step's after."""
    chunk, reply = step.chunk, step.conversation.reply
    values: StepJson = {
        "index": chunk.index,
        "start": chunk.start,
        "end": chunk.end,
        "pages": list(chunk.pages),
        "source": ", ".join(chunk.sources),
        "sources": list(chunk.sources),
        "tokens": chunk.tokens,
        "memory": step.after.text,
        "memory_tokens": step.after.tokens,
        "flags": list(step.flags),
        "reply": reply.text,
        "finish": reply.finish,
        "usage": to_plain(reply.usage),
    }
    if step.before != previous:
        values |= {"before": step.before.text, "before_tokens": step.before.tokens}
    if step.score is not None:
        values["score"] = step.score
    values |= cast("StepJson", findings_to_json(step))
    if changes:
        values["changes"] = [
            {"kind": one.kind, "text": one.text, "words": [(run.kind, run.text) for run in one.words]}
            if one.words
            else {"kind": one.kind, "text": one.text}
            for one in diff_memories(step.before.text, step.after.text)
        ]
        values["changed_share"] = round(changed_share(step.before.text, step.after.text), 4)
    return values


def findings_to_json(step: Step) -> FindingsJson:
    """Return what a step found beside its score: the keys of a step's record that most steps do not have."""
    return cast("FindingsJson", {name: to_plain(found) for name in FINDINGS if (found := getattr(step, name))})


def _find_working(answer: Answer) -> str:
    if "boxed" not in answer.conversation.reply.text:
        return ""
    from bookwheel.reading.guards import find_working  # which a list of readings seldom waits for

    return find_working(answer)


def _answer_turn_to_json(answer: Answer) -> AnswerTurnJson:
    reply, flags = answer.conversation.reply, list(answer.flags)
    return {"reply": reply.text, "finish": reply.finish, "flags": flags, "usage": to_plain(reply.usage)}


def evidence_to_json(piece: Evidence) -> EvidenceJson:
    """Return a passage, with its file, its page and its line by themselves too."""
    return cast("EvidenceJson", {**to_plain(piece), "source": piece.source, "page": piece.page, "line": piece.line})


def reading_from_json(values: Mapping[str, Any]) -> Reading:
    """Return the reading of a record that `reading_to_json` made, with its steps where it has them."""
    plan = Plan.from_json(values["plan"])
    steps, memory = list[Step](), Memory.blank(plan.memory_tokens)
    for record in values.get("steps", ()):
        steps.append(_step_from_json(record, memory))
        memory = steps[-1].after
    answer, turn = None, values["answer_turn"]
    if turn is not None:
        own = make_fields(Answer, {"flags": turn["flags"], "passage": values.get("passage", "")})
        answer = Answer(text=values["answer"] or "", conversation=_conversation_from_json(turn), **own)
    own = make_fields(Reading, {name: values[name] for name in _SAME if name in values})
    return Reading(id=values["reading"], plan=plan, steps=tuple(steps), answer=answer, **own)


def _step_from_json(values: Mapping[str, Any], memory: Memory) -> Step:
    before = memory
    if "before" in values:
        before = Memory(text=values["before"], tokens=values["before_tokens"], limit=memory.limit)
    return Step(
        chunk=from_plain(Chunk, {**values, "text": ""}),
        before=before,
        after=Memory(text=values["memory"], tokens=values["memory_tokens"], limit=memory.limit),
        conversation=_conversation_from_json(values),
        **make_fields(Step, {name: values[name] for name in ("flags", "score", *FINDINGS) if name in values}),
    )


def _conversation_from_json(values: Mapping[str, Any]) -> Conversation:
    said = {"text": values["reply"], "finish": values["finish"], "usage": values["usage"]}
    return Conversation(messages=(), reply=from_plain(Reply, said))
