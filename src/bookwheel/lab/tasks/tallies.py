"""Questions whose evidence is the whole document.

cwe      a numbered list of words; ten stand in it 30 times each, all others 3 times: name the ten. Where a text is too
         short for that, 6 times and once. Where more words would be needed than the vocabulary has, both counts grow by
         the same factor
fwe      made-up words whose counts follow a zeta distribution with alpha 2.0; the most frequent place is taken by dots:
         name the three most frequent words
ledger   a document that is nothing but labelled lines, as OOLONG has them:

    3 May 1871 | Ada Quill | toll | 42 marks
    4 May 1871 | Bram Marrow | repair | 17 marks

    count     how many entries have a label         most      the label with the most entries
    who       who has the most entries of a label   least     the label with the fewest

         Every line of the label, or every line at all, is evidence. Where several labels or people have equally many
         entries, each of them is a gold answer
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import chain, islice
from random import Random
from string import ascii_lowercase
from typing import Annotated, Final, Literal

from bookwheel.lab.tasks.assembly import CLOSE, AssembledDocument, count_tokens, draw_filler, join, length_error
from bookwheel.lab.tasks.base import GoldEvidence, MemoryRule
from bookwheel.lab.tasks.definition import BOTH, AtLeastOne, SampleDraft, SampleRequest, task
from bookwheel.lab.tasks.material import Wordings, coin_word, draw_distinct, list_words, write_prose
from bookwheel.schema import Ge, Le

_FREQUENT: Final = 3
ALPHAS: Final = Annotated[float, Ge(1.1), Le(4.0)]
"""How fast the counts of `fwe` may fall from word to word."""
_ROUNDS: Final = 12


@task("cwe", "RULER: the ten common words of a long list", words=AtLeastOne)
def build_common_words(request: SampleRequest) -> SampleDraft:
    count = request.options.get("words", 10)
    key = request.rng.getrandbits(64)
    words = sorted({word for listed in request.data_dir.words.values() for word in listed})
    if len(words) >= 12 * count:
        request.rng.shuffle(words)
    else:
        words = list(islice(draw_distinct(lambda: coin_word(request.rng)), max(4000, 12 * count)))

    def texts(size: int) -> list[str]:
        """Return about `size` numbered entries; the first `count` words are the common ones."""
        often, seldom = (30, 3) if size >= count * 36 else (6, 1)
        rest = max(1, size - count * often)
        most = (len(words) - count) * seldom
        if rest > most:
            factor = -(-size // (most + count * often))
            often, seldom = often * factor, seldom * factor
            rest = max(1, size - count * often)
        entries = [word for word in words[:count] for _ in range(often)]
        entries += [words[count + at // seldom] for at in range(rest)]
        Random(key).shuffle(entries)  # noqa: S311 - not for secrets
        return [f"{number}. {word}\n" for number, word in enumerate(entries, start=1)]

    body = _fit_length(texts, request, least=8 * count, guess=request.tokens // 4)
    return SampleDraft(
        question=f"The document is a long numbered list of words. Which {count} words occur in it most often? Name all "
        f"{count}.",
        golds=tuple(words[:count]),
        metric="share_of",
        body=body,
        memory=MemoryRule.TALLY,
    )


@task("fwe", "RULER: the three most frequent made-up words", alpha=ALPHAS)
def build_frequent_words(request: SampleRequest) -> SampleDraft:
    alpha = float(request.options.get("alpha", 2.0))
    key = request.rng.getrandbits(64)
    coined = draw_distinct(lambda: "".join(request.rng.choices(ascii_lowercase, k=6)))
    words = list(islice(coined, max(40, request.tokens // 50)))
    shares = [rank**-alpha for rank in range(1, len(words) + 2)]
    total = sum(shares)

    def texts(size: int) -> list[str]:
        counts = [round(size * share / total) for share in shares]
        entries = ["... "] * counts[0]
        for word, often in zip(words, counts[1:], strict=True):
            entries += [f"{word} "] * often
        Random(key).shuffle(entries)  # noqa: S311 - not for secrets
        return entries

    # The three words to find must be clearly more frequent than the next.
    last, following = shares[_FREQUENT : _FREQUENT + 2]
    sizes = range(8, 100_000)
    least = next(size for size in sizes if round(size * last / total) > round(size * following / total) + 1)
    return SampleDraft(
        question=f"The document is a row of made-up words; the dots are not words. Which {_FREQUENT} words occur in it "
        f"most often? Name all {_FREQUENT}.",
        golds=tuple(words[:_FREQUENT]),
        metric="share_of",
        body=_fit_length(texts, request, least=least, guess=request.tokens // 3),
        memory=MemoryRule.TALLY,
        metadata={"alpha": alpha},
    )


def _fit_length(
    texts: Callable[[int], list[str]], request: SampleRequest, *, least: int, guess: int
) -> AssembledDocument:
    """Return the longest text within the budget. A good guess of its size needs two or three rounds of counting."""
    need = count_tokens(texts(least), request.tokenizer)
    if need > request.tokens:
        raise length_error(request.task, request.tokens, need)
    low, size = least, max(least, min(guess, 4000))
    for _ in range(_ROUNDS):
        entries = texts(size)
        tokens = count_tokens(entries, request.tokenizer)
        if CLOSE * request.tokens < tokens <= request.tokens:
            break
        aim = int(size * request.tokens * 0.992 / tokens)
        low = max(low, size) if tokens <= request.tokens else low
        size = max(low, aim if aim != size else size - 1)
    else:
        entries = texts(low)
    entries[-1] = entries[-1].rstrip()
    body = join(entries, (), request.tokenizer)
    return replace(body, evidence=(GoldEvidence(start=0, end=sum(map(len, body.pieces))),))


_LEAST_LINES: Final = 8
# Tokens for the closing words, which fill what no whole line fits into.
_CLOSING: Final = 12
# Lines of one piece of evidence where all lines count.
_BLOCK: Final = 16
_SHARES: Final = (5, 4, 4, 3, 3, 2)
"""How often the labels occur, in an order of their own for each sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of the ledger."""

    text: str
    who: str
    label: str


@task(
    "ledger",
    "counts over all lines of a ledger: how many, who most, which label most or least",
    languages=BOTH,
    ask=Literal["count", "who", "most", "least"],
)
def build_ledger(request: SampleRequest) -> SampleDraft:
    """Fill a ledger up to the length, and ask for a number, a person or a label."""
    rng, say = request.rng, Wordings("ledger", request)
    asked = str(request.options.get("ask") or rng.choice(("count", "who", "most", "least")))
    key = request.rng.getrandbits(64)
    # What the first lines hold is asked for, so that the question is the same at every length.
    label = rng.choice(list(islice(_draw_entries(request, key), _LEAST_LINES))).label
    entries, body = _fill_ledger(request, key, say["closing"])
    of_label = [entry for entry in entries if entry.label == label]
    counts = Counter(entry.who for entry in of_label) if asked == "who" else Counter(one.label for one in entries)
    extreme = min(counts.values()) if asked == "least" else max(counts.values())
    winners = tuple(sorted(name for name, count in counts.items() if count == extreme))
    return SampleDraft(
        question=say["ask"][asked].format(label=label),
        golds=(str(len(of_label)),) if asked == "count" else winners,
        metric="exact",
        body=replace(body, evidence=tuple(_find_evidence(entries, asked, label))),
        metadata={"ask": asked, "entries": len(entries)},
    )


def _draw_entries(request: SampleRequest, key: int) -> Iterator[Entry]:
    """Yield the lines of a ledger, forever; the same ones for the same key."""
    rng, language, say = Random(key), request.language, Wordings("ledger", request)  # noqa: S311 - not for secrets
    if language == "zh":
        given = list_words("given", "zh")
        people = [name + rng.choice(given) for name in rng.sample(list_words("family", "zh"), 5)]
    else:
        family = list_words("family")
        people = [f"{name} {rng.choice(family)}" for name in rng.sample(list_words("given"), 5)]
    labels = rng.sample(say["label"], len(_SHARES))
    day = date(1871, 1, 1)
    while True:
        # Some lines have the same day. The calendar starts again before the last year that a date can have.
        day = day + timedelta(days=rng.randrange(3)) if day.year < 9000 else date(1871, 1, 1)  # noqa: PLR2004
        who, label = rng.choice(people), rng.choices(labels, _SHARES)[0]
        text = say["line"].format(day=day, who=who, label=label, sum=rng.randrange(2, 900))
        yield Entry(text=text, who=who, label=label)


def _fill_ledger(request: SampleRequest, key: int, closing: str) -> tuple[list[Entry], AssembledDocument]:
    """Return the entries that fit, and the document: their lines, and closing words that fill the rest."""
    first = islice(_draw_entries(request, key), _LEAST_LINES)
    least = count_tokens([*(entry.text for entry in first), closing], request.tokenizer) + _CLOSING
    if least > request.tokens:
        raise length_error(request.task, request.tokens, least)
    stream = (entry.text for entry in _draw_entries(request, key))
    lines = draw_filler(stream, request.tokens - _CLOSING, request.tokenizer).units
    # The last line may be cut, and joined lines may have more tokens than their sum.
    for spared in range(1, len(lines)):
        kept = lines[: len(lines) - spared]
        remarks = write_prose(request.language, Random(key))  # noqa: S311 - not for secrets
        body = request.assemble(chain(kept, [closing], remarks))
        if "".join(body.pieces).startswith("".join(kept)):
            break
    return list(islice(_draw_entries(request, key), len(kept))), body


def _find_evidence(entries: Sequence[Entry], asked: str, label: str) -> Iterator[GoldEvidence]:
    """Yield the lines that count, with the counts so far as their note."""
    is_of_label = asked in {"count", "who"}
    counts: Counter[str] = Counter()
    start, offset, lines = 0, 0, 0
    for number, entry in enumerate(entries, start=1):
        start, offset = (offset if not lines else start), offset + len(entry.text)
        if is_of_label and entry.label != label:
            continue
        counts[entry.who if asked == "who" else entry.label] += 1
        lines += 1
        if is_of_label or lines == _BLOCK or number == len(entries):
            note = ", ".join(f"{name}: {count}" for name, count in counts.most_common())
            yield GoldEvidence(start=start, end=offset - 1, note=note, key="counts")
            lines = 0
