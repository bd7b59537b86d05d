"""Files whose records have a document and a question apart, or both in one prompt.

MemAgent, LongBench, BABILong, InfiniteBench, OOLONG   a context and a question
GraphWalks   a prompt that ends with an operation on the graph in it
HELMET   questions over passages, key and value pairs, documents to be ranked, and its RULER files with context and
         question apart. Of its citation files the answers are judged, as citations need a model of entailment. It
         takes book questions, summaries and many-shot labels from other projects' data sets, not from files of its own
RULER    the whole prompt in one field, split here into document and question. The head of a prompt, its examples (of vt
         and cwe) and its question are no document; a reader of chunks would meet them once and forget them. The
         document is the text between the last head and the question; the question carries the beginning of the answer
         that RULER puts after it. Examples go to the sample's metadata
"""

import hashlib
import json
import re
from ast import literal_eval
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

from bookwheel.lab.scoring.published import NO_NODES
from bookwheel.lab.tasks.assembly import number_documents
from bookwheel.lab.tasks.base import write_gold
from bookwheel.lab.tasks.formats import load_hotpot

_LETTERS: Final = "ABCDEFGH"


_SUMMARY: Final = "Write a one-page summary of the document."
_NEXT_LINE: Final = "Write the next line of the code."
# Sets of LongBench 1 that ask for no short answer: their measure, and what to ask where the record asks nothing.
_LONGBENCH: Final = {
    "gov_report": ("rouge_l", _SUMMARY),
    "multi_news": ("rouge_l", _SUMMARY),
    "qmsum": ("rouge_l", _SUMMARY),
    "samsum": ("rouge_l", _SUMMARY),
    "vcsum": ("f1", "请为全文写一段总结。"),
    "dureader": ("f1", ""),
    "lcc": ("code_similarity", _NEXT_LINE),
    "repobench-p": ("code_similarity", _NEXT_LINE),
    "trec": ("classification", ""),
    "lsht": ("classification", ""),
    "passage_count": (
        "number_share",
        "How many different paragraphs are there, when repeated ones are counted once? Give the number alone.",
    ),
    "passage_retrieval_en": ("number_share", ""),
    "passage_retrieval_zh": ("number_share", ""),
}


