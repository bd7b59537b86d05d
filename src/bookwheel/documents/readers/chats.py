"""Read what people said to each other: exported chats of WhatsApp and others, and captions (WebVTT, SRT).

WhatsApp writes dates by the language of a phone: of the orders of day and month, that is taken in which all are dates
and time goes on.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from typing import Final

from bookwheel.documents.damage import name_unread, open_package
from bookwheel.documents.decoding import decode_bytes
from bookwheel.documents.sources import SourceFile, SourceWarnings
from bookwheel.documents.transcripts import WHATSAPP_FILE, find_heads, is_instant, make_turn, match_whatsapp, to_plain
from bookwheel.types import Part

_MOST: Final = 256 << 20
# A mark that stands before what WhatsApp itself says, on iPhones.
_OWN: Final = "\u200e"
_SPEAKER: Final = re.compile(r"(?P<name>[^:]{1,80}): ?(?P<words>.*)")
# The title of a chat may have a colon; no name has half a pair of quotation marks.
_HALF_QUOTE: Final = re.compile(r"[“„«「][^”“»」]*\Z|\A[^\"]*\"[^\"]*\Z")
_MEDIA: Final = re.compile(
    r"<[^<>\n]{3,60}>|(?s:.*?)<[^<>:\n]{3,20}: [^<>\n]+\.\w{2,5}>|null|"
    r"[^\n]*\S\.\w{2,5} \([^()\n]{3,40}\)(?:\n(?s:.*))?"
)
_AFTER_NOON: Final = ("pm", "下午", "午後", "晚上", "傍晚", "오후", "م", "ös", "μμ", "du", "ch", "ptg")
_BEFORE_NOON: Final = ("am", "上午", "午前", "凌晨", "清晨", "早上", "오전", "ص", "öö", "πμ", "de", "sa", "pg")
_NOON: Final = "中午"
# The least hour that is written after noon at noon: 11:50 中午 is before it.
_FORENOON: Final = 11
_DAY: Final = re.compile(r"(?<!\d)(20\d\d)[-_.]?([01]\d)[-_.]?([0-3]\d)(?!\d)")
_BUDDHIST: Final = 543
# No message is older; a smaller year is of a calendar that is not read.
_FIRST_YEAR: Final = 1990
_LAST_YEAR: Final = 2400


def read_whatsapp(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield the messages of a chat of WhatsApp, as text or in the archive that a phone sends."""
    data = source.read(_MOST, "export it in parts, or without media")
    name = source.name
    if data.startswith(b"PK"):
        with open_package(source, "WhatsApp export", "Export it again.") as archive:
            inside = next(one for one in archive.namelist() if WHATSAPP_FILE.fullmatch(one))
            data = archive.read(inside)
            name_unread(archive, name, warnings, re.compile(r"\Z"), [inside])
    messages = list[tuple[re.Match[str], list[str]]]()
    for line in map(to_plain, decode_bytes(data, name, warnings).lstrip("\ufeff").splitlines()):
        if found := match_whatsapp(line):
            messages.append((found, [found["rest"]]))
        elif messages:
            messages[-1][1].append(line)
        elif line.strip():
            warnings.add("lines before the first message", name)
            yield Part(text=f"{line}\n", source=name)
    turns = [(found, *_find_speaker("\n".join(lines))) for found, lines in messages]
    yield from _yield_turns(turns, name, warnings)


