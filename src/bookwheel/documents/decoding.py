r"""Decode bytes to text without losing a character, a block at a time.

A byte order mark decides the encoding, then the charset that a server declared, then UTF-8 if it fits, then
`charset-normalizer` on a sample. The sample begins at the first byte beyond ASCII, because ASCII fits every encoding.
Bytes that do not decode appear as `\xNN` and are reported; where two programs wrote one file, one of them in UTF-8,
lines that are not are guessed by themselves. Line ends and NULs stay as they are.
"""

from __future__ import annotations

import codecs
import re
import threading
import unicodedata
from contextlib import suppress
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from bookwheel.documents.sources import SourceWarnings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from charset_normalizer import CharsetMatch

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
# Characters of UTF-8 that no other encoding has by chance.
_LEAST_MIXED: Final = 2
# Signs that are as likely as letters; those of money are letters in other encodings.
_LIKELY: Final = frozenset("　、。《》「」『』【】！（），：；？～—…“”£€¥")
_PAIRS: Final = re.compile(rb"([\x81-\xfe])[\x40-\xfe]")
# Letters with accents, marks and signs that no accent before a blank or a quote of cp1252 is ("É\u00a0", "é\u00a0»").
_SURE: Final = re.compile("[\u00a1-\u017f\u1e00-\u303f\uff00-\uffef\U00010000-\U0010ffff]")
# Bytes of a line of a file of two encodings that is held until it ends.
_LONGEST_LINE: Final = 8 << 20
# Bytes of the longest character: a sample can end inside one.
_TRUNCATED: Final = 4


_undecoded = threading.local()


def _show_undecodable(error: UnicodeError) -> tuple[str | bytes, int]:
    if isinstance(error, UnicodeDecodeError):
        _undecoded.count += error.end - error.start
    return codecs.backslashreplace_errors(error)


_VISIBLE: Final = "bookwheel.visible"
codecs.register_error(_VISIBLE, _show_undecodable)


class _LineDecoder:
    """Decodes each line as UTF-8, or as it is in the other encoding of a file that two programs wrote."""

    def __init__(self, other: str) -> None:
        self._other = other
        self._begun: list[bytes] = []

    def decode(self, block: bytes, *, final: bool) -> str:
        """Return the text of the lines that are whole, and of what is a line for itself by its length."""
        end = len(block) if final else block.rfind(b"\n") + 1
        if not end and sum(map(len, self._begun)) + len(block) > _LONGEST_LINE:
            end = max(map(block.rfind, (b" ", b","))) + 1 or len(block) * block.isascii()
        if not end:
            self._begun.append(block)
            return ""
        whole = b"".join([*self._begun, block[:end]])
        self._begun = [block[end:]]
        return "\n".join(map(self._decode_line, whole.split(b"\n")))

    def _decode_line(self, line: bytes) -> str:
        is_utf8 = _is_utf8(line, self._other)
        return line.decode("utf-8" if is_utf8 else self._other, "strict" if is_utf8 else _VISIBLE)


def decode(read: Callable[[int], bytes], name: str, warnings: SourceWarnings, charset: str = "") -> Iterator[str]:
    """Yield the text of a stream of bytes, block by block. `charset` is the encoding that its source declared."""
    block = read(BLOCK)
    mark, encoding = next(((len(mark), e) for mark, e in _BYTE_ORDER_MARKS if block.startswith(mark)), (0, ""))
    block = block[mark:]
    encoding = encoding or detect_wide_encoding(block[:SAMPLE])
    first, other = True, ""
    while block and not encoding:
        if found := _NOT_ASCII.search(block):
            at = found.start()
            block += read(BLOCK) if len(block) - at < SAMPLE else b""
            sample = block[:SAMPLE] if at < SAMPLE // 2 else block[at : at + SAMPLE]
            encoding = _find_charset(sample, charset)
            if not encoding:
                encoding, other = _guess_or_part(sample, wide=first)
                what = "lines in UTF-8, and others whose encoding is a guess" if other else "the encoding is a guess"
                warnings.add(what, f"{name} ({other or encoding or 'cp1252, as a last resort'})")
                encoding = encoding or "cp1252"
        else:
            yield block.decode("ascii")
            block = read(BLOCK)
        first = False
    decoder = _LineDecoder(other) if other else codecs.getincrementaldecoder(encoding or "ascii")(_VISIBLE)
    lost = 0
    while block:
        _undecoded.count = 0
        following = read(BLOCK)
        text = decoder.decode(block, final=not following)
        lost += _undecoded.count
        if text:
            yield text
        block = following
    if lost:
        warnings.add(r"bytes that are invalid in their file's encoding are shown as \xNN", f"{name} ({lost} bytes)")


