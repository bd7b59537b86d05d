"""Do facts that are far apart meet? The way `graph` against sequential, edits and look-back, at equal memory tokens.

python benchmarks/quality/graph_bridges.py --data DIR [--count 40] [--first 0] [--drop 0.1] [--sets SET...]

The model is scripted and the same for all ways: it knows the facts that each sentence states (for 2WikiMultihopQA the
given triples, for MuSiQue and HotpotQA the supporting sentences, and of every other sentence a fact about its title)
and misses the share `--drop` of them. As a reader it keeps the facts that share words with the question or names with
what it keeps already, as many as the memory has room for, the best first. `chain`: every fact that the answer rests on
stands in the last memory. The paragraphs stand in a random order, among those of other questions up to `--tokens`.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from bookwheel import TextDocument, aread
from bookwheel.lab.tasks import make_samples
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.text.ranking import find_stems as stem_words
from bookwheel.text.tokens import WordTokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bookwheel.types import Message

find_stems = cache(stem_words)
WAYS = ("sequential", "edits", "look-back", "graph")
SEED = 20261124
_TUNED = 12
_HEAD = 24
_BEGINS = re.compile(r"(?:^|\s)(?=\S)")
ROADS = re.compile(
    r"Who takes the (\w+) road out of (?P<a1>\w+) comes to (?P<b1>\w+)\.|From (?P<a2>\w+) the (\w+) road leads to "
    r"(?P<b2>\w+)\.|The (\w+) road from (?P<a3>\w+) ends at (?P<b3>\w+)\."
)
FILES = {"2wiki": "2wikimultihopqa_dev", "musique": "musique_dev", "hotpot": "hotpotqa_dev"}


@dataclass(frozen=True)
class Statement:
    """A sentence and the fact that it states."""

    quote: str
    subject: str
    relation: str
    object: str

    @property
    def line(self) -> str:
        return f"{self.subject} | {self.relation} | {self.object}"


@dataclass
class Case:
    """A question with a document, what its sentences state, and the facts that its answer rests on."""

    question: str
    text: str
    find: Callable[[str], list[Statement]]
    golds: list[Statement]


def find_roads(section: str) -> list[Statement]:
    found = []
    for match in ROADS.finditer(section):
        kind = next(one for one in match.group(1, 5, 7) if one)
        ends = {name[0]: value for name, value in match.groupdict().items() if value}
        found.append(Statement(match[0], ends["a"], f"{kind} road leads to", ends["b"]))
    return found


def list_walks(tokens: int, count: int, data: Path) -> Iterator[Case]:
    options = {"tokens": tokens, "count": count, "seed": SEED + 1, "tokenizer": WordTokenizer(), "data": data}
    for sample in make_samples("walk", strays=40, **options):
        golds = [one for gold in sample.evidence for one in find_roads(sample.text[gold.start : gold.end])]
        yield Case(sample.question, sample.text, find_roads, golds)


def list_bridges(tokens: int, count: int, data: Path) -> Iterator[Case]:
    options = {"tokens": tokens, "count": count, "seed": SEED + 1, "tokenizer": WordTokenizer(), "data": data}
    for sample in make_samples("bridge", **options):
        stated = []
        for gold in sample.evidence:
            quote, note = sample.text[gold.start : gold.end], gold.note
            if " owns the ship " in note:
                owner, _, ship = note.partition(" and lives at ")[0].partition(" owns the ship ")
                stated.append(Statement(quote, f"ship {ship}", "is owned by", owner))
            else:
                who, _, place = note.partition(" lives at ")
                stated.append(Statement(quote, who, "lives at", place))
        owner = next(one.object for one in stated if one.relation == "is owned by")
        golds = [one for one in stated if one.relation == "is owned by" or one.subject == owner]
        yield Case(sample.question, sample.text, StatementIndex(stated), golds)


class StatementIndex:
    """Finds the statements whose quotes stand in a section, in one pass over it."""

    def __init__(self, stated: Sequence[Statement]) -> None:
        self._length = min(_HEAD, *(len(one.quote) for one in stated))
        self._by_head: dict[str, list[Statement]] = {}
        for one in dict.fromkeys(stated):
            self._by_head.setdefault(one.quote[: self._length], []).append(one)

    def __call__(self, section: str) -> list[Statement]:
        found = dict[Statement, None]()
        for begin in _BEGINS.finditer(section):
            at = begin.end()
            for one in self._by_head.get(section[at : at + self._length], ()):
                if section.startswith(one.quote, at):
                    found[one] = None
        return [*found]


def list_questions(name: str, tokens: int, count: int, data: Path) -> Iterator[Case]:
    # Paragraphs of the other sets fill up what one set has too few of.
    by_file = {one: [_PARSERS[one](record) for record in _load(data, one)] for one in (name, *FILES)}
    parsed = [(record, *both) for record, both in zip(_load(data, name), by_file[name], strict=True)]
    rng = random.Random(SEED)
    others = [*{one[0]: one for some in by_file.values() for many, _ in some for one in many}.values()]
    # The first ones served to set the weights of the way; they are not measured.
    for record, paragraphs, golds in [one for one in parsed if one[2]][_TUNED : _TUNED + count]:
        chosen, used = list(paragraphs), sum(len(" ".join(one[1]).split()) for one in paragraphs)
        own = {title for title, _ in paragraphs}
        rng.shuffle(others)
        for other in others:
            if used >= tokens:
                break
            if other[0] in own:
                continue
            chosen.append(other)
            used += len(" ".join(chosen[-1][1]).split())
        assert used >= tokens, used  # The files have paragraphs for that.
        rng.shuffle(chosen)
        pairs = [(title, sentence) for title, sentences in chosen for sentence in sentences]
        long = [(title, sentence) for title, sentence in pairs if len(sentence) >= _HEAD]
        stated = {sentence: Statement(sentence, title, "is about", _name(sentence)) for title, sentence in long}
        stated |= {one.quote: one for one in golds}
        text = "\n\n".join(f"{title}\n{' '.join(sentences)}" for title, sentences in chosen)
        yield Case(record["question"], text, StatementIndex([*stated.values()]), golds)


def _load(data: Path, name: str) -> list[dict[str, Any]]:
    with gzip.open(data / "qa_en" / f"{FILES[name]}.jsonl.gz", "rt") as file:
        return [json.loads(line) for line in file]


def _name(sentence: str) -> str:
    names = re.findall(r"(?<!^)[A-Z][\w-]+(?: [A-Z][\w-]+)*", sentence)
    return names[-1] if names else " ".join(sentence.split()[-3:])


def parse_2wiki(one: dict[str, Any]) -> tuple[list[tuple[str, list[str]]], list[Statement]]:
    paragraphs = [(title, [s.strip() for s in sentences]) for title, sentences in one["context"]]
    by_title, golds = dict(paragraphs), []
    support = [by_title[title][at] for title, at in one["supporting_facts"] if at < len(by_title.get(title, ()))]
    for subject, relation, other in one["evidences"]:
        quote = next((s for s in support if other.split()[0] in s), None)
        if quote is None:
            return paragraphs, []
        golds.append(Statement(quote, subject, relation, other))
    return paragraphs, golds if len({one.quote for one in golds}) == len(golds) else []


def parse_hotpot(one: dict[str, Any]) -> tuple[list[tuple[str, list[str]]], list[Statement]]:
    paragraphs = [(title, [s.strip() for s in sentences]) for title, sentences in one["context"]]
    by_title, golds = dict(paragraphs), []
    titles = [title for title, _ in one["supporting_facts"]]
    for title, at in one["supporting_facts"]:
        if at >= len(by_title.get(title, ())):
            return paragraphs, []
        quote = by_title[title][at]
        wanted = [one["answer"], *(other for other in titles if other != title)]
        other = next((name for name in wanted if name.lower() in quote.lower()), "")
        if other:
            golds.append(Statement(quote, title, "is linked with", other))
    is_bridge = one["type"] == "bridge" and len({gold.subject for gold in golds}) > 1
    return paragraphs, golds if is_bridge else []


def parse_musique(one: dict[str, Any]) -> tuple[list[tuple[str, list[str]]], list[Statement]]:
    paragraphs = [
        (paragraph["title"], re.split(r"(?<=[.!?]) (?=[A-Z])", paragraph["paragraph_text"].strip()))
        for paragraph in one["paragraphs"]
    ]
    golds, answers = list[Statement](), list[str]()
    for step in one["question_decomposition"]:
        title, sentences = paragraphs[step["paragraph_support_idx"]]
        relation = re.sub(r"#(\d)", lambda found: answers[int(found[1]) - 1], step["question"])
        quote = next((s for s in sentences if step["answer"].lower() in s.lower()), None)
        if quote is None:
            return paragraphs, []
        golds.append(Statement(quote, title, relation, step["answer"]))
        answers.append(step["answer"])
    return paragraphs, golds if len({one.quote for one in golds}) == len(golds) else []


_PARSERS = {"2wiki": parse_2wiki, "hotpot": parse_hotpot, "musique": parse_musique}


def between(text: str, tag: str) -> str:
    return text.partition(f"<{tag}>\n")[2].partition(f"\n</{tag}>")[0]


class ScriptedReader:
    """Knows what each sentence states, and keeps what bears on the question."""

    def __init__(self, case: Case, drop: float) -> None:
        self._case, self._drop = case, drop
        self._asked = find_stems(case.question)
        self.find = cache(self._find)

    def _find(self, section: str) -> list[Statement]:
        found = self._case.find(section)
        return [one for one in found if random.Random(f"{SEED}{one.quote}").random() >= self._drop]

    def __call__(self, messages: Sequence[Message]) -> str:
        text = messages[-1].content
        section = between(text, "section")
        if '{"rows"' in text:
            rows = [
                {"subject": one.subject, "relation": one.relation, "object": one.object, "quote": one.quote}
                for one in self.find(section)
            ]
            return json.dumps({"rows": rows, "memory": "nothing open"})
        kept = [line for line in between(text, "memory").splitlines() if " | " in line]
        if not section:
            return "\\boxed{" + "; ".join(kept)[:400] + "}"
        new = [one.line for one in self.find(section) if one.line not in kept]
        best = self._choose([*kept, *new])
        if text.endswith("Changes:"):
            return "\n".join(f"ADD: {line}" for line in new if line in best) or "UNCHANGED"
        return "\n".join(best) or "UNCHANGED"

    def _choose(self, lines: list[str]) -> list[str]:
        """Return the lines that fit, those that share words with the question or names with better lines first."""
        counter, chosen, left, used = WordTokenizer(), list[str](), dict.fromkeys(lines), 0
        names = set(self._asked)
        while left:
            best = max(left, key=lambda line: len(find_stems(line) & names) / (3 + len(find_stems(line))))
            del left[best]
            used += counter.count(f"{best}\n")
            if used > PLAN.memory_tokens or not find_stems(best) & names:
                break
            chosen.append(best)
            ends = best.split(" | ")
            names |= find_stems(ends[0]) | find_stems(ends[-1])
        return [line for line in lines if line in chosen]


PLAN = Plan(chunk_tokens=1500, memory_tokens=256, answer_tokens=200, question_tokens=300)


async def measure(name: str, tokens: int, chosen: slice, drop: float, data: Path) -> dict[str, Any]:
    makers = {"walk": list_walks, "bridge": list_bridges}
    make = makers.get(name) or partial(list_questions, name)
    cases = islice(make(tokens, chosen.stop, data), chosen.start, chosen.stop)
    held: dict[str, list[bool]] = {way: [] for way in WAYS}
    calls, began = dict.fromkeys(WAYS, 0), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            for way in WAYS:
                model = ScriptedModel(ScriptedReader(case, drop), plan=PLAN, window=8192)
                document = TextDocument(case.text)
                reading = await aread(document, case.question, model=model, way=way, journal=Path(folder) / "j.sqlite")
                memory = reading.memory.text
                held[way].append(all(one.line in memory for one in case.golds))
                calls[way] += reading.usage.calls
            done = {way: [int(one) for one in held[way]] for way in WAYS}
            print(json.dumps({"set": name, **done, "CPU s": round(time.process_time() - began)}), file=sys.stderr)
    n = len(held["graph"])
    figures = {way: f"{fmean(held[way]):.2f}" for way in WAYS} if n else {}
    pairs = [(one, other) for one, other in zip(held["graph"], held["sequential"], strict=True) if one != other]
    return {
        "set": name,
        "tokens": tokens,
        "n": n,
        "drop": drop,
        **figures,
        "graph alone": sum(one for one, _ in pairs),
        "sequential alone": sum(other for _, other in pairs),
        "calls": {way: round(calls[way] / max(1, n), 1) for way in WAYS},
        "CPU s": round(time.process_time() - began),
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--count", type=int, default=40)
    options.add_argument("--first", type=int, default=0, help="where the questions begin: a long run is made in pieces")
    options.add_argument("--tokens", type=int, nargs="+", default=[7_000])
    options.add_argument("--drop", type=float, nargs="+", default=[0.0, 0.1])
    options.add_argument("--sets", nargs="+", default=["walk", "bridge", *FILES])
    given = options.parse_args()
    for name in given.sets:
        for tokens in given.tokens:
            for drop in given.drop:
                chosen = slice(given.first, given.first + given.count)
                print(json.dumps(asyncio.run(measure(name, tokens, chosen, drop, given.data))), flush=True)


if __name__ == "__main__":
    main()