def read_messages(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield the messages of a chat as text, with time and name above each; a text that is none after all, as it is."""
    text = decode_bytes(source.read(_MOST, "split it"), source.name, warnings)
    lines = text.lstrip("\ufeff\r\n").splitlines()
    heads = find_heads([*lines, ""])
    times = [_parse_time(found, "ymd") for found in heads.values()]
    # Time that goes back is that of a message in a message.
    if not heads or any(not one or not other or one > other for one, other in pairwise(times)):
        yield Part(text=text, source=source.name)
        return
    if first := "\n".join(lines[: next(iter(heads))]).strip():
        yield Part(text=f"{first}\n\n", source=source.name)
    said = [(heads[at], "\n".join(lines[at + 1 : end])) for at, end in pairwise([*heads, len(lines)])]
    speakers = {found["rest"] for found, words in said if words.strip()}
    # Without words it is a notice, such as that a message was taken back, unless the export lacks what somebody sent.
    turns = [
        (found, name, words) if (name := found["rest"]) in speakers else (found, "note", name) for found, words in said
    ]
    yield from _yield_turns(turns, source.name, warnings)


def _yield_turns(
    messages: Sequence[tuple[re.Match[str], str, str]], name: str, warnings: SourceWarnings
) -> Iterator[Part]:
    order = _find_order([found for found, _, _ in messages])
    if len(order) > 1:
        warnings.add("dates in which day and month could be exchanged, read as day and month", name)
    for number, (found, speaker, words) in enumerate(messages, 1):
        when = _parse_time(found, order[0])
        if when is None:
            warnings.add("messages with a time that is none", f"{name}#message {number}")
        # WhatsApp tells in a few words what stood in the place of a message, such as "image omitted".
        is_own = words.startswith(_OWN) and "\n" not in words and not words.rstrip().endswith((".", "。", "।"))
        if _MEDIA.fullmatch(words.replace(_OWN, "")) or (is_own and speaker):
            warnings.add("pictures, films, sounds and calls that are not read", name)
        # A time that is none is shown as it stands.
        shown = when.isoformat(" ", "seconds" if found["second"] else "minutes") if when else found["stamp"]
        yield make_turn(name, f"message {number}", speaker or "WhatsApp", shown, words.replace(_OWN, ""))


def _find_speaker(message: str) -> tuple[str, str]:
    """Return who says a message, and its words; nobody where WhatsApp itself says it."""
    first, end, rest = message.partition("\n")
    found = _SPEAKER.fullmatch(first)
    if not found or first.startswith(_OWN) or _HALF_QUOTE.search(found["name"]):
        return "", message
    return found["name"].replace(_OWN, ""), f"{found['words']}{end}{rest}"


def _find_order(stamps: list[re.Match[str]]) -> list[str]:
    """Return the orders of day, month and year in which all are dates, the likeliest first."""
    if stamps and len(stamps[0]["a"]) == 4:  # noqa: PLR2004 - a year
        return ["ymd"]
    fits = [order for order in ("dmy", "mdy") if all(_parse_time(stamp, order) for stamp in stamps)]
    if len(fits) != 1:
        steps_back: dict[str, int] = {}
        for order in fits or ("dmy", "mdy"):
            times = [when for stamp in stamps if (when := _parse_time(stamp, order))]
            steps_back[order] = sum(later < earlier for earlier, later in pairwise(times))
        least = min(steps_back.values())
        fits = [order for order, steps in steps_back.items() if steps == least]
    return fits


def _parse_time(stamp: re.Match[str], order: str) -> datetime | None:
    numbers = dict(zip(order, (int(stamp[part]) for part in "abc"), strict=True))
    half = re.sub(r"[\W_]", "", f"{stamp['before']} {stamp['after']}").lower()
    hour = int(stamp["hour"])
    if half.startswith(_NOON):
        hour += 12 if hour < _FORENOON else 0
    elif half.endswith(_AFTER_NOON):
        hour = hour % 12 + 12
    elif half.endswith(_BEFORE_NOON):
        hour %= 12
    year = numbers["y"] + (2000 if numbers["y"] < 100 else 0)  # noqa: PLR2004 - written with two digits
    year -= _BUDDHIST if year > _LAST_YEAR else 0
    if year < _FIRST_YEAR:
        return None
    try:
        # The export names no zone: it is the phone's.
        return datetime(year, numbers["m"], numbers["d"], hour, int(stamp["minute"]), int(stamp["second"] or 0))  # noqa: DTZ001
    except ValueError:
        return None


_CUE: Final = re.compile(
    r"^(?:(?P<hours>\d{1,3}):)?(?P<minutes>\d{1,2}):(?P<seconds>\d{2})[.,](?P<part>\d{1,3})[ \t]*-->[ \t]*"
    r"(?:(?:(?P<until_hours>\d{1,3}):)?(?P<until_minutes>\d{1,2}):(?P<until>\d{2}[.,]\d{1,3}))?[^\n]*\n?",
    re.MULTILINE,
)
_VOICE: Final = re.compile(r"<v(?:\.[^ >]*)? ([^>]*)>")
_TAG: Final = re.compile(r"</?[a-zA-Z0-9:.][^>]*>|\{\\[^}]*\}")
_COLON_SPEAKER: Final = re.compile(r"(?:>>\s*)?([^\W\d_][\w .'’-]{0,40}?)(?:: |：\s?)(.+)", re.DOTALL)
_BLANK_LINE: Final = re.compile(r"\n[ \t]*\n")
_LOOKS: Final = ("STYLE", "REGION", "WEBVTT", "X-TIMESTAMP-MAP")
# Seconds of a caption that only holds the line that rolls up.
_FLASH: Final = 0.1


def read_captions(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield the captions, each with its time and, where it is named, its speaker; lines that roll once."""
    # They are of the day that the name of the file tells, or what stands above the first one.
    text = decode_bytes(source.read(_MOST, "split it"), source.name, warnings).replace("\r\n", "\n").replace("\r", "\n")
    cues, last = list(_CUE.finditer(text)), ""
    first = text[: cues[0].start()] if cues else text
    day = _find_day(source.name.rpartition("/")[2]) or _find_day(first)
    for note in _split_blocks(first, is_followed=bool(cues))[1]:
        yield replace(make_turn(source.name, "", "note", "", note), at=day)
    for cue, following in zip(cues, [*cues[1:], None], strict=True):
        end = following.start() if following else len(text)
        said, notes = _split_blocks(f"\n{text[cue.end() : end]}", is_followed=following is not None)
        when = f"{int(cue['hours'] or 0):02}:{int(cue['minutes']):02}:{cue['seconds']}"
        first, *voices = _VOICE.split(said)
        for speaker, words in [("", first), *zip(voices[::2], voices[1::2], strict=True)]:
            lines = [line.strip() for line in html.unescape(_TAG.sub("", words)).split("\n") if line.strip()]
            # Captions that roll repeat the line above; people repeat themselves for longer.
            is_rolled = bool(lines) and lines[0] == last and (len(lines) > 1 or _count_seconds(cue) < _FLASH)
            lines = lines[1:] if is_rolled else lines
            if not lines:
                continue
            last = lines[-1]
            whole = "\n".join(lines) if any(line.startswith("-") for line in lines[1:]) else " ".join(lines)
            named = None if speaker else _COLON_SPEAKER.fullmatch(whole)
            who = html.unescape(speaker) or (named[1] if named else "caption")
            yield replace(make_turn(source.name, "", who, when, named[2] if named else whole), at=day)
        for note in notes:
            yield replace(make_turn(source.name, "", "note", "", note), at=day)
    if text.count("-->") > len(cues):
        warnings.add("captions with a time that is none", source.name)


def _find_day(text: str) -> str:
    """Return the first day that a text tells, such as 2025-06-17 or 20250617."""
    days = ("-".join(found.groups()) for found in _DAY.finditer(text))
    return next(filter(is_instant, days), "")


def _split_blocks(text: str, *, is_followed: bool) -> tuple[str, list[str]]:
    """Return what is said in the text behind a caption's times, and its notes, without the name of the next caption."""
    blocks = _BLANK_LINE.split(text)
    if is_followed and blocks[-1].strip():
        lines = blocks[-1].rstrip("\n").split("\n")
        if (len(blocks) > 1 and len(lines) == 1) or lines[-1].strip().isdigit():
            blocks[-1] = "\n".join(lines[:-1])
    said, notes = list[str](), list[str]()
    for block in map(str.strip, blocks):
        if block.startswith("NOTE"):
            notes.append(block.removeprefix("NOTE").strip())
        elif not block.startswith(_LOOKS):
            said.append(block)
        elif title := block.partition("\n")[0].removeprefix("WEBVTT").strip("- \t"):
            notes += [] if block.startswith(_LOOKS[:2]) else [title]
    return "\n".join(filter(None, said)), list(filter(None, notes))


def _count_seconds(cue: re.Match[str]) -> float:
    """Return how long a caption stays; one without an end stays for long."""
    if not cue["until"]:
        return float(_MOST)
    began = int(cue["hours"] or 0) * 3600 + int(cue["minutes"]) * 60 + float(f"{cue['seconds']}.{cue['part']}")
    ended = int(cue["until_hours"] or 0) * 3600 + int(cue["until_minutes"]) * 60 + float(cue["until"].replace(",", "."))
    return ended - began
