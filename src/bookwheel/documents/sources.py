"""What a document is read from: files, the files of a folder, streams; their bytes, and notes on what was not read.

A named file is read in place. A stream or a web response, which can be read only once, is first written to a temporary
file, so that it can be read again and a large one does not fill the memory.

A folder's files come in a fixed order. `.gitignore` files apply at every level, including those above the folder in the
same repository. Links are not followed, so a folder can neither loop nor lead outside. What is left out is reported. A
folder may be a stranger's: its depth is not bounded by Python's stack, and patterns are matched in bounded time.
"""

from __future__ import annotations

import errno
import os
import re
import select
import stat
import tempfile
import time
import weakref
from collections import Counter
from contextlib import closing
from dataclasses import asdict, dataclass, field, fields
from itertools import groupby
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Self

from bookwheel.documents.cancellation import check_cancelled
from bookwheel.errors import NotStored, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pathspec import GitIgnoreSpec

    _Rules = tuple[tuple[Path, GitIgnoreSpec], ...]  # folders, and what their .gitignore leaves out

# Names in one warning; the rest is only counted, and more than the most are not told apart.
_LISTED_PLACES: Final = 5
_MOST_PLACES: Final = 1000
_MOST_KINDS: Final = 100


class SourceWarnings:
    """Notes on text that was left out or guessed while reading. The same note again adds nothing but what it counts."""

    def __init__(self) -> None:
        self._places: dict[str, dict[str, int]] = {}
        self.archives: Counter[str] = Counter()
        """How many archives are open at the moment, one within the other, and how many files of them were read."""

    def add(self, what: str, where: str, count: int = 0) -> None:
        """Record that `what` happened at `where`: a file, a page; and how often, which is summed up."""
        if what not in self._places and len(self._places) >= _MOST_KINDS:
            what, where = "other notes", f"{what}: {where}"
        places = self._places.setdefault(what, {})
        place = "others" if len(places) >= _MOST_PLACES and where not in places else where
        places[place] = places.get(place, 0) + count

    def items(self) -> Iterator[tuple[str, str]]:
        for what, places in self._places.items():
            yield from ((what, f"{where} ({count})" if count else where) for where, count in places.items())

    def lines(self) -> tuple[str, ...]:
        """Return one sentence for each kind of warning, in the order they came up."""
        sentences = []
        for what, noted in groupby(self.items(), key=lambda note: note[0]):
            places = [where for _, where in noted]
            names, more = places[:_LISTED_PLACES], len(places) - _LISTED_PLACES
            sentences.append(f"{what}: {', '.join(names)}{f' and {more} more' if more > 0 else ''}")
        return tuple(sentences)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """The size and time by which we notice that a file has changed."""

    size: int
    modified: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One file; every `open` starts at its first byte."""

    name: str
    """The name in warnings, headers and parts."""
    path: Path
    fingerprint: Fingerprint
    media: str = ""
    """The content type that a server sent, without parameters."""
    charset: str = ""
    """The encoding that a server declared."""
    suffix: str = ""
    """The end of its name in lower case, with the dot."""
    everything: bool = False
    """Keep what a reader leaves out as boilerplate: menus, running titles."""
    ocr: str = ""
    """What reads the words in pictures: `rapidocr`, `tesseract`, `off`, or what is there."""
    temp_file: TempFile | None = field(default=None, compare=False)
    """Keeps a temporary file alive as long as this object."""

    def open(self) -> BinaryIO:
        """Open the file. Raise SourceError if it has changed since the reading began: spans would be wrong."""
        file = self.path.open("rb")
        if take_fingerprint(os.fstat(file.fileno())) != self.fingerprint:
            file.close()
            raise SourceError(f"{self.name} has changed since its reading began: ask again to read it as it is now")
        return file

    def read(self, most: int, advice: str) -> bytes:
        """Return all bytes. Raise SourceError, with this advice, for more than `most`, which do not fit in memory."""
        with self.open() as file:
            data = file.read(most + 1)
        if len(data) > most:
            raise SourceError(f"{self.name} is over {most >> 20} MiB: {advice}")
        return data

    def to_values(self) -> dict[str, Any]:
        """Return the fields as JSON values, for a child process; the temporary file stays with this one."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "temp_file"}
        return {**values, "path": str(self.path), "fingerprint": asdict(self.fingerprint)}

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> Self:
        return cls(**{**values, "path": Path(values["path"]), "fingerprint": Fingerprint(**values["fingerprint"])})


def take_fingerprint(status: os.stat_result) -> Fingerprint:
    return Fingerprint(size=status.st_size, modified=status.st_mtime_ns)


