r"""Decode bytes to text without losing a character, a block at a time.

A byte order mark decides the encoding, then the charset that a server declared, then UTF-8 if it fits, then
`charset-normalizer` on a sample. The sample begins at the first byte beyond ASCII, because ASCII fits every encoding.
Bytes that do not decode appear as `\xNN` and are reported. Line ends and NULs stay as they are.
"""

from __future__ import annotations

import codecs
import re
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from charset_normalizer import CharsetMatch

    from bookwheel.documents.sources import SourceWarnings

BLOCK: Final = 1 << 20
SAMPLE: Final = 1 << 16
_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"\x84\x31\x95\x33", "gb18030"),
)
_WIDE: Final = ("utf_32_le", "utf_32_be", "utf_16_le", "utf_16_be")
# Common encodings; on equal evidence the earlier one wins.
_COMMON: Final = (
    *("gb18030", "cp932", "big5", "big5hkscs", "cp949", "euc_jp", "iso2022_jp", "iso2022_kr", "cp1252", "cp1251"),
    *("cp1250", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp874", "koi8_r", "koi8_u", "iso8859_2"),
    *("iso8859_5", "iso8859_7", "iso8859_15", "cp866", "cp850", "cp852", "cp437"),
)
# Supersets that pages really use when they declare the first one.
_SUPERSETS: Final = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "iso8859-1": "cp1252",
}
_NO_CHARSETS: Final = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"})
_NOT_ASCII: Final = re.compile(rb"[\x80-\xff]|\x1b[$(]")
_LONE_BYTES: Final = re.compile(rb"(?<![\x80-\xff])[\x80-\xff](?![\x80-\xff])")
_STRAY: Final = re.compile(rb"[\x01-\x06\x0e-\x1a\x1c-\x1f]")
_EASTERN: Final = frozenset("　、。《》「」『』【】！（），：；？～—…“”")
# Bytes of the longest character: a sample can end inside one.
_TRUNCATED: Final = 4


class _UndecodedCount(threading.local):
    bytes = 0


_undecoded = _UndecodedCount()


def _escape_undecodable(error: UnicodeError) -> tuple[str | bytes, int]:
    if isinstance(error, UnicodeDecodeError):
        _undecoded.bytes += error.end - error.start
    return codecs.backslashreplace_errors(error)


_VISIBLE: Final = "bookwheel.visible"
codecs.register_error(_VISIBLE, _escape_undecodable)


def decode(read: Callable[[int], bytes], name: str, warnings: SourceWarnings, charset: str = "") -> Iterator[str]:
    """Yield the text of a stream of bytes, block by block. `charset` is the encoding that its source declared."""
    block = read(BLOCK)
    mark, encoding = next(((len(mark), e) for mark, e in _BYTE_ORDER_MARKS if block.startswith(mark)), (0, ""))
    block = block[mark:]
    encoding = encoding or detect_wide_encoding(block[:SAMPLE])
    first = True
    while block and not encoding:
        found = _NOT_ASCII.search(block)
        if found:
            block += read(BLOCK) if len(block) - found.start() < SAMPLE else b""
            encoding = _detect_encoding(_take_sample(block, found.start()), name, warnings, charset, first)
        else:
            yield block.decode("ascii")
            block = read(BLOCK)
        first = False
    if block:
        yield from _decode_rest(block, read, encoding, (name, warnings))


def _decode_rest(
    block: bytes, read: Callable[[int], bytes], encoding: str, report: tuple[str, SourceWarnings]
) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding)(_VISIBLE)
    lost = 0
    while True:
        _undecoded.bytes = 0
        text = decoder.decode(block, final=not block)
        lost += _undecoded.bytes
        if text:
            yield text
        if not block:
            break
        block = read(BLOCK)
    if lost:
        name, warnings = report
        warnings.add(r"bytes that are invalid in their file's encoding are shown as \xNN", f"{name} ({lost} bytes)")


def decode_bytes(data: bytes, name: str, warnings: SourceWarnings, charset: str = "") -> str:
    """Decode bytes that are in memory."""
    from io import BytesIO

    return "".join(decode(BytesIO(data).read, name, warnings, charset))


def _take_sample(block: bytes, start: int) -> bytes:
    return block[:SAMPLE] if start < SAMPLE // 2 else block[start : start + SAMPLE]


