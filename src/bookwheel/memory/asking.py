"""Ask a lasting memory: from the memory first, else from the texts themselves.

    passages    of all texts, those with the rarest words of the question, the newest of equal ones first
    memory      answers, where it has the question's words, says that it knows, and a passage bears the answer out
                that no newer one contradicts
    else        the question is put to the passages, as to any document, newest first

A sentence with the question's words and another value than the answer's is `superseded` where it is older, and `newer`
where it is not. A model that only quotes answers with the newest of the passages that have the most of the question's
words. `as_of` answers as it was known then. Lines that were written by hand are passages
too, from the day that they were written.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Container, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from bookwheel.claims import BORNE_OUT, WORDS, Claim, Fit, Verdict, doubt, sum_up_fits
from bookwheel.errors import InputError
from bookwheel.flags import GAPS, Flag
from bookwheel.journal.memory_rows import MemoryVersion
from bookwheel.memory.answers import MemoryAnswer, add_seen, describe, judge_words
from bookwheel.memory.forgetting import end_interrupted
from bookwheel.memory.opened import OpenMemory, find_version
from bookwheel.memory.passages import (
    DatedQuote,
    PassageDocument,
    leave_out_others,
    leave_out_titles,
    only_asks,
)
from bookwheel.memory.pictures import locate, see
from bookwheel.memory.pieces import read_time
from bookwheel.memory.speakers import is_named
from bookwheel.memory.text_index import rank_passages
from bookwheel.memory.values import find_told, list_newest, says_more
from bookwheel.models.base import Ability, find_wrapper, require_ability
from bookwheel.plan import Plan
from bookwheel.reading import loop
from bookwheel.reading.earlier import shorten_turns
from bookwheel.reading.follow_up import asks_for_more, question_room
from bookwheel.reading.pictures import SeeingModel
from bookwheel.reading.prompts import Prompts, prompts_for
from bookwheel.reading.runner import new_reading, run_reading
from bookwheel.reading.verdicts import judge
from bookwheel.reading.ways.question_scorer import QuestionScorer
from bookwheel.reading.ways.registry import load_way
from bookwheel.session import WayRequest, settle_way
from bookwheel.text.changes import tells_change
from bookwheel.text.kinds import find_kind
from bookwheel.text.lexicon import stem
from bookwheel.text.matching import parse_words
from bookwheel.text.questions import asks_for_list
from bookwheel.text.ranking import QuestionWords
from bookwheel.text.remarks import has_no_answer, is_absence
from bookwheel.types import DocumentInfo, Status

# Readers by words pass over what stands before the heading (models/scripted.py).
_DAYS: Final = {"en": "(It is {day}.)\n\nAsked now:\n", "zh": "（今天是{day}。）\n\n现在的问题:\n"}
_EMPTY: Final = "The memory is empty."
_UNKNOWN: Final = "Nothing was known then."
# A Chinese thing of one sign that is somebody's, as in 景行的船叫什么, and not the first sign of a longer word.
_SIGN: Final = re.compile(
    r"(?<=的)(?![人事话时])[\u4e00-\u9fff](?=[的了在是叫什么谁哪吗呢吧有和与多几现]|[^\u4e00-\u9fff]|$)"
)
# In prose of which words were forgotten, where they stood; between the columns of a table no sentence ends.
_HOLE: Final = re.compile(r"(?:\S {3,}|[\u4e00-\u9fff] {2,})(?:\S.*)?[.!?。！？]\s*$")
_FITS: Final = (Fit.NO, None, Fit.DOUBTFUL, Fit.YES)
# Newer statements of one matter that are judged at most.
_MOST_STATEMENTS: Final = 5


async def ask(
    opened: OpenMemory,
    question: str,
    *,
    as_of: datetime | str | None = None,
    is_kept: bool = True,
    turns: Sequence[str] = (),
) -> MemoryAnswer:
    """Answer a question, and keep the answer unless it is one of the past, or `is_kept` says not to.

    `turns` are those of the conversation that it is asked in, as `format_turn` writes them.
    """
    record, tables = opened.record, opened.tables
    if not question.strip():
        raise InputError("the question is empty")
    opened.check_day()
    spent = opened.model.spent
    await end_interrupted(opened)
    until: datetime | None = None
    known: int | None = None
    if as_of is not None:
        when = read_time(as_of, is_until=True)
        until, known = datetime.fromisoformat(when).astimezone(UTC), tables.find_known(record.number, when)
    version = find_version(tables, record, known)
    plan = await asyncio.to_thread(_plan_questions, opened, question, turns)
    prompts = prompts_for(plan, question)
    passages = await asyncio.to_thread(rank_passages, opened, question, version, until)
    if prompts.quotes:
        passages = leave_out_titles(leave_out_others(passages, question), question)
    document = PassageDocument(passages, has_headers=not prompts.quotes, pictures=tables.pictures(record.number))
    asked = question if prompts.quotes else _say_day(question, prompts, until)
    answer: MemoryAnswer | None = None
    noted: MemoryAnswer | None = None
    # Passages that were quoted for the brief say nothing about a question.
    has_notes = bool(version.memory.text) and not prompts.quotes
    # Of a bundle of days that was read later as a whole, the texts know more than the version of that time.
    has_unread = until is not None and await asyncio.to_thread(_has_unread, opened, document, until, version)
    has_notes_first = has_notes and not has_unread
    is_first = has_notes_first and not await asyncio.to_thread(asks_for_more, question, version.memory.text, document)
    if is_first:
        noted, is_borne_out = await _ask_memory(opened, question, plan, version, until)
        answer = noted if is_borne_out else None
    if answer is None and document.length:
        answer = await _ask_texts(opened, (question, asked), plan, version, document)
        if answer.status is Status.ANSWERED and (has_notes_first or (has_notes and is_absence(answer.answer))):
            if not is_first:
                noted, _ = await _ask_memory(opened, question, plan, version, until)
            answer = noted if noted and _knows_more(noted, answer) else answer
    if answer is None:
        answer = MemoryAnswer(
            question=question,
            answer=prompts.not_found if version.version else _EMPTY if as_of is None else _UNKNOWN,
            origin="memory",
            version=version.version,
            verdict=Verdict.ABSENT,
        )
    gaps = (version,) if has_notes and GAPS & set(version.flags) else ()
    found = await asyncio.to_thread(_complete, opened, answer)
    answer = replace(found, usage=opened.model.spent - spent, gaps=gaps, as_of=until.isoformat() if until else "")
    if is_kept and as_of is None and answer.status is Status.ANSWERED:
        await keep_answer(opened, answer)
    return answer


def _has_unread(opened: OpenMemory, document: PassageDocument, until: datetime, version: MemoryVersion) -> bool:
    """Return whether a passage is of a text that the version of a time has not read: one that goes on, or came late."""
    tables, memory = opened.tables, opened.record.number
    numbers = {passage.text.number for passage in document.passages} - {0}
    is_late = version.text is not None and max(numbers, default=0) > version.text
    return is_late or any(tables.find_text(memory, number).instant > until for number in numbers)


def _say_day(question: str, prompts: Prompts, until: datetime | None) -> str:
    """Return the question with the day that it is asked of: whether a date is past or to come hangs on it."""
    day = (until or datetime.now(UTC)).astimezone().date()
    return f"{_DAYS[prompts.language].format(day=day)}{question}"


def _knows_more(noted: MemoryAnswer, found: MemoryAnswer) -> bool:
    """Return whether the answer of the whole memory is taken and not that of a few passages.

    Notes know what hangs together over several texts, or was put right in another one. So theirs is taken where it says
    all of the other and more, unless a judge bears the other out alone; where a judge bears it out, or a line by hand,
    by words that are as new as all that the other rests on, which says no more; and where neither is proved, if it is
    borne out as far and answers as well.
    """
    if noted.newer:
        return False
    answers_as_well = _FITS.index(noted.answers) >= _FITS.index(found.answers)
    is_trusted = bool(noted.claims) and all(map(_is_trusted, noted.claims))
    is_by_hand = any(one.verdict is Verdict.BY_HAND for one in noted.claims)
    is_judged = not any(one.judge in {None, WORDS} for one in noted.claims)
    if is_trusted and (is_by_hand or is_judged) and answers_as_well and noted.evidence and found.evidence:
        mine, theirs = _find_newest(noted), _find_newest(found)
        if mine > theirs or (is_judged and mine == theirs and not says_more(found.answer, noted.answer)):
            return True
    if says_more(noted.answer, found.answer):
        return found.verdict not in BORNE_OUT or all(map(_is_trusted, noted.claims))
    known, unproved = {*BORNE_OUT, Verdict.PARTLY, Verdict.BY_HAND}, {Verdict.NOT_FOUND, Verdict.PARTLY}
    is_as_sure = noted.verdict in known or noted.verdict is found.verdict
    return found.verdict in unproved and is_as_sure and answers_as_well


def _find_newest(answer: MemoryAnswer) -> datetime:
    """Return the time of the newest words that an answer rests on."""
    return max(datetime.fromisoformat(quote.at) for quote in answer.evidence)


def _complete(opened: OpenMemory, answer: MemoryAnswer) -> MemoryAnswer:
    """Return an answer with the places of its quotes; none answers beyond doubt that a newer text may change."""
    answer = _doubt(answer) if answer.newer else answer
    return replace(
        answer,
        evidence=locate(opened, answer.evidence),
        superseded=locate(opened, answer.superseded),
        newer=locate(opened, answer.newer),
    )


def _doubt(answer: MemoryAnswer) -> MemoryAnswer:
    claims = doubt(answer.claims)
    return replace(answer, claims=claims, answers=sum_up_fits(claims))


async def keep_answer(opened: OpenMemory, answer: MemoryAnswer) -> None:
    from bookwheel.memory.record import answer_to_json

    tokens = answer.usage.prompt_tokens, answer.usage.completion_tokens
    kept: dict[str, Any] = dict(answer_to_json(opened.record.name, answer))
    await asyncio.to_thread(opened.tables.add_answer, opened.record.number, answer.version, kept, tokens)


def _plan_questions(opened: OpenMemory, question: str, turns: Sequence[str]) -> Plan:
    """Return the plan of a question: a memory that is written, not read into, may be larger than a call.

    Of the turns before it, the newest stand in its prompts, as far as there is room.
    """
    plan, model = opened.record.plan, opened.session.model
    if plan.memory_tokens > plan.chunk_tokens:
        plan = replace(plan, memory_tokens=model.plan.memory_tokens)
    prompts = prompts_for(plan, question)
    if prompts.quotes or not turns:
        return plan
    count = model.tokenizer.count
    room = question_room(model, plan, prompts) - count(_say_day(question, prompts, None))
    return replace(plan, earlier=shorten_turns(turns, count, room))


async def _ask_memory(
    opened: OpenMemory, question: str, plan: Plan, version: MemoryVersion, until: datetime | None
) -> tuple[MemoryAnswer | None, bool]:
    """Return the answer from the memory, if it has one, and whether the texts bear it out."""
    memory = version.memory
    if memory.tokens > plan.memory_tokens:
        return None, False
    asked = _say_day(question, prompts_for(plan, question), until)
    prompts = prompts_for(plan, asked)
    loop.check(question, opened.session.model, plan, prompts)
    reader = await asyncio.to_thread(see, opened, opened.reader, memory.text)
    said = await loop.answer(asked, memory, reader, plan, prompts)
    seeing = find_wrapper(reader, SeeingModel)
    marks = [picture.mark for picture in seeing.seen] if seeing else []
    if has_no_answer(said):
        return None, False

    # The words of the answer may stand where none of the question's do.
    more = await asyncio.to_thread(rank_passages, opened, f"{question}\n{said.text}", version, until)
    wider = PassageDocument(more, has_headers=True)
    judged = await judge(said.text, question, (), wider, plan=plan, model=opened.reader)
    answer = await asyncio.to_thread(describe, said.text, question, version.version, wider, "memory", judged)
    answer = await asyncio.to_thread(add_seen, opened, answer, marks)
    return answer, bool(answer.claims) and all(map(_is_trusted, answer.claims)) and not answer.newer


def _is_trusted(claim: Claim) -> bool:
    """Return whether a sentence of the memory needs no look into the texts."""
    if claim.judge not in {None, WORDS}:
        return claim.verdict in {*BORNE_OUT, Verdict.BY_HAND}
    return not claim.missing and claim.verdict not in {Verdict.ABSENT, Verdict.NOT_FOUND}


async def _ask_texts(
    opened: OpenMemory, questions: tuple[str, str], plan: Plan, version: MemoryVersion, document: PassageDocument
) -> MemoryAnswer:
    """Put the question to the passages, as to any document; the second form of it may have the day with it."""
    model, (question, asked) = opened.session.model, questions
    choice = await settle_way(WayRequest(), document, asked, model, plan)
    info = DocumentInfo(id="", name=document.name, length=document.length)
    reading = new_reading(info, asked, model, plan, choice.way)
    ended = await run_reading(
        reading, document, opened.model, way=load_way(choice.way), patience=opened.session.patience
    )
    if ended.status is not Status.ANSWERED or ended.answer is None:
        failed = MemoryAnswer(question=question, answer="", origin="texts", version=version.version, verdict=None)
        return replace(failed, status=ended.status, error=ended.error)
    text = ended.answer.text
    cited = {at for claim in ended.claims if claim.verdict is Verdict.SEEN for at in claim.evidence}
    marks = [ended.evidence[at].quote for at in sorted(cited)]
    prompts = prompts_for(plan, question)
    if not prompts.quotes:
        judged = ended.evidence, ended.claims
        described = await asyncio.to_thread(describe, text, question, version.version, document, "texts", judged)
        return await asyncio.to_thread(add_seen, opened, described, marks)
    if not is_absence(text):
        # A short answer has none of the question's words; the passage that it is from has.
        passage = ended.answer.passage or text
        if answer := await asyncio.to_thread(_choose_newest, opened, text, passage, question, version, document):
            if answer.answer != text:
                answer = await _shorten(opened, answer, prompts, document)
            elif Flag.UNSURE in ended.answer.flags:
                answer = _doubt(answer)
            # Of a list, a few passages show no end.
            return _doubt(answer) if asks_for_list(question) else answer
    if told := find_told(question, document):
        answer = await asyncio.to_thread(judge_words, told, question, version.version, document, "texts")
        return await _shorten(opened, answer, prompts, document)
    # The nearest words are of another matter: what was asked for is not there, or no longer.
    absent = await asyncio.to_thread(judge_words, prompts.not_found, question, version.version, document, "texts")
    return replace(absent, verdict=Verdict.ABSENT, claims=(), evidence=(), superseded=(), newer=())


def _choose_newest(
    opened: OpenMemory, text: str, passage: str, question: str, version: MemoryVersion, document: PassageDocument
) -> MemoryAnswer | None:
    """Return the newest statement in the matter of a passage that answers the question; None where none does.

    A newer one that tells of a change, and not what is asked for in so many words, stands beside it.
    """
    stones = opened.tables.list_tombstones(opened.record.number)
    blotted = {source for stone in stones if stone.scope == "text" for source in stone.sources}
    *newest, own = list_newest(passage, question, document)
    later = list[DatedQuote]()
    for statement in (*newest[:_MOST_STATEMENTS], own):
        # Of a passage that was joined, the answer may be in the sentence that is nearest to the question.
        is_said = statement == passage or (statement is own and text in own)
        answer = judge_words(text if is_said else statement, question, version.version, document, "texts")
        candidates = [answer]
        if answer.newer:
            # Who quotes cannot weigh: of sentences that say the same of another value, the newest holds.
            newer = max(answer.newer, key=lambda quote: datetime.fromisoformat(quote.at))
            candidates.insert(0, judge_words(newer.quote, question, version.version, document, "texts"))
        for one in candidates:
            if one.answers is not Fit.NO and _says(one, question, blotted) and _is_of_matter(one, question, document):
                return replace(one, newer=(*later, *one.newer))
        later += answer.evidence if tells_change(statement) else ()
    return None


def _says(answer: MemoryAnswer, question: str, blotted: Container[str]) -> bool:
    """Return whether an answer says something: what only asks is one where it is asked for what somebody asked.

    What is left of a sentence says little where its source is `blotted`, so that words of it were forgotten: only what
    is told by its form, such as a name.
    """
    torn = (quote for quote in answer.evidence if quote.source in blotted)
    if find_kind(question) is None and any(_HOLE.search(quote.quote) for quote in torn):
        return False
    return not only_asks(answer.answer) or any(word in question.casefold() for word in ("ask", "question", "问"))


async def _shorten(
    opened: OpenMemory, answer: MemoryAnswer, prompts: Prompts, document: PassageDocument
) -> MemoryAnswer:
    """Return the short answer out of an answer that is a statement of a text, which is its quote then."""
    home = document.cut_out(answer.answer)
    if home is None:
        return answer
    judge = await require_ability(opened.model, Ability.LIKELIHOOD, "quotes")
    short = await QuestionScorer(judge, prompts, answer.question).answer(answer.answer)
    found = await asyncio.to_thread(judge_words, short.text, answer.question, answer.version, home, "texts")
    found = replace(found, superseded=answer.superseded, newer=answer.newer)
    return found if short.is_sure else _doubt(found)


def _is_of_matter(answer: MemoryAnswer, question: str, document: PassageDocument) -> bool:
    """Return whether the quotes have more of the question than the names of those who speak in a talk."""
    named = [who for who in document.speakers if is_named(who, question)]
    names = {stem(word.index_key) for who in named for word in parse_words(who)}
    asked = QuestionWords(question)
    own = asked.stems & names
    # A label such as "Concert:" speaks of nobody, where the question has it as a common word and no other.
    is_label = asked.stems <= own and not any(who in question for who in document.speakers)
    # Words are pairs of signs, and a Chinese thing may be one.
    signs = set(_SIGN.findall(question)) - set("".join(document.speakers))
    # A question that names nobody who speaks is not of a talk.
    return not own or is_label or any(asked.find(one.quote) - own or signs & set(one.quote) for one in answer.evidence)
