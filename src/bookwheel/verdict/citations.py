"""Sentences of an answer that say where their words stand, looked up there.

    src/net.py:12: RETRIES = 3                           a line, or the beginning of one that ends with "…"
    in settle, src/books.py:88: close_ledger(day)        a line of a definition
    - `net.py:12`: `RETRIES = 3`                         in a list, as code, without the folder
    src/net.py:12-14:                                    the lines below, up to the next such place
    def fetch():
        …

Such a sentence is borne out where the file has these words on these lines, and nowhere else: the same words may stand
in many places, and only one of them was named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from bookwheel.claims import Claim, Fit, Verdict
from bookwheel.patterns import compile_late
from bookwheel.text.lines import FILE_HEADER, has_lines
from bookwheel.types import Part
from bookwheel.verdict.search import LocatedSentence

_PLACE: Final = (
    r"`?(?:in (?P<scope>[\w.$]+), )?`?(?P<source>[^\s:`][^:`\n]{0,250}):(?P<first>\d{1,7})(?:-(?P<last>\d{1,7}))?`?:"
)
_BULLET: Final = compile_late(r"\s*(?:[-*•]|\d{1,2}[.)])\s+")
_LINE: Final = compile_late(rf"{_PLACE} +(?P<words>\S[^\n]*)\Z")
_BLOCK: Final = compile_late(rf"{_PLACE}\n(?P<words>.+)\Z", re.DOTALL)
_HEAD: Final = compile_late(rf"{_PLACE}\Z")
_CUT: Final = "…"
_BLANKS: Final = " \n\t`"
# Lines of a file that one citation may have.
_MOST_LINES: Final = 400


def split_citations(answer: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of an answer, and of each whether it is a citation; what stands between two is one piece."""
    piece, is_block = list[str](), False
    for listed in answer.splitlines():
        bullet = _BULLET.match(listed)
        bare = listed[bullet.end() :] if bullet else listed
        line = bare if _LINE.match(bare) or _HEAD.match(bare) else listed
        is_line, is_head = bool(_LINE.match(line)), bool(_HEAD.match(line))
        if piece and (is_line or is_head):
            yield "\n".join(piece), is_block
            piece, is_block = [], False
        if is_line:
            yield line, True
            continue
        piece.append(line)
        is_block = is_block or is_head
    if piece:
        yield "\n".join(piece), is_block


def is_citation(piece: str) -> bool:
    """Return whether a sentence names the lines of a file that its words stand on."""
    return _parse(piece) is not None


def assure(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Return the claims of an answer that was looked up: what stands where it says is what was asked for."""
    return tuple(
        replace(claim, answers=Fit.YES) if claim.verdict is Verdict.QUOTED and is_citation(claim.text) else claim
        for claim in claims
    )


@dataclass(frozen=True, slots=True)
class _Citation:
    scope: str
    source: str
    first: int
    last: int
    words: str

    @property
    def squeezed(self) -> str:
        return "".join(self.words.split())

    def is_in(self, source: str) -> bool:
        """Return whether this names a file, with or without the folders above it."""
        return f"/{source}".endswith(f"/{self.source}")


def _parse(piece: str) -> _Citation | None:
    found = _LINE.match(piece) or _BLOCK.match(piece)
    if not found or not has_lines(found["source"]):
        return None
    first, last = int(found["first"]), int(found["last"] or found["first"])
    words = found["words"].strip(_BLANKS).removesuffix(_CUT)
    return _Citation(found["scope"] or "", found["source"], first, last, words) if words and last >= first else None


def find_cited(parts: Iterable[Part], pieces: Sequence[str]) -> dict[int, LocatedSentence | None]:
    """Return the places of those pieces that name lines of a file; None where their words stand elsewhere."""
    wanted = {at: cited for at, piece in enumerate(pieces) if (cited := _parse(piece))}
    files, start = dict[str, tuple[int, list[str]]](), 0
    for part in parts if wanted else ():
        if part.source in files or any(cited.is_in(part.source) for cited in wanted.values()):
            files.setdefault(part.source, (start, []))[1].append(part.text)
        start += len(part.text)
    found: dict[int, LocatedSentence | None] = {}
    for source, (begins, texts) in files.items():
        for at, cited in wanted.items():
            if cited.is_in(source) and (place := _look_up(cited, begins, texts)):
                found[at] = place
            elif cited.is_in(source) and cited.squeezed in "".join("".join(texts).split()):
                found.setdefault(at, None)
    # A file of the document that has none of the words is a wrong one, where another has them.
    astray = {at: one for at, one in wanted.items() if at not in found and any(map(one.is_in, files))}
    for part in parts if astray else ():
        text = "".join(part.text.split())
        found |= {at: None for at, one in astray.items() if one.squeezed in text}
    return found


def _look_up(cited: _Citation, start: int, texts: Sequence[str]) -> LocatedSentence | None:
    """Return the lines that a citation names, where they have its words below the definition that it names."""
    lines = "".join(texts).split("\n")
    skipped = next((at + 1 for at, line in enumerate(lines[:2]) if FILE_HEADER.match(line)), 0)
    first = skipped + cited.first - 1
    text = "\n".join(lines[first : skipped + min(cited.last, cited.first + _MOST_LINES)])
    said, there = cited.squeezed, "".join(text.split()).strip("`")
    is_whole = said == there or (cited.first == cited.last and said and there.startswith(said))
    is_inside = all(any(name in line for line in lines[:first]) for name in filter(None, cited.scope.split(".")))
    if not (is_whole and is_inside):
        return None
    start += sum(len(line) + 1 for line in lines[:first]) + len(text) - len(text.lstrip())
    return LocatedSentence(text.strip(), start, start + len(text.strip()))
