"""Samples in other projects' files, as records of ours.

    MemAgent      eval_N.json      {context, input, answers, num_docs}; its RULER files {context, input, outputs};
                                   index files, whose context is a list of numbers into a pool of paragraphs
    LongBench 1   JSON Lines       {context, input, answers, length, dataset, language, _id}
    LongBench 2   JSON array       {context, question, choice_A … choice_D, answer: "A", _id}
    InfiniteBench JSON Lines       {context, input, answer, options}
    BABILong      JSON Lines       {input, question, target}
    GraphWalks    Parquet or JSON  {prompt, answer_nodes, problem_type}
    OOLONG        Parquet or JSON  {context_window_text, question, answer: "['x']", answer_type, task_group};
                                   its real part {context_window_text, question, answer: "x, y", question_type}
    RULER         JSON Lines       {index, input, outputs, length, answer_prefix}
    HELMET        JSON (Lines)     {question, answers, ctxs: [{title, text}]} and others
    LoCoMo        JSON array       {sample_id, conversation: {session_1: [turns], …}, qa: [{…}]}
    MEME          JSON array       {episode_id, sessions, before_questions, after_questions: {questions, …}}
    LongMemEval   JSON array       {question_id, haystack_sessions, haystack_dates, question, answer}
    MRCR          Parquet or JSON  {prompt: messages, answer, random_string_to_prepend}
    DocVQA, MMLongBench-Doc, SlideVQA, ChartQA: questions on pictures, see `visual`

A record may hold several questions about one document. `pool` is the file whose paragraphs an index file numbers.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bookwheel.lab.tasks.imports import dialogues, documents, visual

Adapter = Callable[[Mapping[str, Any]], Iterator[dict[str, Any]]]
"""Yields what a record asks, with our fields; ValueError says what is wrong with it, or what it needs."""


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """A format of records, known by fields that all of its records have."""

    fields: frozenset[str]
    adapt: Adapter
    without: frozenset[str] = frozenset()
    """Fields that none of its records has."""


def _keep(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield dict(values)


def _refuse_questions(_values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    raise ValueError(
        "it is a question with its paragraphs, as HotpotQA, MuSiQue and SQuAD have them: give the file by --data, with "
        "--task hqa and a --length"
    )


def _of(fields: str, adapt: Adapter, without: str = "") -> RecordFormat:
    return RecordFormat(frozenset(fields.split()), adapt, frozenset(without.split()))


# The first that fits counts; a record that fits none is one of ours.
_FORMATS: Final = (
    _of("document", _keep),
    _of("paragraphs", _refuse_questions),
    _of("context supporting_facts", _refuse_questions),
    _of("qa conversation", dialogues.adapt_locomo),
    _of("qa session_1", dialogues.adapt_locomo),
    _of("haystack_sessions", dialogues.adapt_longmemeval),
    _of("episode_id sessions after_questions", dialogues.adapt_meme),
    _of("prompt answer random_string_to_prepend", dialogues.adapt_mrcr),
    _of("questionId question answers", visual.adapt_docvqa),
    _of("doc_id question answer answer_format", visual.adapt_mmlongbench),
    _of("deck_name qa_id question answer", visual.adapt_slidevqa),
    _of("imgname query label", visual.adapt_chartqa),
    _of("image query label", visual.adapt_chartqa),
    _of("image question answer type", visual.adapt_chartqa),
    _of("ctxs", documents.adapt_passages),
    _of("docs qa_pairs", documents.adapt_citations),
    _of("docs answers question", documents.adapt_citations, without="ctxs"),
    _of("num_kvs", documents.adapt_pairs),
    _of("context type_needle_v", documents.adapt_needles),
    _of("input outputs", documents.adapt_ruler, without="context"),
    _of("target question input", documents.adapt_babilong),
    _of("prompt answer_nodes", documents.adapt_graphwalks),
    _of("prompt answer problem_type", documents.adapt_graphwalks),
    _of("context_window_text question answer", documents.adapt_oolong),
    _of("context choice_A", documents.adapt_choices),
    _of("context options", documents.adapt_choices),
    _of("context", documents.adapt_context),
)


def adapt_record(
    values: Mapping[str, Any], pool: Path | None = None, path: Path | None = None
) -> Iterator[dict[str, Any]]:
    """Yield what a record of a known project asks, with our fields; one of ours stays as it is.

    `path` is the file that the record stands in: pictures lie beside it.
    """
    names, context = {*values}, values.get("context")
    if isinstance(context[0] if isinstance(context, list) and context else context, str | int):
        names -= {"supporting_facts"}  # a text, or numbers of a pool: not HotpotQA's paragraphs
    adapt = next((one.adapt for one in _FORMATS if one.fields <= names and not one.without & names), _keep)
    if isinstance(context, list) and adapt is not _refuse_questions:
        values = {**values, "context": documents.resolve_numbers(values, pool)}
    for record in adapt(values):
        yield visual.open_files(record, path, pool) if visual.FILES in record else record
