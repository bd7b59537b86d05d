"""How well a way of the local model answers on documents as people have them, in the passage and in the short answer.

    python benchmarks/quality/documents_qa.py --out RESULTS.jsonl [--count 200] [--scores FILE] [--data SAMPLES]
    python benchmarks/quality/documents_qa.py --out RESULTS.jsonl --report [--beside RESULTS.jsonl]

A line of RESULTS is one question of `documents-qa` (its dev part, or with `--held-out` the one kept for the end), or of
a file of samples. Killed, the same command goes on. Beside each stands the window that BM25 with stems ranks first.
`short`: the task's own metric on the short answer. `passage`: what is shown holds a gold answer, or a piece of the
evidence whole. Intervals are of 95 %, drawn by document. `--scores` keeps what the model said, so that another rule
costs only what it asks for anew.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import resource
import time
from collections import defaultdict
from itertools import chain
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from bookwheel.documents.opening import TextDocument
from bookwheel.environment import Environment
from bookwheel.flags import Flag
from bookwheel.lab.scoring import load_metric, score_answer
from bookwheel.lab.scoring.commitment import mentions
from bookwheel.lab.tasks import read_samples
from bookwheel.lab.tasks.documents_qa import load_documents, load_questions, make_golds, make_metric
from bookwheel.models.base import Copies, Judgement, Likelihood
from bookwheel.models.copying import CopiedSpan
from bookwheel.models.local import LocalModel
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.passages import split_windows
from bookwheel.reading.ways.registry import load_way
from bookwheel.text.lexicon import stem
from bookwheel.text.matching import Passage, parse_words
from bookwheel.types import Step, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bookwheel.types import Message

SEED = 20261124


class ScoreStore:
    """A local model whose likelihoods and judgements are kept in a file."""

    def __init__(self, model: LocalModel, path: Path | None, adapter: str = "") -> None:
        self._model = model
        self._adapter = adapter
        """Likelihoods are of the plain weights; all else is kept for each adapter."""
        self._out = path.open("a") if path else None
        lines = path.read_text().splitlines() if path and path.exists() else []
        self._known: dict[str, Any] = dict(json.loads(line) for line in lines)
        self.asked = self.missing = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def likelihood(self, messages: Sequence[Message], continuation: str) -> Likelihood:
        """Return the kept likelihood, as one token's, or the model's own."""
        key = make_key(messages, continuation)
        self.asked += 1
        if key not in self._known:
            likelihood = await self._model.likelihood(messages, continuation)
            self._keep(key, likelihood.mean)
            return likelihood
        return Likelihood(logprobs=(self._known[key],), usage=Usage())

    async def judge(self, messages: Sequence[Message], options: Sequence[str]) -> Judgement:
        """Return the kept judgement, or the model's own."""
        key = make_key(messages, *options, *filter(None, (self._adapter,)))
        self.asked += 1
        if key not in self._known:
            judgement = await self._model.judge(messages, options)
            self._keep(key, list(judgement.logprobs))
            return judgement
        return Judgement(options=tuple(options), logprobs=tuple(self._known[key]), usage=Usage())

    async def copy(self, messages: Sequence[Message], passage: str, gap: str = "") -> Copies:
        """Return the kept spans, or the model's own."""
        key = make_key(messages, passage, gap, self._adapter)
        self.asked += 1
        if key not in self._known:
            copies = await self._model.copy(messages, passage, gap)
            self._keep(key, [(one.start, one.end, one.logprob) for one in copies.spans[:5]])
            return copies
        return Copies(spans=tuple(CopiedSpan(*one) for one in self._known[key]))

    def _keep(self, key: str, value: object) -> None:
        self.missing += 1
        self._known[key] = value
        if self._out:
            self._out.write(json.dumps([key, value]) + "\n")
            self._out.flush()


