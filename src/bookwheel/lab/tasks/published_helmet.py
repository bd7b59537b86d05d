"""HELMET's prompts: templates from its checkout, two examples from files that it publishes beside the questions.

Which examples a question has is drawn there with a seed made of the question, by numpy's generator; so it is here, and
the same two come out. The file of examples lies in the folder of the questions, as HELMET's archive has it:

    kilt/nq-dev-multikilt_1000_k220_dep6.jsonl       kilt/nq-train-multikilt_1000_k3_dep6.jsonl
    kilt/popqa_test_1000_k220_dep6.jsonl             kilt/popqa_test_1000_k3_dep6.jsonl
    msmarco/test_reranking_data_k285_dep3.jsonl      msmarco/test_reranking_data_k10_dep3.jsonl
"""

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from bookwheel.errors import InputError
from bookwheel.lab.tasks.data_dir import read_all_records
from bookwheel.lab.tasks.imports.documents import HELMET_DOCUMENTS
from bookwheel.lab.tasks.published_prompts import AskedSample, Checkout, PublishedPrompt, ask_user

Record = Mapping[str, Any]
_SCRIPT: Final = "data.py"
_SHOTS: Final = 2
_POPULAR: Final = 3.0


def ask_passages(checkout: Checkout, asked: AskedSample) -> PublishedPrompt:
    """Ask over passages, behind two examples with three passages each."""
    record, examples = asked.record, _read_examples(asked, "_k3_dep")
    key = "id" if "id" in record else "question"
    if asked.path and "popqa" in asked.path.name:
        if math.log10(record["s_pop"]) >= _POPULAR:
            raise InputError("HELMET asks of PopQA only questions whose subject is rare (s_pop below 1,000)")
        rare = [one for one in examples if math.log10(one["s_pop"]) < _POPULAR]
        examples = [one for one in rare if one[key] != record[key]]
    shown = _draw(examples, str(record[key]), key)
    demos = "".join(
        f"{_list_passages(one['ctxs'])}\n\nQuestion: {one['question']}\nAnswer: {one['answers'][0]}\n\n"
        for one in shown
    )
    template = checkout.find_literal(_SCRIPT, "user_template", r"^Use the given .*question\. Write your answer")
    return ask_user(template.format(demos=demos, context=_list_passages(record["ctxs"]), question=record["question"]))


def ask_ranking(checkout: Checkout, asked: AskedSample) -> PublishedPrompt:
    """Ask for documents by their relevance, behind two examples of ten documents."""
    record = asked.record
    examples = [one for one in _read_examples(asked, "_k10_dep") if one["qid"] != record["qid"]]
    is_titled = "title" in record["ctxs"][0]
    demos = ""
    for one in _draw(examples, record["qid"], "qid"):
        order = sorted(one["ctxs"], key=lambda document: document["label"], reverse=True)
        names = " > ".join(document["id"] for document in order)
        demos += f"{_list_numbered(one['ctxs'], is_titled=is_titled)}\n\nQuery: {one['query']}\nRanking: {names}\n\n"
    template = checkout.find_literal(_SCRIPT, "user_template", "^You are provided with a list of documents")
    context = _list_numbered(record["ctxs"], is_titled=is_titled)
    return ask_user(template.format(demos=demos, context=context, question=record["query"]))


def ask_pairs(checkout: Checkout, asked: AskedSample) -> PublishedPrompt:
    """Ask for a key's value, behind two of the record's examples."""
    record = asked.record
    shown = (f"Key: {key}\nCorresponding value: {value}" for key, value in record["demos"][:_SHOTS])
    template = checkout.find_literal(_SCRIPT, "user_template", "Extract the value corresponding")
    demos = "\n\n".join(shown) + "\n\n"
    return ask_user(template.format(demos=demos, context=record["context"], question=record["question"]))


def ask_needles(checkout: Checkout, asked: AskedSample) -> PublishedPrompt:
    """Ask for the needles; which file it is tells whether there is one, and how long the answer may be."""
    place = str(asked.path or "")
    is_many = re.search(r"multi(?:value|query)|niah_m[vq]", place)
    template = checkout.find_literal(_SCRIPT, "user_template", "^Some special magic" if is_many else "^A special magic")
    record = asked.record
    named = {name: record.get(name, "") for name in ("type_needle_v", "context")}
    text = template.format(**named, query=record.get("query") or record.get("question", ""))
    is_long = re.search(r"multikey_3|niah_mk_3", place)
    return ask_user(text, reply_tokens=100 if is_long else 50)


def ask_citations(checkout: Checkout, asked: AskedSample) -> PublishedPrompt:
    """Ask for an answer with citations, behind two examples of its prompt file."""
    record = asked.record
    parts = checkout.load(f"prompts/{asked.task.removeprefix('helmet-cite-')}_revised.json")

    def fill(documents: Sequence[Record]) -> str:
        numbered = (parts["doc_prompt"].format(**one, ID=number) for number, one in enumerate(documents, start=1))
        return "\n\n".join(numbered)

    shown = (
        parts["demo_prompt"].format(**one, instruction=parts["instruction"], context=fill(one["docs"]))
        for one in parts["demos"][:_SHOTS]
    )
    template = checkout.find_literal(_SCRIPT, "user_template", r"^\{demo_text\}")
    return ask_user(
        template.format(
            demo_text="\n\n\n".join(shown) + "\n\n\n",
            instruction=parts["instruction"],
            question=record["question"],
            context=fill(record["docs"][:HELMET_DOCUMENTS]),
        )
    )


def _list_passages(passages: Sequence[Record]) -> str:
    return "\n\n".join(f"Document (Title: {one['title']}): {one['text']}" for one in passages)


def _list_numbered(documents: Sequence[Record], *, is_titled: bool) -> str:
    titles = (f" (Title: {one['title']})" if is_titled else "" for one in documents)
    named = zip(documents, titles, strict=True)
    return "\n\n".join(f"[ID: {one['id']}] Document{title}: {one['text']}" for one, title in named)


def _draw(examples: Sequence[Record], name: str, key: str) -> list[Record]:
    """Return the first two of the examples, shuffled by a seed made of the question's name, each key once."""
    try:
        import numpy as np
    except ImportError as error:
        raise InputError("HELMET draws its examples by numpy's generator; `pip install numpy`") from error
    seed = int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2**31
    order = np.random.default_rng(seed).permutation(len(examples))
    chosen: dict[Any, Record] = {}
    for at in order:
        chosen.setdefault(examples[at][key], examples[at])
        if len(chosen) == _SHOTS:
            break
    return list(chosen.values())


def _read_examples(asked: AskedSample, depth: str) -> list[Record]:
    if asked.path is None:
        raise InputError("HELMET's examples lie in the folder of its questions: give its file by --data")
    name = re.sub(r"_k\d+_dep", depth, asked.path.name.replace("-dev-", "-train-"))
    path = asked.path.with_name(name)
    if not path.is_file():
        raise InputError(f"HELMET puts two examples before each prompt, from {name}: put it into {path.parent}")
    return _load(path)


@lru_cache(maxsize=4)
def _load(path: Path) -> list[Record]:
    return [record for _, _, record in read_all_records(path)]
