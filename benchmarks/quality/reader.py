"""How well the local model reads articles in the way `quotes`, and what a threshold for "not there" would do.

    python benchmarks/quality/reader_samples.py SAMPLES.jsonl
    python benchmarks/quality/reader.py SAMPLES.jsonl --out RESULTS.jsonl [--model ADAPTER.gguf]
        [--threads 1] [--scores FILE]
    python benchmarks/quality/reader.py SAMPLES.jsonl --out RESULTS.jsonl [--beside RESULTS.jsonl] --report

A line of RESULTS is one reading: the answer, whether it holds a gold answer, and the gain of its best passage. Killed,
the same command goes on. Beside it stand the sentence and the window that BM25 ranks first in the same document, and
the answer that the same weights write from that window. The report gives shares and paired differences, with intervals
by article, and for each threshold the share of unanswerable questions that it would refuse and of right answers that it
would lose. `--scores` keeps each likelihood, so that another rule of choice costs only those that it asks for anew.
`--beside` names the results of other weights on the same samples: the baselines are theirs, which an adapter does not
change, and the report gives the paired differences.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import time
from itertools import chain
from pathlib import Path
from statistics import fmean as mean
from typing import TYPE_CHECKING, Any

from bookwheel.environment import Environment
from bookwheel.flags import Flag
from bookwheel.lab.scoring import load_metric
from bookwheel.lab.tasks import Sample, read_samples
from bookwheel.models.base import Likelihood
from bookwheel.models.local import LocalModel
from bookwheel.reading import loop
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.passages import split_windows
from bookwheel.reading.ways.question_scorer import QuestionScorer
from bookwheel.reading.ways.quotes import quotes
from bookwheel.text.ranking import score_texts
from bookwheel.text.sentences import split_sentences
from bookwheel.types import Memory, Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.types import Message

BASELINES = ("bm25_sentence", "bm25_window", "bm25_written")


class ScoreStore:
    """A local model whose likelihoods are kept in a file."""

    def __init__(self, model: LocalModel, path: Path) -> None:
        self._model = model
        self._path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self._means: dict[str, float] = dict(json.loads(line) for line in lines)
        self.missing = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def likelihood(self, messages: Sequence[Message], continuation: str) -> Likelihood:
        """Return the kept likelihood, as one token's, or the model's own."""
        text = json.dumps([[message.role, message.content] for message in messages] + [continuation])
        key = hashlib.sha256(text.encode()).hexdigest()[:16]
        if key not in self._means:
            self.missing += 1
            likelihood = await self._model.likelihood(messages, continuation)
            self._means[key] = likelihood.mean
            with self._path.open("a") as out:
                out.write(json.dumps([key, likelihood.mean]) + "\n")
            return likelihood
        return Likelihood(logprobs=(self._means[key],), usage=Usage())


async def measure(sample: Sample, model: LocalModel | ScoreStore, beside: dict[str, Any] | None) -> dict[str, Any]:
    """Read one sample and return what is known of it; baselines are those of `beside`."""
    began = time.perf_counter()
    *steps, answer = [event async for event in quotes(sample.document, sample.question, model, model.plan)]
    seconds = time.perf_counter() - began
    best = (steps[-1].after.text.splitlines() or [""])[0]
    prompts = prompts_for(model.plan, sample.question)
    scorer = QuestionScorer(model, prompts, sample.question)
    unread = [step for step in steps if Flag.UNREAD in step.flags]
    usages = [*(step.conversation.reply.usage for step in steps), answer.conversation.reply.usage]
    judge, golds = load_metric(sample.metric), sample.golds
    record = {
        "id": sample.id,
        "question": sample.question,
        "golds": golds,
        "answer": answer.text,
        "right": judge(answer.text, golds).score,
        # An answer of two passages has two lines.
        "right_alone": judge(answer.text.partition("\n")[0], golds).score,
        "joined": float(any(Flag.JOINED in step.flags for step in steps)),
        "in_first": judge(best, golds).score,
        "in_memory": judge(steps[-1].after.text, golds).score,
        "gain": await scorer.gain(best),
        "refused": float(answer.text == prompts.not_found),
        "read": 1 - sum(step.chunk.end - step.chunk.start for step in unread) / len(sample.text),
        # Of the likelihoods that were not kept.
        "seconds": seconds,
        "prompt_tokens": sum(usage.prompt_tokens for usage in usages),
    }
    if sample.metric == "contains":
        record |= {name: beside[name] for name in BASELINES} if beside else await measure_bm25(sample, model)
    return record


def rank_first(texts: list[str], question: str) -> str:
    """Return the text that BM25 ranks first."""
    scores = score_texts(texts, question)
    return texts[scores.index(max(scores))]


async def measure_bm25(sample: Sample, model: LocalModel | ScoreStore) -> dict[str, Any]:
    """Return what BM25's first sentence and window are worth, and what the same weights write from that window."""
    judge = load_metric(sample.metric)
    sentences = [" ".join(sample.text[start:end].split()) for start, end in split_sentences(sample.text)]
    window = rank_first(split_windows(sample.text, model.tokenizer, model.plan.memory_tokens // 2), sample.question)
    memory = Memory(text=window, tokens=model.tokenizer.count(window), limit=model.plan.memory_tokens)
    prompts = prompts_for(model.plan, sample.question)
    written = await loop.answer(sample.question, memory, model, model.plan, prompts)
    texts = {
        "bm25_sentence": rank_first([one for one in sentences if one], sample.question),
        "bm25_window": window,
        "bm25_written": written.text,
    }
    return {name: judge(text, sample.golds).score for name, text in texts.items()}


def interval(groups: dict[str, list[float]], seed: int = 1) -> str:
    """Return the mean with its bootstrap interval of 95 %, drawn by article."""
    draw, articles = random.Random(seed), list(groups.values())
    means = sorted(mean(chain.from_iterable(draw.choices(articles, k=len(articles)))) for _ in range(4000))
    return f"{mean(chain.from_iterable(articles)):.3f} ({means[100]:.3f} to {means[3899]:.3f})"


def group(records: list[dict[str, Any]], name: str, minus: str = "") -> dict[str, list[float]]:
    """Return a value, or a difference of two, by article."""
    groups: dict[str, list[float]] = {}
    for one in records:
        groups.setdefault(one["id"].split("/")[0], []).append(one[name] - (one[minus] if minus else 0))
    return groups


def report(records: list[dict[str, Any]], others: dict[str, dict[str, Any]]) -> None:
    """Print the shares, the paired differences, also to other results, and the thresholds."""
    answered = [one for one in records if "bm25_window" in one]
    absent = [one for one in records if "bm25_window" not in one]
    print(f"{len(answered)} answered and {len(absent)} unanswerable, of {len(group(records, 'gain'))} articles")
    for name in ("right", "right_alone", "joined", "in_first", "in_memory", "refused", *BASELINES):
        print(f"{name:22} {interval(group(answered, name))}")
    if absent:
        print(f"{'refused, unanswerable':22} {interval(group(absent, 'refused'))}")
    for name in BASELINES:
        print(f"right_alone - {name:14} {interval(group(answered, 'right_alone', name))}")
    print_pairs(answered, others, ("right", "in_first", "in_memory", "refused"))
    print_pairs(absent, others, ("refused",))
    print(f"words of an answer: {mean([len(one['answer'].split()) for one in answered]):.1f}")
    for name, some in (("answered", answered), ("unanswerable", absent)):
        if some:
            print(f"{name}: read {mean([one['read'] for one in some]):.2f} of the text")
    print("threshold, refused of the unanswerable, right answers lost; where nothing was refused yet")
    for threshold in sorted({round(one["gain"], 2) for one in records}):
        refused = mean([one["gain"] < threshold for one in absent])
        lost = mean([one["right"] * (one["gain"] < threshold) for one in answered])
        print(f"{threshold:5.2f}  {refused:.2f}  {lost:.3f}")


def print_pairs(records: list[dict[str, Any]], others: dict[str, dict[str, Any]], names: tuple[str, ...]) -> None:
    """Print the differences to other results on the same samples."""
    pairs = [one | {"other": others[one["id"]]} for one in records if one["id"] in others]
    for name in names if pairs else ():
        differences = [{"id": one["id"], name: one[name] - one["other"][name]} for one in pairs]
        print(f"{name} - beside's, n = {len(pairs)}: {interval(group(differences, name))}")


def load_results(path: Path) -> list[dict[str, Any]]:
    """Return the readings of a file."""
    return [json.loads(line) for line in path.open()]


async def main() -> None:
    """Measure what is not measured yet, or report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("samples", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--scores", type=Path)
    parser.add_argument("--beside", type=Path)
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    records = load_results(options.out) if options.out.exists() else []
    others = {one["id"]: one for one in load_results(options.beside)} if options.beside else {}
    if options.report:
        report(records, others)
        return
    done = {one["id"] for one in records}
    local = await LocalModel.open(options.model, threads=options.threads, environment=Environment.load())
    model = ScoreStore(local, options.scores) if options.scores else local
    with options.out.open("a") as out:
        for sample in read_samples(options.samples):
            if sample.id not in done:
                record = await measure(sample, model, others.get(sample.id))
                out.write(json.dumps(record, ensure_ascii=False) + "\n")
                out.flush()
    await local.aclose()


if __name__ == "__main__":
    asyncio.run(main())
