"""What people and programs said to each other: how its files are told from others, and one turn of it.

Every reader of transcripts yields turns: a line with time and speaker, then the words. The source of each has both, and
its place in the file, so that a quote shows who said it, when and where.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import groupby, pairwise
from typing import Any, Final

from bookwheel.documents.decoding import is_mostly_utf8
from bookwheel.documents.sources import to_printable
from bookwheel.patterns import compile_late
from bookwheel.text.numbers import place_dates
from bookwheel.types import Part

# Characters of a speaker or a title in a source's name.
_LONGEST_NAME: Final = 60
_STAMP: Final = (
    r"(?P<stamp>(?P<a>\d{1,4})(?:[./-]\s?|[年년]\s?)(?P<b>\d{1,2})(?:[./-]\s?|[月월]\s?)(?P<c>\d{1,4})"
    r"(?P<before>[^\d\n\]]{1,14})(?P<hour>\d{1,2})[:.](?P<minute>\d{2})(?:[:.](?P<second>\d{2}))?"
    r"(?P<after>[^\d\n\]]{0,14}?))"
)
_IPHONE: Final = compile_late(rf"\u200e?\[{_STAMP}\] (?P<rest>.*)")
_ANDROID: Final = compile_late(rf"\u200e?{_STAMP} - (?P<rest>.*)")
# Of chats as text, such as WeChat's: time and name above what was said.
_TIME: Final = (
    r"(?P<stamp>(?P<a>\d{4})(?:[./-]|年)(?P<b>\d{1,2})(?:[./-]|月)(?P<c>\d{1,2})(?P<before>日?[ \t]\D{0,4})"
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?(?P<after>(?: ?[AaPp][Mm])?))"
)
_NAMED: Final = r"(?:[^:：\n]{0,38}[^\s:：])?)"
_ABOVE: Final = (
    compile_late(rf"{_TIME}[ \t]+(?P<rest>[^\s:：]{_NAMED}"),
    compile_late(rf"(?P<rest>[^\s:：\d]{_NAMED}[ \t]+{_TIME}"),
)
_NOTICE: Final = compile_late(rf"{_TIME}[ \t]+(?P<rest>.+)")
_ANY_TIME: Final = compile_late(_TIME)
_JOIN: Final = compile_late(r"(?<=\d),?\s+(?:(?:at|um)\s+)?(?=\d?\d:\d\d)")
# Lines before the first message: what chat, whose, when it was exported.
_MOST_ABOVE: Final = 12
_LONGEST_HEAD: Final = 120
_BLANKS: Final = str.maketrans(
    {"\u202f": " ", "\xa0": " ", **dict.fromkeys("\u200f\u061c\u202a\u202c\u2068\u2069", "")}
)
_JSON: Final = frozenset({".json", ""})
# Suffixes, a pattern of the first bytes, the format.
_SIGNS: Final = (
    ({".jsonl", ".ndjson"}, re.compile(rb'"(?:sessionId|leafUuid)"\s*:|"parentUuid"\s*:'), "session"),
    (
        {".jsonl", ".ndjson"},
        re.compile(rb'"type"\s*:\s*"(?:session_meta|response_item|event_msg|turn_context|compacted)"'),
        "session",
    ),
    ({".jsonl"}, re.compile(rb'\A\s*\{(?=[^\n]*"id")(?=[^\n]*"timestamp")(?=[^\n]*"instructions")'), "session"),
    (_JSON, re.compile(rb'\A\s*\[?\s*\{.*"mapping"\s*:\s*\{.*"(?:parent|children)"\s*:', re.DOTALL), "chats"),
    (_JSON, re.compile(rb'\A\s*\[?\s*\{.*"chat_messages"\s*:\s*\[', re.DOTALL), "chats"),
    (_JSON, re.compile(rb'\A\s*\[\s*\{.*"ts"\s*:\s*"\d{9,11}\.\d{6}"', re.DOTALL), "Slack"),
    (_JSON, re.compile(rb'\A\s*\[\s*\{.*"team_id"\s*:.*"profile"\s*:', re.DOTALL), "Slack"),
    (_JSON, re.compile(rb'\A\s*\[\s*\{.*"is_archived"\s*:.*"members"\s*:', re.DOTALL), "Slack"),
    ({".vtt"}, re.compile(rb"\A(?:\xef\xbb\xbf)?WEBVTT"), "captions"),
    ({".srt"}, re.compile(rb"\A(?:\xef\xbb\xbf)?\s*(?:\d+\s*\n)?\d{1,3}:\d{2}:\d{2}[,.]\d{1,3}\s*-->"), "captions"),
)
_DAY_FILE: Final = re.compile(r"(?:.*/)?\d{4}-\d{2}-\d{2}\.json")
_MESSAGE: Final = re.compile(r"(?P<name>.+)#(?P<facts>.*)message (?P<number>\d+)")
_SENT: Final = re.compile(r"(?:(?:From|To|Cc): [^\n]*\n)*Date: (?P<date>[^\n]*)\n")
CHATS_FILE: Final = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
WHATSAPP_FILE: Final = re.compile(r"(?:.*/)?(?:_chat|[^/]*WhatsApp[^/]*)\.txt")


def find_transcript(suffix: str, head: bytes) -> str:
    """Return the kind of transcript that a file's suffix and first bytes show; empty where it is none."""
    for suffixes, pattern, kind in _SIGNS:
        if suffix in suffixes and pattern.search(head):
            return kind
    if suffix in {".txt", ""}:
        # A name in GBK has no end of a line within; what the file is read as decides in the end.
        text = head.decode("utf-8" if is_mostly_utf8(head) else "gb18030", "ignore")
        lines = text.lstrip("\ufeff\r\n").splitlines()
        if lines and match_whatsapp(to_plain(lines[0])) and any(match_whatsapp(to_plain(line)) for line in lines[1:]):
            return "WhatsApp"
        if find_heads(lines):
            return "messages"
    return ""


