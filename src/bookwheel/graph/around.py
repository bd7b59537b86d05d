"""The part of a graph around a question, within a budget of tokens, each edge with its quote.

    gain(edge) = weight of the question's words in relation, far end and quote, as a share of the most that an edge has
    cost(edge) = 1 - 0.9 * gain, and more against its direction, from a node with many edges, or where the node's name
                 stands in the relation alone: "sports | home team in the Harbour Hall | the Nets"
    order      = by the cost of the cheapest path from a node that the question names

So edges at the names of the question come first, then what these lead to, along words of the question where there are
such. Quotes take what the facts themselves leave of the budget, the nearest first.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from math import log
from typing import TYPE_CHECKING, Final

from bookwheel.text.ranking import QuestionWords, find_stems, weigh_rarity

if TYPE_CHECKING:
    from bookwheel.graph.facts import FactGraph, GraphFact
    from bookwheel.text.tokens import Tokenizer

_WORDS: Final = 0.9
_QUOTED: Final = 0.3
"""What a word counts that stands in the quote alone."""
_BACKWARD: Final = 0.6
_NAMED: Final = 0.3
"""What it costs that a fact has a node's name in its relation alone, and is no edge of it."""
_HUB: Final = 0.05
_NODE: Final = -1
_LEAST_NAME: Final = 4
"""Characters of a name that is looked for in the words of facts."""
_LEAST_MATCH: Final = 0.5
"""Of a node's rarest words that the question must have, for the question to name it."""
_LONGEST_QUOTE: Final = 240
_WORD: Final = re.compile(r"[\u4e00-\u9fff]|[^\W\u4e00-\u9fff]+")
_BRACKETS: Final = re.compile(r"\s*\([^()]*\)")
"""What tells names apart, and no sentence has: "The Bourne Legacy (film)"."""


def format_fact(fact: GraphFact, *, with_quote: bool = True) -> str:
    """Return a fact as a line that a model reads."""
    time = f" ({time})" if (time := fact.describe_time()) else ""
    ended = " [no longer]" if fact.is_superseded else ""
    line = f"{fact.subject} | {fact.relation} | {fact.object}{time}{ended}"
    quote = fact.quote if len(fact.quote) <= _LONGEST_QUOTE else f"{fact.quote[:_LONGEST_QUOTE]}…"
    return f'{line}: "{quote}"' if with_quote and quote else line


def find_lines(graph: FactGraph, question: str, tokenizer: Tokenizer, limit: int) -> list[str]:
    """Return the facts around a question as lines within a limit of tokens, the nearest first."""
    facts: list[GraphFact] = []
    left = limit
    for fact in rank_facts(graph, question):
        left -= tokenizer.count(f"{format_fact(fact, with_quote=False)}\n")
        if left < 0:
            break
        facts.append(fact)
    left = limit - sum(tokenizer.count(f"{format_fact(fact, with_quote=False)}\n") for fact in facts)
    lines: list[str] = []
    for fact in facts:
        bare, whole = (format_fact(fact, with_quote=with_quote) for with_quote in (False, True))
        more = tokenizer.count(f"{whole}\n") - tokenizer.count(f"{bare}\n")
        lines.append(whole if more <= left else bare)
        left -= more if more <= left else 0
    return lines


def rank_facts(graph: FactGraph, question: str) -> Iterator[GraphFact]:
    """Yield the facts that a question leads to, nearest first; then those that share words with it."""
    words, facts = QuestionWords(question), graph.facts
    gains = _measure_gains(facts, find_stems(question))
    edges: dict[str, list[int]] = defaultdict(list)
    for at, fact in enumerate(facts):
        edges[fact.subject].append(at)
        edges[fact.object].append(at)
    named = _Mentions(graph)
    # Nodes and edges by the cost of the cheapest path to them; a node has no edge's number.
    heap = [(cost, _NODE, name) for name, cost in _find_seeds(graph, words)]
    heapq.heapify(heap)
    seen: set[int] = set()
    reached: set[str] = set()
    while heap:
        cost, at, name = heapq.heappop(heap)
        if at == _NODE and name not in reached:
            reached.add(name)
            beside = named.list_facts(name) - {*edges[name]}
            cost += _HUB * log(len(edges[name]) + len(beside))
            for edge in edges[name]:
                back = 0.0 if facts[edge].subject == name else _BACKWARD
                heapq.heappush(heap, (cost + 1 - _WORDS * gains[edge] + back, edge, ""))
            for edge in sorted(beside):
                heapq.heappush(heap, (cost + 1 - _WORDS * gains[edge] + _NAMED, edge, ""))
        elif at != _NODE and at not in seen:
            seen.add(at)
            yield facts[at]
            for end in (facts[at].subject, facts[at].object):
                heapq.heappush(heap, (cost, _NODE, end))
    left = sorted((-gains[at], at) for at in range(len(facts)) if at not in seen and gains[at])
    yield from (facts[at] for _, at in left)


class _Mentions:
    """Finds the facts whose relation has the name of a node; by their quotes, a name led to too many."""

    def __init__(self, graph: FactGraph) -> None:
        self._aliases = graph.aliases
        self._relations = [f" {_fold(fact.relation)} " for fact in graph.facts]
        self._holders: dict[str, list[int]] = defaultdict(list)
        for at, relation in enumerate(self._relations):
            for word in {*relation.split()}:
                self._holders[word].append(at)

    def list_facts(self, node: str) -> set[int]:
        """Return the places of the facts that have one of the node's names as whole words."""
        names = {_fold(_BRACKETS.sub("", name)) for name in (node, *self._aliases.get(node, ()))}
        found: set[int] = set()
        for name in names:
            holders = [self._holders.get(word, []) for word in name.split()] if len(name) >= _LEAST_NAME else []
            rarest = min(holders, key=len, default=[])
            found.update(at for at in rarest if f" {name} " in self._relations[at])
        return found


def _fold(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def _measure_gains(facts: Sequence[GraphFact], asked: set[str]) -> list[float]:
    """Return the weight of the question's words that each fact has beside its subject, as a share of the greatest."""
    stems = [find_stems(fact.subject) for fact in facts]
    said = [
        (asked & find_stems(f"{fact.relation} {fact.object}")) - own for fact, own in zip(facts, stems, strict=True)
    ]
    quoted = [(asked & find_stems(fact.quote)) - own - one for fact, own, one in zip(facts, stems, said, strict=True)]
    holders = Counter(word for one in (*said, *quoted) for word in one)
    rarity = {word: weigh_rarity(count, len(facts)) for word, count in sorted(holders.items())}
    weights = [
        sum(rarity[word] for word in sorted(one)) + _QUOTED * sum(rarity[word] for word in sorted(other))
        for one, other in zip(said, quoted, strict=True)
    ]
    most = max(weights, default=0.0) or 1.0
    return [weight / most for weight in weights]


def _find_seeds(graph: FactGraph, words: QuestionWords) -> Sequence[tuple[str, float]]:
    """Return the nodes that a question names, the best first at no cost."""
    stems = {name: find_stems(" ".join((name, *graph.aliases.get(name, ())))) for name in graph.nodes}
    holders = Counter(word for found in stems.values() for word in found)
    total = max(1, len(stems))
    seeds = []
    for name, found in stems.items():
        whole = sum(weigh_rarity(holders[word], total) for word in find_stems(name)) or 1.0
        share = sum(weigh_rarity(holders[word], total) for word in found & words.stems) / whole
        if share >= _LEAST_MATCH:
            seeds.append((name, 1 - min(1.0, share)))
    return seeds