def to_printable(name: str) -> str:
    """Make a file name printable: names can contain line ends and invalid bytes."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)


class TempFile:
    """A temporary file that is deleted with the last reference to it."""

    def __init__(self, blocks: Iterable[bytes], name: str) -> None:
        try:
            handle, path = tempfile.mkstemp(prefix="bookwheel-")
            self.path = Path(path)
            weakref.finalize(self, self.path.unlink, missing_ok=True)
            with os.fdopen(handle, "wb") as file:
                for block in blocks:
                    file.write(block)
        except OSError as error:
            # A file over the limit of its own size has no room anywhere.
            kind = SourceError if error.errno == errno.EFBIG else NotStored
            raise kind(
                f"{name} cannot be stored in {tempfile.gettempdir()} while it is read: {error.strerror or error}. "
                f"Free some space there, or name another folder in TMPDIR."
            ) from error


def spool(blocks: Iterable[bytes], name: str, *, media: str = "", charset: str = "", suffix: str = "") -> SourceFile:
    """Write bytes that can be read only once to a temporary file."""
    temp_file = TempFile(blocks, name)
    return SourceFile(
        name=name,
        path=temp_file.path,
        fingerprint=take_fingerprint(temp_file.path.stat()),
        media=media,
        charset=charset,
        suffix=suffix,
        temp_file=temp_file,
    )


_BLOCK: Final = 1 << 20
# Until somebody writes to a pipe.
_PIPE_SECONDS: Final = 20.0
# Bytes of a stream at most: it is stored before it is read, and a device would fill the disk.
_MOST_STREAMED: Final = 2 << 30


class _Pipe:
    """A named pipe. Somebody has to open its other end within a while; then it takes as long as it takes."""

    def __init__(self, path: Path) -> None:
        self._path, self._is_open = path, False
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def read(self, size: int) -> bytes:
        """Return what was written, nothing at the end."""
        ends = time.monotonic() + _PIPE_SECONDS
        while True:
            check_cancelled()
            try:
                block = os.read(self._descriptor, size)
            except BlockingIOError:  # somebody has it open and has not written yet
                self._is_open = True
                select.select([self._descriptor], [], [], 0.5)
                continue
            if block or self._is_open:
                self._is_open = True
                return block
            if time.monotonic() > ends:
                raise SourceError(f"nobody writes to the pipe {self._path.name}: begin to write, then ask again")
            time.sleep(0.05)

    def close(self) -> None:
        os.close(self._descriptor)


def spool_stream(stream: BinaryIO | _Pipe, name: str, file_name: str = "-", suffix: str = "") -> SourceFile:
    """Write a stream to a temporary file. Raise SourceError for one that has no end, such as a device."""

    def blocks() -> Iterator[bytes]:
        size = 0
        while block := stream.read(_BLOCK):
            check_cancelled()
            size += len(block)
            if size > _MOST_STREAMED:
                most = f"{_MOST_STREAMED >> 30} GiB"
                raise SourceError(f"{name} has more than {most} and no end in sight: give it as a file")
            yield block

    return spool(blocks(), file_name, suffix=suffix)


# Bytes that any file may unpack to.
_FREE: Final = 64 << 20
# Text packs to about a third and logs to a fiftieth, so more than this is an attack.
_RATIO: Final = 200


def max_unpacked_size(packed: int) -> int:
    return max(_FREE, _RATIO * packed)


def open_path(path: Path, warnings: SourceWarnings, label: str = "") -> tuple[list[SourceFile], bool]:
    """Return the files of a path, and True if it is a folder. `label` goes before the names of a folder's files."""
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        return list(list_files(path, warnings, label)), True
    name, suffix = to_printable(path.name), path.suffix.lower()
    if stat.S_ISREG(status.st_mode):
        return [SourceFile(name=name, path=path.absolute(), fingerprint=take_fingerprint(status), suffix=suffix)], False
    with closing(_Pipe(path)) if stat.S_ISFIFO(status.st_mode) else path.open("rb") as stream:
        return [spool_stream(stream, name, name, suffix)], False


# Bytes of one .gitignore at most: each of its lines is compared with each file.
MOST_RULES: Final = 256 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listing:
    """What all folders below one top have in common."""

    top: Path
    warnings: SourceWarnings
    label: str

    def name(self, path: Path) -> str:
        inside = path.relative_to(self.top).as_posix()
        return to_printable(f"{self.label}/{inside}" if self.label else inside)

    def walk(self, folder: Path, rules: _Rules) -> Iterator[SourceFile | tuple[Path, _Rules]]:
        """Yield the files of one folder, and each folder in it with the rules that apply there."""
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            rules = (*rules, *_load_rules(folder))
        except OSError as error:
            self.warnings.add(f"left out, cannot be opened ({error.strerror})", self.name(folder))
            return
        for entry in entries:
            path = folder / entry.name
            name = self.name(path)
            try:
                if why := _reason_to_skip(entry, path, rules):
                    self.warnings.add(f"left out, {why}", name)
                elif entry.is_dir(follow_symlinks=False):
                    yield path, rules
                else:
                    fingerprint = take_fingerprint(entry.stat(follow_symlinks=False))
                    yield SourceFile(name=name, path=path, fingerprint=fingerprint, suffix=path.suffix.lower())
            except OSError as error:  # it was removed meanwhile, or its path is too long
                self.warnings.add(f"left out, cannot be opened ({error.strerror})", name)