def find_heads(lines: Sequence[str]) -> dict[int, re.Match[str]]:
    """Return the lines above messages by their places; none where it is not certain that lines are a chat.

    It is where a few lines at most, such as the group's name, stand before the first with a time and a name and words
    right below it, every later line with a time below an empty one is such a one or has nothing at all below it, as
    where somebody joined, and somebody speaks again after another.
    """
    lines = [line if at and lines[at - 1].strip() else _write_date(line) for at, line in enumerate(lines)]
    above = [at for at, line in enumerate(lines[:-1]) if not (at and lines[at - 1].strip()) and _ANY_TIME.search(line)]
    heads = {at: found for at in above if (found := match_head(lines[at])) and lines[at + 1].strip()}
    start = min(heads, default=len(lines))
    above = [at for at in above if at >= start]
    notices = {
        at: found
        for at, end in pairwise([*above, len(lines)])
        if not any(map(str.strip, lines[at + 1 : end])) and (found := _NOTICE.fullmatch(lines[at].strip()))
    }
    turns = [name for name, _ in groupby(found["rest"] for found in heads.values())]
    is_chat = start <= _MOST_ABOVE and len(heads) + len(notices) == len(above) and len({*turns}) < len(turns)
    return {at: (heads | notices)[at] for at in above} if is_chat else {}


def _write_date(line: str) -> str:
    """Return a line with its date, such as "8 May 2023, 13:56", in figures."""
    for start, end, day in place_dates(line)[:1] if len(line) <= _LONGEST_HEAD else ():
        return line[:start] + day + _JOIN.sub(" ", line[end - 1 :], count=1)[1:]
    return line


def to_plain(line: str) -> str:
    """Return a line of WhatsApp without marks of direction and blanks of phones; U+200E stays: it says whose it is."""
    return line.translate(_BLANKS)


def match_whatsapp(line: str) -> re.Match[str] | None:
    """Return the beginning of a message: its stamp in parts and the rest of the line; None for any other line.

    >>> match_whatsapp("2024/1/5 下午3:05 - 张三: 好的")["rest"]
    '张三: 好的'
    """
    return _IPHONE.fullmatch(line) or _ANDROID.fullmatch(line)