def decode_bytes(data: bytes, name: str, warnings: SourceWarnings, charset: str = "") -> str:
    return "".join(decode(BytesIO(data).read, name, warnings, charset))


def read_text(path: Path) -> str:
    """Return a file's text, in UTF-8 or in another encoding, as spreadsheets in China write GBK; else UnicodeError."""
    warnings = SourceWarnings()
    text = decode_bytes(path.read_bytes(), path.name, warnings).removeprefix("\ufeff")
    if any("invalid" in what for what in warnings.lines()):
        raise UnicodeError(f"bytes of {path.name} are in no encoding")
    return text


def decode_word(word: str | bytes, charset: str) -> str:
    """Return a word of a header. Programs of Japan write Windows' characters under the name of another encoding."""
    if isinstance(word, str):
        return word
    is_windows = charset.lower().startswith("iso-2022-jp") and not word.isascii()
    return decode_bytes(word, "", SourceWarnings(), "cp932" if is_windows else charset)


_ESCAPE: Final = re.compile(
    r"\\(?:u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|u([0-9a-f]{4})|.)", re.IGNORECASE | re.DOTALL
)
_HIGH: Final = re.compile(r"\\u[dD][89abAB]")
_BETWEEN_ESCAPES: Final = " ,:}\n"
_FIRST_RESOLVED: Final = 0xA0


def resolve_escapes(pieces: Iterable[str]) -> Iterator[str]:
    """Yield JSON with its escaped letters as letters, so that they can be searched and quoted; signs stay escaped."""
    rest = ""
    for piece in pieces:
        text = rest + piece
        end = max(map(text.rfind, _BETWEEN_ESCAPES)) + 1 or _find_end(text) * (len(text) > SAMPLE)
        rest = text[end:]
        yield _ESCAPE.sub(_resolve, text[:end])
    yield _ESCAPE.sub(_resolve, rest)


def _find_end(text: str) -> int:
    """Return a place near the end that is within no escape, whose longest has twelve characters."""
    end = text.find("\\", max(0, len(text) - 12))
    if end < 0:
        return len(text)
    end -= 6 * bool(_HIGH.match(text, max(0, end - 6)))
    return len(text[:end].rstrip("\\"))


def _resolve(found: re.Match[str]) -> str:
    high, low, other = found.groups()
    letter = chr(int(other, 16)) if other else ""
    if high:
        letter = bytes.fromhex(high + low).decode("utf-16-be")
    return letter if letter >= chr(_FIRST_RESOLVED) and letter.isprintable() else found[0]


def _find_charset(sample: bytes, declared: str) -> str:
    """Return the declared encoding or UTF-8 if the sample is in it, or an empty string."""
    with suppress(LookupError, ValueError):  # not an encoding of text
        b"\0\0\0\0".decode(declared, "ignore")
        known = codecs.lookup(declared).name
        charset = _SUPERSETS.get(known, known)
        if known not in _NO_CHARSETS and _can_decode(sample, charset):
            return charset
    return "utf-8" if is_mostly_utf8(sample) else ""


def _can_decode(sample: bytes, encoding: str) -> bool:
    """Return True if the sample decodes, except for a character that its end cuts."""
    try:
        codecs.getincrementaldecoder(encoding)("strict").decode(sample)
    except (UnicodeError, LookupError):
        return False
    return True


