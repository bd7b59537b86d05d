"""Read the files of a zip archive, each under its path in it: `papers.zip#2024/offer.pdf`.

Nothing is written below the names that an archive gives. A file is unpacked to a temporary one, read as if it had come
by itself, and deleted; whatever is not read is named. As in a folder, hidden files and what a .gitignore names are not.
"""

from __future__ import annotations

import re
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from bookwheel.documents.damage import explain_damage, open_package
from bookwheel.documents.decoding import decode_word
from bookwheel.documents.readers.containers import read_inside
from bookwheel.documents.sources import (
    MOST_RULES,
    SourceFile,
    SourceWarnings,
    is_ignored,
    parse_rules,
    spool,
    to_printable,
)
from bookwheel.errors import SourceError
from bookwheel.types import Part

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_MOST_FILES: Final = 2000
_MOST_LEVELS: Final = 8
_BLOCK: Final = 1 << 20
_UTF8_NAME: Final = 0x800
# A name whose signs beyond ASCII are all characters of GB 2312, as no accents are.
_DOUBLE_BYTES: Final = re.compile(rb"(?:[\x00-\x7f]|[\xa1-\xf7][\xa1-\xfe])+")
_SYSTEM: Final = frozenset({"__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini"})


def read_archive(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield the text of each file below a line with its path. Files are counted by the outermost archive."""
    if warnings.archives["open"] >= _MOST_LEVELS:
        raise SourceError(f"{source.name} is nested too deeply: unpack it first and give the folder")
    warnings.archives["open"] += 1
    try:
        yield from _read_files(source, warnings)
    finally:
        warnings.archives["open"] -= 1
        if not warnings.archives["open"]:
            warnings.archives.clear()


def _read_files(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    named: Counter[str] = Counter()
    with open_package(source, "archive", "Download it again.", locked=True) as archive:
        entries = [entry for entry in archive.infolist() if not entry.is_dir()]
        rules = _load_rules(archive, entries)
        for at, entry in enumerate(entries):
            if warnings.archives["files"] >= _MOST_FILES:
                what = f"files of archives left out, after the first {_MOST_FILES:,}"
                warnings.add(what, source.name, len(entries) - at)
                break
            warnings.archives["files"] += 1
            path = _find_path(entry)
            named[path] += 1
            path += f" ({named[path]})" if named[path] > 1 else ""
            name = f"{source.name}#{path}"
            if why := _reason_to_skip(entry, rules):
                warnings.add(f"files of archives left out, {why}", name)
            else:
                unpacked = partial(_unpack, archive, entry, name, source)
                yield from read_inside(unpacked, name, "files of archives", warnings)


def _find_path(entry: zipfile.ZipInfo) -> str:
    """Return a file's path in its archive, whose programs write UTF-8 or GBK more often than they say so."""
    path = entry.filename
    if not entry.flag_bits & _UTF8_NAME:
        name = path.encode("cp437", "replace")
        is_utf8 = "\N{REPLACEMENT CHARACTER}" not in name.decode("utf-8", "replace")
        path = decode_word(name, "") if is_utf8 or _DOUBLE_BYTES.fullmatch(name) else path
    return to_printable(path)


def _load_rules(
    archive: zipfile.ZipFile, entries: Sequence[zipfile.ZipInfo]
) -> list[tuple[PurePosixPath, GitIgnoreSpec]]:
    """Return what each .gitignore of an archive leaves out, of folders before those in them."""
    rules = []
    for entry in entries:
        path = PurePosixPath(entry.filename)
        if path.name == ".gitignore" and entry.file_size <= MOST_RULES and not entry.flag_bits & 1:
            with suppress(zipfile.BadZipFile, OSError, NotImplementedError, zlib.error):
                lines = archive.read(entry).decode("utf-8", "surrogateescape").splitlines()
                rules.append((path.parent, parse_rules(lines)))
    return sorted(rules, key=lambda rule: len(rule[0].parts))


def _reason_to_skip(entry: zipfile.ZipInfo, rules: Sequence[tuple[PurePosixPath, GitIgnoreSpec]]) -> str:
    path = PurePosixPath(entry.filename)
    if not _SYSTEM.isdisjoint(path.parts):
        return "of the system"
    if any(part.startswith(".") and part.strip(".") for part in path.parts):
        return "hidden"
    if is_ignored(path, rules, is_folder=False):
        return "named in .gitignore"
    if stat.S_ISLNK(entry.external_attr >> 16):
        return "links"
    return "locked with a password" if entry.flag_bits & 1 else ""


def _unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str, source: SourceFile) -> SourceFile:
    def blocks() -> Iterator[bytes]:
        with explain_damage(name, "file", "Pack it again."), archive.open(entry) as file:
            while block := file.read(_BLOCK):
                yield block

    suffix = PurePosixPath(entry.filename).suffix.lower()
    return replace(spool(blocks(), name, suffix=suffix), everything=source.everything, ocr=source.ocr)