def adapt_context(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    golds = next((name for name in ("answers", "outputs", "answer") if name in values), "answers")
    name = "question" if "question" in values else "input"
    task = str(values.get("dataset", ""))
    record = _rename(values, document="context", question=name, golds=golds, task=task)
    metric, asked = _LONGBENCH.get(task.removesuffix("_e"), ("", ""))
    if metric:
        given = str(record.get("question", ""))
        whole = f"{given}\n{asked}".strip("\n") if metric == "code_similarity" else given if given.strip() else asked
        record |= {"metric": metric, "question": whole}
        if metric == "classification":
            record["golds"] = list(dict.fromkeys([*values[golds], *(values.get("all_classes") or ())]))
    yield record


def resolve_numbers(values: Mapping[str, Any], path: Path | None) -> str:
    """Return the text of a context of numbers, which stand for paragraphs of the pool."""
    if path is None or not path.is_file():
        raise ValueError(
            "the context is a list of numbers into a pool of paragraphs; point --data to the pool, the HotpotQA file "
            "that the index file was made from (hotpot_dev_distractor_v1.json)"
        )
    questions, documents = load_hotpot(path, has_answers=False)
    wrong = next((one for one in values["context"] if not 0 <= one < len(documents)), None)
    if wrong is not None:
        raise ValueError(f"the context names paragraph {wrong} and {path} has {len(documents)}: it is another file")
    index = values.get("index")
    # The numbers say nothing by themselves: with another file they would name other paragraphs, and nobody would see.
    if isinstance(index, int) and [one.query for one in questions[index : index + 1]] != [values.get("input")]:
        raise ValueError(f"question {index} of {path} is not the record's: the index file was made from another file")
    return number_documents(documents[one] for one in values["context"])


def adapt_babilong(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield _rename(values, document="input", golds="target", task="babilong")


def adapt_choices(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a multiple-choice question with its options in the question; letter and text of the right one count."""
    named = [values[f"choice_{letter}"] for letter in _LETTERS if f"choice_{letter}" in values]
    options = values.get("options") or named
    if not options:  # InfiniteBench has the field in every file
        given = str(values.get("input") or values.get("question") or "")
        yield from adapt_context(values if given.strip() else {**values, "input": _ask_of(str(values["context"]))})
        return
    letters = _LETTERS[: len(options)]
    given = values["answer"][0] if isinstance(values["answer"], list) and values["answer"] else values["answer"]
    letter = str(given).strip().strip("()")
    if letter not in letters and given in options:  # InfiniteBench names the text
        letter = letters[options.index(given)]
    if not letter or letter not in letters:
        raise ValueError(f"'answer' must be one of {', '.join(letters)}, not {given!r}")
    question = values.get("question") or values.get("input")
    listed = "\n".join(f"({one}) {text}" for one, text in zip(letters, options, strict=False))
    yield {
        **_rename(values, document="context", golds="answer", task="longbench-2" if "choice_A" in values else ""),
        "question": f"{question}\n{listed}\nAnswer with the letter of the right option.",
        "golds": [letter, str(options[letters.index(letter)])],
        "metric": "choice",
    }


_MASK: Final = "$$MASK$$"
_SUM: Final = re.compile(r"[\d\s+-]+")


def _ask_of(context: str) -> str:
    """Return what InfiniteBench's sets without a question ask: they ask it in their prompts alone."""
    if _MASK in context:
        return f"Which character's name stands for {_MASK}? Give the name alone."
    if _SUM.fullmatch(context[:_HEAD]):
        return "Which values has the expression after each operation? Give all of them, as a list."
    return "Write a summary of the book."


_HEAD: Final = 1000


def _rename(values: Mapping[str, Any], *, task: str, **fields: str) -> dict[str, Any]:
    """Return the record with our names for the fields. Lengths of other projects are words or bytes, and stay out."""
    renamed = {ours: values[theirs] for ours, theirs in fields.items() if theirs in values}
    identity = next((values[name] for name in ("id", "_id", "index") if name in values), "")
    language = str(values.get("language") or "en")
    kept = {"id": identity, "language": language, "task": task}
    return {**{name: value for name, value in values.items() if name == "question"}, **kept, **renamed}


_OPERATION: Final = re.compile(r"\n\s*Operation:\s*")


def adapt_graphwalks(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a question of GraphWalks: the prompt up to its last operation is the document.

    An older version of the set calls its nodes `answer`. Some questions have none.
    """
    prompt, places = str(values["prompt"]), list(_OPERATION.finditer(str(values["prompt"])))
    if not places:
        raise ValueError("'prompt' has no line that begins with Operation:")
    nodes = values.get("answer_nodes", values.get("answer"))
    if not isinstance(nodes, list):
        raise ValueError(f"the nodes that answer must be a list, not {nodes!r}")  # noqa: TRY004 - the caller names the line
    yield {
        "task": f"graphwalks-{values.get('problem_type', 'nodes')}",
        "document": prompt[: places[-1].start()],
        "question": prompt[places[-1].end() :].strip(),
        "golds": [write_gold(node) for node in nodes] or [NO_NODES],
        "metric": "graphwalks",
    }


_DATE: Final = re.compile(r"\[datetime\.date\((\d+), (\d+), (\d+)\)\]")
# OOLONG's types of answers that have a measure of their own.
_OOLONG: Final = {"ANSWER_TYPE.NUMERIC": "number", "ANSWER_TYPE.DATE": "date"}


def adapt_oolong(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a question of OOLONG; its answer is a list in the writing of Python."""
    answer, kind = values["answer"], _OOLONG.get(str(values.get("answer_type")), "")
    group = str(values.get("task_group", "all"))
    if "answer_type" not in values and not str(answer).strip().startswith("["):
        group, kind = f"real-{values.get('question_type', 'all')}", "real"
    if isinstance(answer, str) and (date := _DATE.fullmatch(answer.strip())):
        answer = "-".join(part.zfill(2) for part in date.groups())
    elif isinstance(answer, str) and answer.strip().startswith("["):
        try:
            answer = literal_eval(answer.strip())
        except (SyntaxError, ValueError) as error:
            raise ValueError(f"'answer' is no list in the writing of Python: {answer}") from error
    yield {
        "id": values.get("id", ""),
        "task": f"oolong-{group}{f'-{kind}' if kind not in {'', 'real'} else ''}",
        "document": values["context_window_text"],
        "question": values["question"],
        "golds": [write_gold(one) for one in (answer if isinstance(answer, list) else [answer])],
        "metric": f"oolong_{kind}" if kind else "oolong",
        "length": int(values.get("context_len") or 0),
    }


def adapt_pairs(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a question of HELMET about key and value pairs."""
    question = f"Which value does the key {values['question']} have?"
    yield {**_rename(values, document="context", golds="answer", task="helmet-json-kv"), "question": question}


def adapt_passages(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a question of HELMET over passages."""
    if "qid" in values and "answers" not in values:
        yield from _adapt_ranking(values)
        return
    titled = ((f"Passage: {one['title']}\n" if one.get("title") else "", one["text"]) for one in values["ctxs"])
    passages = "".join(f"{title}{text}\n\n" for title, text in titled)
    record = _rename(values, golds="answers", task="helmet-rag")
    named = {} if record["id"] == "" else {"id": _name_order(record["id"], passages)}
    yield {**record, **named, "document": passages}


def _name_order(name: object, passages: str) -> str:
    """Return a name for a question and this order: HELMET asks each with the answer at several places."""
    return f"{name}-{hashlib.sha256(passages.encode()).hexdigest()[:8]}"


def _adapt_ranking(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a question of HELMET that asks for documents by their relevance."""
    listed = (f"[ID: {one['id']}] {one.get('title', '')}\n{one['text']}\n\n" for one in values["ctxs"])
    passages = "".join(listed)
    yield {
        "id": _name_order(values["qid"], passages),
        "task": "helmet-rerank",
        "document": passages,
        "question": f"Which documents help most with this? {values.get('query') or values['question']}\n"
        "Name all by their IDs, the most relevant first: ID3 > ID1 > ID2",
        "golds": [f"{one['id']}={one['label']}" for one in values["ctxs"]],
        "metric": "ranking",
    }


HELMET_DOCUMENTS: Final = 700
"""How many documents an answer with citations is given at HELMET's longest, of the 2,000 in the file."""


def adapt_citations(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a question of HELMET whose answer bears citations; what is judged here is whether the answers are in it."""
    kind = "asqa" if values.get("qa_pairs") else "qampari"
    groups = [one["short_answers"] for one in values["qa_pairs"]] if kind == "asqa" else values["answers"]
    passages = (f"[{number}] {one['title']}\n{one['text']}\n\n" for number, one in enumerate(values["docs"], start=1))
    yield {
        "id": str(values.get("sample_id", values.get("id", ""))),
        "task": f"helmet-cite-{kind}",
        "document": "".join(islice(passages, HELMET_DOCUMENTS)),
        "question": values["question"],
        "golds": [json.dumps(group, ensure_ascii=False) for group in groups],
        "metric": f"alce_{kind}",
    }


def adapt_needles(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a question of HELMET's RULER files."""
    asked, kind = values.get("query") or values.get("question"), values["type_needle_v"]
    golds = "answer" if "answer" in values else "outputs"
    yield {
        **_rename(values, document="context", golds=golds, task="helmet-niah"),
        "question": f"What are all the special magic {kind} for {asked}?",
        "metric": "string_match_all",
    }


# How the head of each family ends, and where its question begins.
_LAYOUTS: Final = (
    (
        "niah",
        re.compile(r"I will quiz you about the [^\n]*\n"),
        re.compile(r"\nWhat (?:is|are all) the special [^\n]*"),
    ),
    ("vt", re.compile(r"hidden in the following text\.\n\n"), re.compile(r"\nQuestion: [^\n]*")),
    ("cwe", re.compile(r"Memorize the ones that appear most often\.\n"), re.compile(r"\nQuestion: [^\n]*")),
    ("fwe", re.compile(r"most frequently appeared coded words\.\s"), re.compile(r"\nQuestion: [^\n]*")),
    ("qa", re.compile(r"The following are given documents\.\n\n"), re.compile(r"\n\n[^\n]*\n\nQuestion: [^\n]*")),
)
_UNIT: Final = 1024


def adapt_ruler(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a prompt as document and question; ValueError for one of another layout."""
    prompt, outputs = values["input"], values["outputs"]
    if not isinstance(prompt, str) or not isinstance(outputs, list):
        raise ValueError(  # noqa: TRY004 - the caller names the line of every ValueError
            "'input' must be a text and 'outputs' a list, as RULER's scripts write them"
        )
    family, begin, match = _find_parts(prompt)
    prefix = str(values.get("answer_prefix", "")).strip()
    question = match.group().strip().rpartition("\n")[2].removeprefix("Question: ")
    if prefix and not question.endswith(prefix):
        question = f"{question}\n{prefix}"
    tokens = int(values.get("length_w_model_temp") or values.get("length") or 0)
    # The length that was asked for: prompts stay a little below it, and lengths are doubled 1024s.
    length = _UNIT
    while length < tokens:
        length *= 2
    yield {
        # No id: its index is the sample's number in some files and a place in the text in others.
        "document": prompt[begin : match.start()],
        "question": question,
        "golds": outputs,
        "metric": "string_match_part" if family == "qa" else "string_match_all",
        "length": length if tokens else 0,
        "tokens": tokens,
        "metadata": {"family": family, "head": prompt[:begin], "answer_prefix": prefix},
    }


def _find_parts(prompt: str) -> tuple[str, int, re.Match[str]]:
    """Return the family, where the document begins, and the question."""
    for family, head, question in _LAYOUTS:
        heads = list(head.finditer(prompt))
        questions = list(question.finditer(prompt, heads[-1].end() - 1)) if heads else []
        if questions:
            return family, heads[-1].end(), questions[-1]
    raise ValueError(
        "'input' is no prompt of RULER's thirteen tasks; give document and question in fields of their own"
    )
