"""Sentences of an answer that say where their words stand, looked up there.

    src/net.py:12: RETRIES = 3                           a line, or the beginning of one that ends with "…"
    in settle, src/books.py:88: close_ledger(day)        a line of a definition
    - `net.py:12`: `RETRIES = 3`                         in a list, as code, without the folder
    src/net.py:12-14:                                    the lines below, up to the next such place
    def fetch():
        …

Such a sentence is borne out where the file has these words on these lines, and nowhere else: the same words may stand
in many places, and only one of them was named.

    It is used in `src/net.py:31`: `sleep(RETRIES)`.     a place in the midst of a sentence, or of a row of a table
    RETRIES is set in src/net.py, line 12.

Such a sentence says more than where its code stands, so that alone does not bear it out. But where the file has its
code, or else the names in it, on other lines only, the place is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from bookwheel.claims import Claim, Fit, Verdict
from bookwheel.patterns import compile_late
from bookwheel.text.lines import FILE_HEADER, has_lines
from bookwheel.types import Part
from bookwheel.verdict.search import LocatedSentence

_PLACE: Final = (
    r"`?(?:in (?P<scope>[\w.$]+), )?`?(?P<source>[^\s:`][^:`\n]{0,250}?)(?::|#L)(?P<first>\d{1,7})"
    r"(?:-L?(?P<last>\d{1,7}))?`?:"
)
_BULLET: Final = compile_late(r"\s*(?:[-*•]|\d{1,2}[.)])\s+")
_LINE: Final = compile_late(rf"{_PLACE} +(?P<words>\S[^\n]*)\Z")
_BLOCK: Final = compile_late(rf"{_PLACE}\n(?P<words>.+)\Z", re.DOTALL)
_HEAD: Final = compile_late(rf"{_PLACE}\Z")
_NAMED: Final = compile_late(
    r"(?<![\w./-])(?P<source>[\w./-]{0,250}\w)(?P<mark>`?)(?::|#L|,? \(?(?:at |in |on )?lines? |\s*第\s*)"
    r"(?P<first>\d{1,7})(?:[-–]L?(?P<last>\d{1,7}))?(?!\w)"
)
# In marks, or a cell of a table.
_CODE: Final = compile_late(r"`([^`\n]+)`|\|([^|\n]+)(?=\|)")
_SIMPLE: Final = compile_late(r"[\w.$]+(?:\(\))?")
_NAME: Final = compile_late(r"\b(?:[^\W_]+_\w+|[a-z]+[A-Z]\w*|[A-Z][A-Z\d]{2,}|\w+(?=\(\)))\b")
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
        return _squeeze(self.words)

    def is_in(self, source: str) -> bool:
        """Return whether this names a file, with or without the folders above it."""
        return f"/{source}".endswith(f"/{self.source}")


@dataclass(frozen=True, slots=True)
class _Mention:
    """The places that a sentence names in its midst, with the code and the names that it has beside them."""

    places: tuple[_Citation, ...]
    code: tuple[str, ...]
    names: tuple[str, ...]

    def is_in(self, source: str) -> bool:
        return any(place.is_in(source) for place in self.places)

    def is_astray(self, files: Mapping[str, Sequence[str]]) -> bool:
        """Return whether one of the places is wrong in each file that it can mean."""
        for place in self.places:
            checks = [self._stands_at(place, lines) for source, lines in files.items() if place.is_in(source)]
            if False in checks and True not in checks:
                return True
        return False

    def _stands_at(self, place: _Citation, lines: Sequence[str]) -> bool | None:
        """Tell if a file has some of it on these lines; None where it has nothing of it."""
        named, whole = _squeeze("".join(_cut_lines(place, lines))), _squeeze("".join(lines))
        if code := [one for one in self.code if one in whole]:
            return any(one in named for one in code)
        around = _squeeze("".join(_list_definitions(place, lines)))
        names = [one for one in self.names if one in whole]
        return any(one in named or one in around for one in names) if names else None


def _squeeze(text: str) -> str:
    return "".join(text.split())


def _parse(piece: str) -> _Citation | None:
    found = _LINE.match(piece) or _BLOCK.match(piece)
    if not found or not has_lines(found["source"]):
        return None
    first, last = int(found["first"]), int(found["last"] or found["first"])
    words = found["words"].strip(_BLANKS).removesuffix(_CUT)
    return _Citation(found["scope"] or "", found["source"], first, last, words) if words and last >= first else None


def _find_mention(piece: str) -> _Mention | None:
    places = tuple(
        _Citation("", found["source"], int(found["first"]), int(found["last"] or found["first"]), "")
        for found in _NAMED.finditer(piece)
        if has_lines(found["source"])
    )
    if not places:
        return None
    left = _NAMED.sub(lambda found: f" {found['mark']}", piece)
    marked = [(found[1] or found[2]).strip(_BLANKS).removesuffix(_CUT) for found in _CODE.finditer(left)]
    code = tuple(_squeeze(one) for one in marked if one and not _SIMPLE.fullmatch(one))
    names = [one.removesuffix("()") for one in marked if _SIMPLE.fullmatch(one)]
    return _Mention(places, code, (*names, *_NAME.findall(left)))


def drop_places(piece: str) -> str:
    """Return a sentence without the lines of files that it names, whose numbers are no values."""
    return _NAMED.sub(lambda found: " " if has_lines(found["source"]) else found[0], piece)


def find_cited(parts: Iterable[Part], pieces: Sequence[str]) -> dict[int, LocatedSentence | None]:
    """Return the places of those pieces that name lines of a file; None where their words stand elsewhere."""
    wanted = {at: cited for at, piece in enumerate(pieces) if (cited := _parse(piece))}
    others = enumerate(pieces)
    mentions = {at: said for at, piece in others if at not in wanted and (said := _find_mention(piece))}
    looked_for: list[_Citation | _Mention] = [*wanted.values(), *mentions.values()]
    files, start = dict[str, tuple[int, list[str]]](), 0
    for part in parts if looked_for else ():
        if part.source in files or any(one.is_in(part.source) for one in looked_for):
            files.setdefault(part.source, (start, []))[1].append(part.text)
        start += len(part.text)
    lines = {source: "".join(texts).split("\n") for source, (_, texts) in files.items()}
    found: dict[int, LocatedSentence | None] = {at: None for at, said in mentions.items() if said.is_astray(lines)}
    for source, (begins, _) in files.items():
        for at, cited in wanted.items():
            if cited.is_in(source) and (place := _look_up(cited, begins, lines[source])):
                found[at] = place
            elif cited.is_in(source) and cited.squeezed in _squeeze("".join(lines[source])):
                found.setdefault(at, None)
    # A file of the document that has none of the words is a wrong one, where another has them.
    astray = {at: one for at, one in wanted.items() if at not in found and any(map(one.is_in, files))}
    for part in parts if astray else ():
        text = _squeeze(part.text)
        found |= {at: None for at, one in astray.items() if one.squeezed in text}
    return found


def _first_line(cited: _Citation, lines: Sequence[str]) -> int:
    """Return where the first line of a citation stands, behind the name of the file."""
    skipped = next((at + 1 for at, line in enumerate(lines[:2]) if FILE_HEADER.match(line)), 0)
    return skipped + cited.first - 1


def _cut_lines(cited: _Citation, lines: Sequence[str]) -> Sequence[str]:
    first = _first_line(cited, lines)
    return lines[first : first + min(cited.last - cited.first, _MOST_LINES) + 1]


def _list_definitions(cited: _Citation, lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines above a citation that are indented less and less: what it stands in."""
    first = _first_line(cited, lines)
    least = min((_measure_indent(line) for line in lines[first : first + 1]), default=0)
    for line in reversed(lines[:first]):
        if line.strip() and (indent := _measure_indent(line)) < least:
            least = indent
            yield line


def _measure_indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _look_up(cited: _Citation, start: int, lines: Sequence[str]) -> LocatedSentence | None:
    """Return the lines that a citation names, where they have its words below the definition that it names."""
    first, text = _first_line(cited, lines), "\n".join(_cut_lines(cited, lines))
    said, there = cited.squeezed, _squeeze(text).strip("`")
    is_whole = said == there or (cited.first == cited.last and said and there.startswith(said))
    is_inside = all(any(name in line for line in lines[:first]) for name in filter(None, cited.scope.split(".")))
    if not (is_whole and is_inside):
        return None
    start += sum(len(line) + 1 for line in lines[:first]) + len(text) - len(text.lstrip())
    return LocatedSentence(text.strip(), start, start + len(text.strip()))