def _is_utf8(line: bytes, other: str) -> bool:
    """Return True if a line is in UTF-8, and in cp1252 not by chance."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return False
    return other != "cp1252" or text.isascii() or _count_sure(text) > 0


def _count_sure(text: str) -> int:
    """Count the characters beyond ASCII that UTF-8 alone has: no letter of another script lone among Latin ones."""
    scripts = [unicodedata.name(sign, "").split(" ")[0] if sign > "\u017f" and sign.isalpha() else "" for sign in text]
    beside = sum(one == other and one not in ("", "LATIN") for one, other in pairwise(scripts))
    return len(_SURE.findall(text)) + 2 * beside


def is_mostly_utf8(sample: bytes) -> bool:
    """Return True if the sample is UTF-8, apart from a little damage."""
    if b"\x1b$" in sample and sample.isascii():
        return False
    if _can_decode(sample, "utf-8"):
        return True
    text = sample.decode("utf-8", "replace")
    broken = text.count("\N{REPLACEMENT CHARACTER}")
    return sum(1 for c in text if not c.isascii()) - broken > 10 * broken


def _guess_or_part(sample: bytes, *, wide: bool) -> tuple[str, str]:
    """Return the likely encoding of a sample, and that of its other lines where some are UTF-8; empty for unknown."""
    lines = [line for line in sample.split(b"\n")[: -1 if len(sample) >= SAMPLE else None] if not line.isascii()]
    parts = {is_utf8: b"\n".join(line for line in lines if _is_utf8(line, "") is is_utf8) for is_utf8 in (True, False)}
    newer, older = parts[True].decode(), parts[False]
    is_mixed = _count_sure(newer) >= _LEAST_MIXED and bool(older)
    is_mixed = is_mixed and b"\0" not in sample and not _STRAY.search(sample)
    if is_mixed and _is_western(older):
        return "", "cp1252"
    encoding = guess_encoding(sample, wide=wide)
    if encoding or not is_mixed:
        return encoding, ""
    # Both halves are in one script, most likely.
    is_chinese = any("\u4e00" <= sign <= "\u9fff" for sign in newer) and _can_decode(older, "gb18030")
    return "", "gb18030" if is_chinese else guess_encoding(older, wide=False)


def _is_western(sample: bytes) -> bool:
    """Tell if bytes beyond ASCII are mostly single: accents, unlike double-byte characters."""
    beyond = sum(1 for byte in sample if byte > 0x7F)  # noqa: PLR2004
    return 2 * len(_LONE_BYTES.findall(sample)) > beyond


def detect_wide_encoding(sample: bytes) -> str:
    """Return UTF-16 or UTF-32 if the positions of NULs show it, or an empty string."""
    if b"\0" not in sample:
        return ""
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    stray = len(_STRAY.findall(sample))
    # What is valid UTF-8 needs a quarter of NULs: it may be a UTF-8 text with a few NULs in it.
    least = 0.25 if _can_decode(sample, "utf-8") and 50 * stray < len(sample) else 0.01
    for encoding, many, few in (
        ("utf-32-le", sample[3::4].count(0), sample[::4].count(0)),
        ("utf-32-be", sample[::4].count(0), sample[3::4].count(0)),
        ("utf-16-le", odd, even),
        ("utf-16-be", even, odd),
    ):
        enough = len(sample) // 4 * 0.9 if encoding.startswith("utf-32") else len(sample) * least
        if many > max(enough, 20 * few) and _can_decode(sample, encoding):
            text = codecs.getincrementaldecoder(encoding)("strict").decode(sample)
            if 50 * sum(1 for c in text if not c.isprintable() and not c.isspace()) <= len(text):
                return encoding
    return ""


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
            found = _choose_match(sorted(matches), western=_is_western(sample))
            # Where both say the same it is what most programs write.
            is_common = _can_decode(sample, "cp1252") and sample.decode("cp1252") == sample.decode(found, "replace")
            return "cp1252" if is_common else found
    return "gb18030" if _is_chinese(sample) and _can_decode(sample, "gb18030") else ""


def _is_chinese(sample: bytes) -> bool:
    """Tell if most double bytes are the common characters of GB 2312, the later of which are rare elsewhere."""
    leads: list[int] = [pair[0] for pair in _PAIRS.findall(sample)]
    common, second = (sum(first <= lead <= 0xD7 for lead in leads) for first in (0xB0, 0xC9))  # noqa: PLR2004
    return 2 * common > len(leads) and 10 * second > len(leads)


def _share_letters(match: CharsetMatch) -> float:
    beyond = [c for c in str(match) if not c.isascii()]
    return sum(c.isalpha() or c in _LIKELY for c in beyond) / max(1, len(beyond))


def _choose_match(matches: list[CharsetMatch], *, western: bool) -> str:
    """Return the match with most letters among those of nearly equal evidence, then the most common encoding."""
    best = matches[0]
    near = [
        m
        for m in matches
        # A few letters with accents among signs are more likely words.
        if m.chaos <= best.chaos + (0.05 if western and _share_letters(m) > _share_letters(best) + 0.1 else 0.02)
        # What looks like no word at all, signs in the place of letters, looks like no language either.
        and (m.coherence >= best.coherence - 0.1 or _share_letters(m) > _share_letters(best) + 0.5)
    ]
    order = ("cp1252", *_COMMON) if western else _COMMON

    def rank(match: CharsetMatch) -> tuple[float, float, int]:
        place = order.index(match.encoding) if match.encoding in order else len(order)
        likeness = 0.0 if western else -round(match.coherence, 1)
        return -round(_share_letters(match), 1), likeness, place

    return min(near, key=rank).encoding
