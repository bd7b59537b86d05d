"""Measure one sample: read it in one way, score the answer, and see what became of its evidence."""

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from typing import Any, Final

from bookwheel.errors import BookwheelError, DocumentTooLong, InputError, JournalError, QuestionError
from bookwheel.flags import Flag
from bookwheel.journal import Journal
from bookwheel.lab.evaluation.records import Record, SampleOutcome
from bookwheel.lab.evaluation.settings import AS_PUBLISHED
from bookwheel.lab.evaluation.work import SampleJob
from bookwheel.lab.scoring import set_f1
from bookwheel.lab.tasks.base import ANSWER, MissingSample, Sample
from bookwheel.lab.tasks.memories import RIGHT, evidence_depth, trace_evidence
from bookwheel.lab.tasks.published import find_spec, score_as_published
from bookwheel.models.base import Model, count_messages
from bookwheel.plan import LEAST_TOKENS, Plan, VerdictMode
from bookwheel.preset import load_preset
from bookwheel.reading.loop import Way, converse
from bookwheel.reading.runner import new_reading
from bookwheel.reading.ways.registry import load_way
from bookwheel.reading.worth import measure_recovered
from bookwheel.session import Prepared, Session, make_reading
from bookwheel.types import Answer, Document, DocumentInfo, Finish, Reading, Status, Step

# The metrics whose golds are parts of one answer, so that naming too much can be measured beside them.
_PARTS: Final = frozenset({"all_of", "share_of", "set_f1"})


async def measure_sample(job: SampleJob, journal: Journal | None) -> Record:
    """Read one sample and score the answer. Errors that a user must fix are raised; any other is a result."""
    sample = job.sample
    if isinstance(sample, MissingSample):
        return _build_record(job, SampleOutcome.INFEASIBLE, error=sample.reason, reason="no such sample")
    began = time.perf_counter()
    facts: dict[str, Any] = {}
    try:
        session = Session(model=job.candidate.model, journal=journal)
        reading = await _start_reading(job, sample, session)
        if reading.status is not Status.ANSWERED:
            (reading,) = await session.read_on(
                Prepared(readings=[reading], document=sample.document, way=_find_way(job.way, sample))
            )
        if job.candidate.worth and reading.status is Status.ANSWERED:
            facts["recovered"] = await measure_recovered(reading, sample.text, session.model)
    except (DocumentTooLong, QuestionError) as refusal:
        outcome, error = SampleOutcome.REFUSED, str(refusal)
    except BookwheelError:
        raise
    except Exception as fault:  # noqa: BLE001 - one sample is recorded as failed
        outcome, error = SampleOutcome.FAILED, f"{type(fault).__name__}: {fault}"
    else:
        outcome, error = _OUTCOMES.get(reading.status, SampleOutcome.FAILED), reading.error
        facts |= await asyncio.to_thread(_describe_reading, sample, reading, outcome)
        # A file by hand need not say how long its documents are.
        facts["tokens"] = sample.tokens or await asyncio.to_thread(session.model.tokenizer.count, sample.text)
    seconds = time.perf_counter() - began
    return _build_record(job, outcome, error=error, seconds=seconds, **facts)


async def _start_reading(job: SampleJob, sample: Sample, session: Session) -> Reading:
    """Return the job's reading: the journal's if it was begun before, else a new one."""
    parts = (job.candidate.fingerprint, *filter(None, map(str, job.key)), job.content)
    name = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    document = DocumentInfo(id="", name=sample.document.name, length=sample.document.length or 0)
    if session.journal:
        try:
            return await asyncio.to_thread(session.journal.reading, name)
        except JournalError:
            document = (await session.keep(sample.document)).info
    plan = job.candidate.plan_of_repeat(job.repeat)
    call = sample.published
    if job.way == AS_PUBLISHED and call and call.way:
        plan = _plan_as_published(plan, sample)
        reading = await make_reading(document, sample.question, session.model, plan, call.way)
    elif job.way == AS_PUBLISHED:
        # There are no chunks, and the question stands in the prompt: nothing of the plan has to fit.
        reading = new_reading(document, sample.question, session.model, _plan_as_published(plan, sample), job.way)
    else:
        reading = await make_reading(document, sample.question, session.model, plan, job.way)
    reading = replace(reading, id=name)
    await asyncio.to_thread(session.begin, [reading])
    return reading