def _detect_encoding(sample: bytes, name: str, warnings: SourceWarnings, charset: str, first: bool) -> str:
    if charset and can_decode(sample, charset := _resolve_charset(charset)):
        return charset
    if is_mostly_utf8(sample):
        return "utf-8"
    guess = guess_encoding(sample, wide=first)
    warnings.add("the encoding is a guess", f"{name} ({guess or 'cp1252, as a last resort'})")
    return guess or "cp1252"


def _resolve_charset(declared: str) -> str:
    """Return the codec for a declared name, or an empty string if it is not a text encoding."""
    try:
        b"\0\0\0\0".decode(declared, "ignore")
    except (LookupError, ValueError):
        return ""
    known = codecs.lookup(declared).name
    return "" if known in _NO_CHARSETS else _SUPERSETS.get(known, known)


def can_decode(sample: bytes, encoding: str) -> bool:
    """Return True if the sample decodes, except for a character that its end cuts."""
    try:
        codecs.getincrementaldecoder(encoding)("strict").decode(sample)
    except (UnicodeError, LookupError):
        return False
    return True


def is_mostly_utf8(sample: bytes) -> bool:
    """Return True if the sample is UTF-8, apart from a little damage."""
    if b"\x1b$" in sample and sample.isascii():
        return False
    if can_decode(sample, "utf-8"):
        return True
    text = sample.decode("utf-8", "replace")
    broken = text.count("\N{REPLACEMENT CHARACTER}")
    return sum(1 for c in text if not c.isascii()) - broken > 10 * broken


def detect_wide_encoding(sample: bytes) -> str:
    """Return UTF-16 or UTF-32 if the positions of NULs show it, or an empty string."""
    if b"\0" not in sample:
        return ""
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    stray = len(_STRAY.findall(sample))
    # What is valid UTF-8 needs a quarter of NULs: it may be a UTF-8 text with a few NULs in it.
    least = 0.25 if can_decode(sample, "utf-8") and 50 * stray < len(sample) else 0.01
    for encoding, many, few in (
        ("utf-32-le", sample[3::4].count(0), sample[::4].count(0)),
        ("utf-32-be", sample[::4].count(0), sample[3::4].count(0)),
        ("utf-16-le", odd, even),
        ("utf-16-be", even, odd),
    ):
        enough = len(sample) // 4 * 0.9 if encoding.startswith("utf-32") else len(sample) * least
        if many > max(enough, 20 * few) and can_decode(sample, encoding) and _is_text(sample, encoding):
            return encoding
    return ""


def _is_text(sample: bytes, encoding: str) -> bool:
    text = codecs.getincrementaldecoder(encoding)("strict").decode(sample)
    odd = sum(1 for c in text if not c.isprintable() and not c.isspace())
    return odd * 50 <= len(text)


def guess_encoding(sample: bytes, *, wide: bool = True) -> str:
    """Return charset-normalizer's best guess, or an empty string."""
    from charset_normalizer import from_bytes

    common = [*_COMMON, *(_WIDE if wide else ())]
    other = [] if wide else list(_WIDE)
    for known in ({"cp_isolation": common}, {"cp_exclusion": other}):
        matches: list[CharsetMatch] = []
        for cut in range(_TRUNCATED):
            if matches and len(sample) < SAMPLE:
                break
            matches.extend(from_bytes(sample[: len(sample) - cut], enable_fallback=False, **known))
        if matches:
            return _choose_match(sorted(matches), western=_has_lone_accents(sample))
    return ""


def _choose_match(matches: list[CharsetMatch], *, western: bool) -> str:
    """Return the match with most letters among those of nearly equal evidence, then the most common encoding."""
    best = matches[0]
    near = [m for m in matches if m.chaos <= best.chaos + 0.02 and m.coherence >= best.coherence - 0.1]
    order = ("cp1252", *_COMMON) if western else _COMMON

    def rank(match: CharsetMatch) -> tuple[float, float, int]:
        place = order.index(match.encoding) if match.encoding in order else len(order)
        likeness = 0.0 if western else -round(match.coherence, 1)
        return -round(_letter_share(str(match)), 1), likeness, place

    return min(near, key=rank).encoding


def _letter_share(text: str) -> float:
    beyond = [c for c in text if not c.isascii()]
    return sum(c.isalpha() or c in _EASTERN for c in beyond) / max(1, len(beyond))


def _has_lone_accents(sample: bytes) -> bool:
    """Return True if bytes beyond ASCII are mostly single, like accents and unlike double-byte characters."""
    beyond = sum(1 for byte in sample if byte > 0x7F)  # noqa: PLR2004
    return 2 * len(_LONE_BYTES.findall(sample)) > beyond