def list_files(folder: Path, warnings: SourceWarnings, label: str = "") -> Iterator[SourceFile]:
    """Yield the folder's files, sorted. A file's name is its path in the folder, prefixed by `label` if given."""
    top = folder.resolve()
    repository = next((around for around in (top, *top.parents) if (around / ".git").exists()), top)
    above = [around for around in reversed(top.parents) if around.is_relative_to(repository)]
    rules = tuple(rule for around in above for rule in _load_rules(around))
    # The user asked for this folder, so rules that ignore the folder itself do not apply.
    rules = () if is_ignored(top, rules, is_folder=True) else rules
    listing = _Listing(top=top, warnings=warnings, label=label)
    pending = [listing.walk(top, rules)]
    while pending:
        check_cancelled()
        found = next(pending[-1], None)
        if found is None:
            pending.pop()
        elif isinstance(found, SourceFile):
            yield found
        else:
            pending.append(listing.walk(*found))


def _reason_to_skip(entry: os.DirEntry[str], path: Path, rules: _Rules) -> str:
    """Return why an entry is not read, or an empty string."""
    if entry.name.startswith("."):
        return "hidden"
    if entry.is_symlink():
        return "links (give their targets as sources)" if path.exists() else "links that lead nowhere"
    is_folder = entry.is_dir(follow_symlinks=False)
    if is_ignored(path, rules, is_folder=is_folder):
        return "named in .gitignore"
    return "" if is_folder or entry.is_file(follow_symlinks=False) else "neither files nor folders"


def is_ignored(path: PurePath, rules: Sequence[tuple[PurePath, GitIgnoreSpec]], *, is_folder: bool) -> bool:
    """Return the decision of the deepest .gitignore that matches the path."""
    for folder, spec in reversed(rules):
        if not path.is_relative_to(folder):
            continue
        inside = path.relative_to(folder).as_posix()
        decision = spec.check_file(f"{inside}/" if is_folder else inside).include
        if decision is not None:
            return decision
    return False


def _load_rules(folder: Path) -> _Rules:
    file = folder / ".gitignore"
    try:
        if not file.is_file():
            return ()
        with file.open("rb") as stream:
            content = stream.read(MOST_RULES + 1)
    except OSError:
        return ()
    if len(content) > MOST_RULES:
        raise SourceError(
            f"{to_printable(str(file))} is larger than {MOST_RULES >> 10} KiB, so what it leaves out cannot be known: "
            f"shorten it, or name the files to read"
        )
    spec = parse_rules(content.decode("utf-8", "surrogateescape").splitlines())
    return ((folder, spec),) if len(spec) else ()


def parse_rules(lines: Iterable[str]) -> GitIgnoreSpec:
    """Return the rules of a file's lines, matched in bounded time; like git, leave out a line that is not a pattern."""
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    patterns = []
    for line in lines:
        try:
            pattern = GitIgnoreSpecPattern(line)
        except ValueError:
            continue
        if pattern.include is None:
            continue
        assert pattern.regex is not None
        bounded = _bound_regex(pattern.regex.pattern)
        if bounded != pattern.regex.pattern:
            pattern.regex = re.compile(bounded)
        patterns.append(pattern)
    return GitIgnoreSpec(patterns)


# How pathspec writes `*`, and `**` at the beginning and inside of a pattern.
_STAR: Final = "[^/]*"
_LEADING: Final = "(?:.+/)?"
_INNER: Final = "(?:/.+)?"


def _bound_regex(regex: str) -> str:
    leading = "^" + _LEADING
    first, *rest = regex.removeprefix(leading).removeprefix("^").split(_INNER)
    parts = [_bound_stars(part) for part in (first, *rest)]
    start = "^" if regex.startswith("^") else ""
    if regex.startswith(leading):
        if not rest:
            return leading + parts[0]
        start, parts[0] = "", f"^(?>(?:.+?/)??{parts[0]}(?=/))"
    # All but the last: what follows `**` is whole folders, so its first place is as good as any later one.
    middle = [f"(?>(?:/.+?)??{part}(?=/))" for part in parts[1:-1]]
    return start + "".join((parts[0], *middle, *(_INNER + part for part in parts[1:][-1:])))


def _bound_stars(regex: str) -> str:
    """Make each `*` but the last take its first fit. A name that ends in between can only fit at its end."""
    first, *rest = regex.split(_STAR)
    if len(rest) < 2:  # noqa: PLR2004  a single wildcard is tried once at each place
        return regex
    return first + "".join(f"(?>[^/]*?{piece})" for piece in rest[:-1]) + _STAR + rest[-1]
