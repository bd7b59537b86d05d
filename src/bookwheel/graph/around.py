"""The part of a graph around a question, within a budget of tokens, each edge with its quote.

    cost(edge) = 1 - 0.7 * share of the question's words that relation, far end and quote have      from 0.3 to 1
    order      = by the cost of the cheapest path from a node that the question names

So edges at the names of the question come first, then what these lead to, along words of the question where there are
such. A node with many edges is no hub for everything: each path through it costs more.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from math import log
from typing import TYPE_CHECKING, Final

from bookwheel.text.ranking import QuestionWords, find_stems, weigh_rarity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bookwheel.graph.facts import FactGraph, GraphFact
    from bookwheel.text.tokens import Tokenizer

_WORDS: Final = 0.7
_HUB: Final = 0.1
_NODE: Final = -1
_LEAST_MATCH: Final = 0.5
"""Of a node's rarest words that the question must have, for the question to name it."""
_LONGEST_QUOTE: Final = 240


def format_fact(fact: GraphFact, *, with_quote: bool = True) -> str:
    """Return a fact as a line that a model reads."""
    time = f" ({time})" if (time := fact.describe_time()) else ""
    ended = " [no longer]" if fact.is_superseded else ""
    line = f"{fact.subject} | {fact.relation} | {fact.object}{time}{ended}"
    quote = fact.quote if len(fact.quote) <= _LONGEST_QUOTE else f"{fact.quote[:_LONGEST_QUOTE]}…"
    return f'{line}: "{quote}"' if with_quote and quote else line


def find_lines(graph: FactGraph, question: str, tokenizer: Tokenizer, limit: int) -> list[str]:
    """Return the facts around a question as lines within a limit of tokens, the nearest first."""
    lines: list[str] = []
    used = 0
    for fact in rank_facts(graph, question):
        for with_quote in (True, False):
            line = format_fact(fact, with_quote=with_quote)
            tokens = tokenizer.count(f"{line}\n")
            if used + tokens <= limit:
                lines.append(line)
                used += tokens
                break
        else:
            break
    return lines


def rank_facts(graph: FactGraph, question: str) -> Iterator[GraphFact]:
    """Yield the facts that a question leads to, nearest first; then those that share words with it."""
    words, facts = QuestionWords(question), graph.facts
    edges: dict[str, list[int]] = defaultdict(list)
    for at, fact in enumerate(facts):
        edges[fact.subject].append(at)
        edges[fact.object].append(at)
    # Nodes and edges by the cost of the cheapest path to them; a node has no edge's number.
    heap = [(cost, _NODE, name) for name, cost in _find_seeds(graph, words)]
    heapq.heapify(heap)
    seen: set[int] = set()
    reached: set[str] = set()
    while heap:
        cost, at, name = heapq.heappop(heap)
        if at == _NODE and name not in reached:
            reached.add(name)
            cost += _HUB * log(len(edges[name]))
            for edge in edges[name]:
                heapq.heappush(heap, (cost + 1 - _WORDS * words.share(_join_words(facts[edge])), edge, ""))
        elif at != _NODE and at not in seen:
            seen.add(at)
            yield facts[at]
            for end in (facts[at].subject, facts[at].object):
                heapq.heappush(heap, (cost, _NODE, end))
    left = [(-words.share(_join_words(fact)), at) for at, fact in enumerate(facts) if at not in seen]
    yield from (facts[at] for share, at in sorted(left) if share)


def _join_words(fact: GraphFact) -> str:
    return f"{fact.subject} {fact.relation} {fact.object} {fact.quote}"


def _find_seeds(graph: FactGraph, words: QuestionWords) -> Sequence[tuple[str, float]]:
    """Return the nodes that a question names, the best first at no cost."""
    stems = {name: find_stems(" ".join((name, *graph.aliases.get(name, ())))) for name in graph.nodes}
    holders: dict[str, int] = defaultdict(int)
    for found in stems.values():
        for word in found:
            holders[word] += 1
    total = max(1, len(stems))
    seeds = []
    for name, found in stems.items():
        whole = sum(weigh_rarity(holders[word], total) for word in find_stems(name)) or 1.0
        share = sum(weigh_rarity(holders[word], total) for word in found & words.stems) / whole
        if share >= _LEAST_MATCH:
            seeds.append((name, 1 - min(1.0, share)))
    return seeds