def make_key(messages: Sequence[Message], *continuation: str) -> str:
    """Return a hash of what is asked."""
    text = json.dumps([[message.role, message.content] for message in messages] + list(continuation))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def load_asked(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the questions with their texts and golds, in a seeded order."""
    if options.data:
        return [
            {
                "id": sample.id,
                "doc": sample.id.split("/")[0],
                "kind": "absent" if sample.metric == "unanswerable" else "fact",
                "language": sample.language,
                "question": sample.question,
                "text": sample.text,
                "golds": list(sample.golds),
                "metric": sample.metric,
                "evidence": [],
            }
            for sample in read_samples(options.data)
        ][: options.count]
    documents = load_documents()
    found = [
        {
            "id": f"{one.doc}/{one.question}",
            "doc": one.doc,
            "kind": one.kind,
            "style": one.style,
            "language": one.language,
            "question": one.question,
            "text": documents[one.doc].text,
            "golds": list(make_golds(one)),
            "answers": [*one.answers, *(wording for item in one.items for wording in item)],
            "metric": make_metric(one),
            "evidence": list(one.evidence),
        }
        for one in load_questions("test" if options.held_out else options.part)
        if options.language in (None, one.language)
    ]
    random.Random(SEED).shuffle(found)
    return found[: options.count]


def holds(passage: str, one: dict[str, Any]) -> float:
    """Return 1.0 if a passage bears the answer out: a gold stands in it, or evidence that the question asks for."""
    flat = " ".join(passage.split())
    pieces = [" ".join(quote.split()) in flat for quote in one["evidence"]]
    if any(pieces):
        return 1.0
    is_named = one["kind"] not in ("yesno", "list", "rows")
    return float(is_named and any(mentions(flat, gold) for gold in one.get("answers") or one["golds"]))


def rank_windows(windows: Sequence[str], question: str) -> str:
    """Return the window that BM25 with stems ranks first."""
    from math import log

    asked = {stem(word.index_key) for word in parse_words(question) if word.is_distinctive}
    texts = [[stem(key) for key in Passage(text).index_keys] for text in windows]
    counts = {word: sum(word in text for text in texts) for word in asked}
    mean = fmean(map(len, texts)) or 1.0

    def score(text: list[str]) -> float:
        norm = 2.2 / (1 + 1.2 * (0.25 + 0.75 * len(text) / mean))
        return sum(
            log(1 + (len(texts) - counts[word] + 0.5) / (counts[word] + 0.5)) * norm for word in asked if word in text
        )

    return max(zip(map(score, texts), windows, strict=True), key=lambda pair: pair[0])[1]


async def measure(one: dict[str, Any], model: Any, way: Any) -> dict[str, Any]:
    """Read one document for one question."""
    began, processor, missing = time.perf_counter(), time.process_time(), model.missing
    events = [event async for event in way(TextDocument(one["text"]), one["question"], model, model.plan)]
    seconds, processor = time.perf_counter() - began, time.process_time() - processor
    steps = [event for event in events if isinstance(event, Step)]
    answer = events[-1]
    passage = getattr(answer, "passage", "") or answer.text
    # Before short answers, nearest passages of refusals stood in the memory alone.
    is_refused = answer.text.startswith(prompts_for(model.plan, one["question"]).not_found)
    judge_f1, judge_exact = load_metric("f1"), load_metric("exact")
    window = rank_windows(split_windows(one["text"], model.tokenizer, 128), one["question"])
    is_absent = one["kind"] == "absent"
    return {name: one[name] for name in one if name not in ("text", "evidence", "answers")} | {
        "answer": answer.text,
        "passage": passage,
        "short": score_answer(one["metric"], answer.text, one["golds"], one["question"]).score,
        "f1": judge_f1(answer.text, one["golds"]).score,
        "exact": judge_exact(answer.text, one["golds"]).score,
        "refused": float(is_refused),
        "in_passage": 0.0 if is_absent or is_refused else holds(passage, one),
        "in_memory": 0.0 if is_absent or not steps else holds(steps[-1].after.text, one),
        "bm25": 0.0 if is_absent else holds(window, one),
        "words": len(Passage(answer.text)._keys),
        "steps": len([step for step in steps if Flag.UNREAD not in step.flags]),
        "seconds": round(seconds, 2),
        "processor": round(processor, 2),
        "scored": model.missing - missing,
    }


def interval(records: Iterable[dict[str, Any]], name: str, minus: str = "") -> str:
    """Return the mean with its bootstrap interval of 95 %, drawn by document."""
    groups: dict[str, list[float]] = defaultdict(list)
    for one in records:
        groups[one["doc"]].append(one[name] - (one[minus] if minus else 0))
    draw, listed = random.Random(1), list(groups.values())
    means = sorted(fmean(chain.from_iterable(draw.choices(listed, k=len(listed)))) for _ in range(2000))
    return f"{fmean(chain.from_iterable(listed)):.3f} ({means[50]:.3f} to {means[1949]:.3f})"


def report(records: list[dict[str, Any]], others: dict[str, dict[str, Any]]) -> None:
    """Print the shares with their intervals."""
    answered = [one for one in records if one["kind"] != "absent"]
    absent = [one for one in records if one["kind"] == "absent"]
    print(f"{len(answered)} answered, {len(absent)} absent, {len({one['doc'] for one in records})} documents")
    for name in ("short", "exact", "f1", "in_passage", "in_memory", "bm25", "refused"):
        print(f"{name:24} {interval(answered, name)}")
    print(f"{'in_passage - bm25':24} {interval(answered, 'in_passage', 'bm25')}")
    if absent:
        print(f"{'refused, absent':24} {interval(absent, 'refused')}")
    pairs = [one | {"other": others[one["id"]]} for one in answered if one["id"] in others]
    for name in ("short", "in_passage", "refused") if pairs else ():
        changes = [{"doc": one["doc"], name: one[name] - one["other"][name]} for one in pairs]
        print(f"{name + ' - beside':24} {interval(changes, name)}, n = {len(pairs)}")
    for key in ("kind", "language", "style"):
        for value in sorted({one.get(key, "") for one in answered}):
            some = [one for one in answered if one.get(key) == value]
            if some:
                shares = "  ".join(
                    f"{fmean(one[name] for one in some):.2f}" for name in ("short", "in_passage", "bm25")
                )
                print(f"{key} {value:14} n {len(some):4}  short, passage, bm25: {shares}")
    print(f"words of an answer, median {median(one['words'] for one in answered)}")
    seconds = [one["processor"] for one in records]
    print(f"processor seconds a question, mean {fmean(seconds):.1f}, median {median(seconds):.1f}")
    print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB (this process)")


def load_results(path: Path) -> list[dict[str, Any]]:
    """Return the results of a file."""
    return [json.loads(line) for line in path.open()] if path.exists() else []


async def main() -> None:
    """Measure what is not measured yet, then report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--part", choices=("train", "dev"), default="dev")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--language")
    parser.add_argument("--way", default="quotes")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--scores", type=Path)
    parser.add_argument("--model", type=Path, help="an adapter other than the built-in one")
    parser.add_argument("--beside", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    records = load_results(options.out)
    if not options.report:
        done = {one["id"] for one in records}
        model = ScoreStore(
            await LocalModel.open(options.model, threads=options.threads, environment=Environment.load()),
            options.scores,
            options.model.name if options.model else "",
        )
        way = load_way(options.way)
        with options.out.open("a") as out:
            for one in load_asked(options):
                if one["id"] not in done:
                    records.append(await measure(one, model, way))
                    out.write(json.dumps(records[-1], ensure_ascii=False) + "\n")
                    out.flush()
        await model.aclose()
    report(records, {one["id"]: one for one in load_results(options.beside)} if options.beside else {})


if __name__ == "__main__":
    asyncio.run(main())