def _plan_as_published(plan: Plan, sample: Sample) -> Plan:
    """Return the plan with the limit and the sampling that were published."""
    call = sample.published
    if call is None:
        return plan
    spec = find_spec(sample.task)
    if spec and spec.own_prompts and plan.prompts == Plan().prompts:
        raise InputError(
            f"{call.benchmark} reads in its own words: --prompts FILE, which `bookwheel data prompts CHECKOUT --out "
            "FILE` writes"
        )
    if call.preset:
        plan = plan.with_values(load_preset(call.preset)["plan"])
    sampling = replace(plan.sampling, temperature=call.temperature, top_p=call.top_p)
    # A limit of five tokens is less than a plan may have; the call below keeps to it.
    limit = max(LEAST_TOKENS, call.reply_tokens or plan.answer_tokens)
    return replace(plan, sampling=sampling, answer_tokens=limit, verdict=VerdictMode.OFF)


def _find_way(name: str, sample: Sample) -> Way:
    """Return the way of that name; of a sample that is asked as published, the one call of its benchmark."""
    if name != AS_PUBLISHED:
        return load_way(name)
    if sample.published and sample.published.way:
        return load_way(sample.published.way)

    async def ask(
        document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
    ) -> AsyncGenerator[Step | Answer]:
        del document, question, done
        messages = sample.published.messages if sample.published else ()
        limit = (sample.published.reply_tokens if sample.published else 0) or plan.answer_tokens
        tokens = count_messages(messages, model.tokenizer)
        if model.window is not None and tokens + limit > model.window:
            raise DocumentTooLong(
                f"the published prompt has {tokens} tokens, its answer may have {limit}, and the window "
                f"has {model.window}"
            )
        said = await converse(messages, model, limit, plan.sampling)
        flags = (Flag.TRUNCATED,) if said.reply.finish is Finish.LENGTH else ()
        yield Answer(text=said.reply.text, conversation=said, flags=flags)

    return ask


_OUTCOMES: Final = {Status.ANSWERED: SampleOutcome.SCORED, Status.STOPPED: SampleOutcome.STOPPED}


def _describe_reading(sample: Sample, reading: Reading, outcome: SampleOutcome) -> dict[str, Any]:
    """Return the fields of a record that say what came out."""
    answer = reading.answer.text if reading.answer and outcome is SampleOutcome.SCORED else None
    flags = Counter(str(flag) for step in reading.steps for flag in step.flags)
    flags.update(map(str, reading.answer.flags if reading.answer else ()))
    score, usage = sample.score(answer), reading.usage
    # What a budget stopped has not read to the end: its memory is no failed one.
    trace = None if answer is None else trace_evidence(sample, reading.steps, is_right=score.score >= RIGHT)
    spec = find_spec(sample.task) if sample.published else None
    # Where a model judges, the score beside it is ours.
    own = score if spec and spec.metric else None
    published = None if answer is None else own if spec else score_as_published(sample.task, answer, sample.golds)
    # The benchmark's own judge.
    asked = sample.published.judge if sample.published else ()
    facts = {
        "score": score.score,
        "reason": score.reason,
        "official": None if published is None or answer is None else published.score,
        "judge_prompt": tuple(text.replace(ANSWER, answer) for text in asked) if answer else (),
        "set_f1": set_f1(answer or "", sample.golds).score if sample.metric in _PARTS else None,
        "answer": answer or "",
        "reading": reading.id,
        "steps": len(reading.steps),
        "flags": dict(flags),
        "calls": usage.calls,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost": reading.plan.budget.price(usage.prompt_tokens, usage.completion_tokens),
    }
    if trace:
        facts |= {"memory": str(trace.outcome), "memory_step": trace.step}
        facts |= {"evidence_captured": trace.captured, "evidence_kept": trace.kept}
    return facts


def _build_record(job: SampleJob, outcome: SampleOutcome, **facts: Any) -> Record:
    """Return the record of a job; without facts about a reading it has no answer."""
    task, length, name, file, way, label, repeat = job.key
    asked: dict[str, Any] = {"metric": "none", "score": 0.0, "reason": "no answer"}
    if isinstance(sample := job.sample, Sample):
        asked |= {name: getattr(sample, name) for name in ("metric", "question", "golds", "tokens", "seed", "language")}
        asked |= {"depth": evidence_depth(sample), "document": sample.document_hash}
    return Record(
        fingerprint=job.candidate.fingerprint,
        task=task,
        length=length,
        sample=name,
        content=job.content,
        place=job.place,
        file=file,
        found_by_search=job.found_by_search,
        way=way,
        model=label,
        repeat=repeat,
        outcome=outcome,
        **asked | facts,
    )