def match_head(line: str) -> re.Match[str] | None:
    """Return the line above a message: its stamp in parts, and under `rest` who says it; None for any other line.

    >>> match_head("2025-03-02 09:16 老赵(木工)")["rest"]
    '老赵(木工)'
    """
    return next((found for pattern in _ABOVE if (found := pattern.fullmatch(line.strip()))), None)


def find_packed_transcript(names: Collection[str]) -> str:
    """Return the kind of transcripts that an archive with these files holds; empty where it holds none."""
    if any(map(CHATS_FILE.fullmatch, names)):
        return "chats"
    if any(name.rpartition("/")[2] in {"users.json", "org_users.json"} for name in names) and any(
        map(_DAY_FILE.fullmatch, names)
    ):
        return "Slack"
    return "WhatsApp" if any(map(WHATSAPP_FILE.fullmatch, names)) else ""


def make_turn(name: str, place: str, speaker: str, when: str, words: str) -> Part:
    """Return one turn as a part: `[2026-11-24 09:30Z] Ada: …`, from `chat.jsonl#Ada, 2026-11-24 09:30Z, line 7`."""
    head = f"[{when}] " if when else ""
    said_by = to_printable(" ".join(speaker.split()))
    at = when if is_instant(when) else ""
    return Part(text=f"{head}{said_by}: {words.strip()}\n\n", source=name_turn(name, place, speaker, when), at=at)


def name_turn(name: str, place: str, speaker: str, when: str) -> str:
    """Return the source of a turn: its file, who said it, when and where in the file."""
    said_by = to_printable(" ".join(speaker.split()))[:_LONGEST_NAME]
    return f"{name}#{', '.join(filter(None, (said_by, when, place)))}"


def find_instant(text: str, source: str) -> str:
    """Return when a turn was said, by its words and its source; empty for what is no turn.

    >>> find_instant("[2026-11-24 09:30Z] Ada: Hello.", "chat.jsonl#Ada, 2026-11-24 09:30Z, line 7")
    '2026-11-24 09:30Z'
    """
    when, bracket, _ = text.removeprefix("[").partition("] ")
    return when if text[:1] == "[" and bracket and f", {when}" in source and is_instant(when) else ""


def find_message(text: str, source: str) -> tuple[str, str]:
    r"""Return when a mail was sent, and its place in a mailbox or its file; empty for what is no mail.

    >>> find_message("===== message 2 =====\n", "in.mbox#Ada, 2026-11-24 09:30:00+01:00, message 2")
    ('2026-11-24 09:30:00+01:00', 'in.mbox#2')
    """
    found = _MESSAGE.fullmatch(source)
    if found and text.startswith(f"===== message {found['number']} ====="):
        when = next(iter(found["facts"].split(", ")[-2:]), "")
        return (when if is_instant(when) else ""), f"{found['name']}#{found['number']}"
    sent = _SENT.match(text) if source.endswith(".eml") else None
    return (parse_sent(sent["date"]), source) if sent else ("", "")


def parse_sent(date: str) -> str:
    """Return the time of a mail's header, as ISO 8601; empty for what is none."""
    try:
        return parsedate_to_datetime(date).isoformat(timespec="seconds")
    except (ValueError, OverflowError, RecursionError):  # the last of brackets in brackets
        return ""


def is_instant(when: str) -> bool:
    """Return whether a time has a day, as those of captions have not."""
    try:
        datetime.fromisoformat(when)
    except ValueError:
        return False
    return True


def get_object(record: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the object that a record of JSON has under a name; empty where it has none."""
    value = record.get(name)
    return value if isinstance(value, dict) else {}


def format_instant(value: Any) -> str:
    """Return a time as it is shown: with its zone where it has one, to the second; any other value is no time.

    >>> format_instant("2026-11-24T09:30:00.123Z"), format_instant(1764000000), format_instant(None)
    ('2026-11-24 09:30:00Z', '2025-11-24 16:00:00Z', '')
    """
    try:
        if isinstance(value, int | float) or (isinstance(value, str) and value.replace(".", "", 1).isdigit()):
            when = datetime.fromtimestamp(float(value), UTC)
        else:
            when = datetime.fromisoformat(str(value or ""))
    except (ValueError, OverflowError, OSError):
        return ""
    return when.isoformat(" ", "seconds").replace("+00:00", "Z")
