"""Read what people said to each other: exports of Slack and WhatsApp, and captions (WebVTT, SRT).

Of Slack, names stand in the place of ids; a folder's day files find the members beside their channel's folder. WhatsApp
writes dates by the language of a phone: of the orders of day and month, that is taken in which all are dates and time
goes on.
"""

from __future__ import annotations

import html
import json
import re
from datetime import datetime
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from bookwheel.documents.decoding import decode_bytes
from bookwheel.documents.formats import explain_damage, open_package
from bookwheel.documents.transcripts import WHATSAPP_FILE, format_instant, get_object, make_turn
from bookwheel.types import Part

if TYPE_CHECKING:
    import zipfile
    from collections.abc import Iterable, Iterator, Mapping

    from bookwheel.documents.sources import SourceFile, SourceWarnings

_MOST: Final = 256 << 20
_DAY_FILE: Final = re.compile(r"\d{4}-\d{2}-\d{2}\.json")
_MENTION: Final = re.compile(r"<([@#!])([^|>]+)(?:\|([^>]*))?>")
_LINK: Final = re.compile(r"<((?:https?|mailto|tel):[^|>]+)(?:\|([^>]*))?>")
_MEMBERS: Final = ("users.json", "org_users.json")


def read_slack(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield the messages of an export, or of one of its day files, channel by channel."""
    with source.open() as file:
        is_packed = file.read(2) == b"PK"
    if is_packed:
        with open_package(source, "Slack export", "Download it again.") as archive:
            yield from _read_archive(archive, source.name, warnings)
        return
    with explain_damage(source.name, "Slack export", "Download it again."):
        records = json.loads(decode_bytes(source.read(_MOST, "split it"), source.name, warnings))
        names = {} if source.temp_file else _load_members(source.path.parent.parent, warnings)
        turns = list(_read_day(records, source.path.parent.name, source.name, names, warnings))
    yield from turns


def _read_archive(archive: zipfile.ZipFile, name: str, warnings: SourceWarnings) -> Iterator[Part]:
    files = [PurePosixPath(inside) for inside in archive.namelist() if inside.endswith(".json")]
    names: dict[str, str] = {}
    for path in files:
        if path.name in _MEMBERS:
            names |= _name_members(json.loads(archive.read(str(path))))
    for path in sorted(files):
        if _DAY_FILE.fullmatch(path.name):
            try:
                records = json.loads(decode_bytes(archive.read(str(path)), name, warnings))
            except (ValueError, RecursionError):
                warnings.add("days of a channel that are broken", f"{name}#{path}")
                continue
            yield from _read_day(records, path.parent.name, name, names, warnings)


def _load_members(folder: Path, warnings: SourceWarnings) -> dict[str, str]:
    """Return the names of the members of the export in a folder."""
    for path in (folder / name for name in _MEMBERS):
        try:
            if path.is_file() and path.stat().st_size <= _MOST:
                return _name_members(json.loads(path.read_bytes()))
        except (OSError, ValueError, RecursionError):
            warnings.add("lists of members that cannot be read", path.name)
    return {}


def _name_members(records: Any) -> dict[str, str]:
    names: dict[str, str] = {}
    for one in records if isinstance(records, list) else ():
        profile = get_object(one, "profile")
        found = (profile.get("display_name"), profile.get("real_name"), one.get("real_name"), one.get("name"))
        names[str(one.get("id"))] = next((str(name) for name in found if name), str(one.get("id")))
    return names


def _read_day(
    records: Any, channel: str, name: str, names: Mapping[str, str], warnings: SourceWarnings
) -> Iterator[Part]:
    """Yield the messages of a day, or who and what a list of members or channels has."""
    for number, one in enumerate(records if isinstance(records, list) else [records], 1):
        if not isinstance(one, dict):
            warnings.add("messages that are no record", f"{name}#{number}")
        elif "ts" in one:
            if words := _read_slack_message(one, names):
                place = f"#{channel}" + (" (thread)" if one.get("thread_ts", one["ts"]) != one["ts"] else "")
                yield make_turn(name, place, _find_speaker(one, names), format_instant(one["ts"]), words)
            else:
                warnings.add("messages without words", f"{name}#{channel}")
        elif "profile" in one:
            yield Part(text=f"Member: {next(iter(_name_members([one]).values()))}\n", source=name)
        else:
            purposes = (one.get(part) for part in ("purpose", "topic"))
            purpose = next(
                (str(part["value"]) for part in purposes if isinstance(part, dict) and part.get("value")), ""
            )
            yield Part(text=f"Channel #{one.get('name', channel)}: {purpose}\n", source=name)


def _find_speaker(message: Mapping[str, Any], names: Mapping[str, str]) -> str:
    profile = get_object(message, "user_profile")
    user = str(message.get("user") or "")
    own = profile.get("display_name") or profile.get("real_name") or message.get("username")
    return names.get(user) or str(own or user or message.get("bot_id") or "unknown")


def _read_slack_message(message: Mapping[str, Any], names: Mapping[str, str]) -> str:
    def name(found: re.Match[str]) -> str:
        sign, what, label = found.groups()
        known = label or (names.get(what, what) if sign == "@" else what)
        return f"{'#' if sign == '#' else '@'}{known}"

    text = str(message.get("text") or "") or " ".join(_find_texts(message.get("blocks")))
    attached = [
        str(one.get("text") or one.get("fallback") or "")
        for one in message.get("attachments") or ()
        if isinstance(one, dict)
    ]
    files = [
        f"[file: {one.get('name') or one.get('title') or 'unnamed'}]"
        for one in message.get("files") or ()
        if isinstance(one, dict)
    ]
    words = "\n".join(piece for piece in (text, *attached, *files) if piece.strip())
    words = _LINK.sub(lambda found: f"{found[2]} ({found[1]})" if found[2] else found[1], _MENTION.sub(name, words))
    return html.unescape(words).strip()


def _find_texts(blocks: Any) -> Iterator[str]:
    """Yield the texts in blocks of a message."""
    waiting = [blocks]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += reversed(one)
        elif isinstance(one, dict):
            if isinstance(one.get("text"), str):
                yield one["text"]
            waiting += [value for name, value in reversed(one.items()) if isinstance(value, dict | list)]


_TIME: Final = (
    r"(?P<before>上午|下午|午前|午後)?\s?(?P<hour>\d{1,2})[:.](?P<minute>\d{2})(?:[:.](?P<second>\d{2}))?"
    r"\s?(?P<after>[AaPp]\.?\s?[Mm]\.?)?(?:\sUhr)?"
)
_STAMP: Final = (
    r"(?P<a>\d{1,4})[./-]\s?(?P<b>\d{1,2})[./-]\s?(?P<c>\d{2,4})\.?,?\s(?:(?:um|at|klo|kl\.?|à|alle)\s)?" + _TIME
)
_IPHONE: Final = re.compile(rf"\[{_STAMP}\] (?P<rest>.*)")
_ANDROID: Final = re.compile(rf"{_STAMP} - (?P<rest>.*)")
_SPEAKER: Final = re.compile(r"(?P<name>[^:]{1,80}): ?(?P<words>.*)")
_BLANKS: Final = str.maketrans({"\u202f": " ", "\xa0": " ", "\u200e": "", "\u200f": "", "\u202a": "", "\u202c": ""})
_OMITTED: Final = re.compile(
    r"<(?:Media|Medien) .{1,20}>|<(?:attached|Anhang): [^>]*>|(?:image|video|audio|sticker|GIF|document) omitted|"
    r"(?:Bild|Video|Audio|Sticker|GIF|Dokument) weggelassen",
    re.IGNORECASE,
)
_LARGEST_MONTH: Final = 12


def read_whatsapp(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield the messages of an exported chat, as text or in the archive that a phone sends."""
    data = source.read(_MOST, "export it in parts, or without media")
    name = source.name
    if data.startswith(b"PK"):
        with open_package(source, "WhatsApp export", "Export it again.") as archive:
            inside = next(one for one in archive.namelist() if WHATSAPP_FILE.fullmatch(one))
            data = archive.read(inside)
    messages = list[tuple[re.Match[str], list[str]]]()
    for line in decode_bytes(data, name, warnings).lstrip("\ufeff").splitlines():
        plain = line.translate(_BLANKS)
        if found := _IPHONE.match(plain) or _ANDROID.match(plain):
            messages.append((found, [found["rest"]]))
        elif messages:
            messages[-1][1].append(plain)
        elif plain.strip():
            warnings.add("lines before the first message", name)
            yield Part(text=f"{plain}\n", source=name)
    order = _find_order([found for found, _ in messages])
    if len(order) > 1:
        warnings.add("dates in which day and month could be exchanged, read as day and month", name)
    for number, (found, lines) in enumerate(messages, 1):
        when = _parse_time(found, order[0])
        if when is None:
            warnings.add("messages with a time that is none", f"{name}#message {number}")
        speaker = _SPEAKER.fullmatch(lines[0])
        words = "\n".join((speaker["words"], *lines[1:])) if speaker else "\n".join(lines)
        if _OMITTED.search(words):
            warnings.add("pictures, films and sounds that are not read", name)
        shown = when.isoformat(" ", "seconds" if found["second"] else "minutes") if when else ""
        yield make_turn(name, f"message {number}", speaker["name"] if speaker else "WhatsApp", shown, words)


def _find_order(stamps: list[re.Match[str]]) -> list[str]:
    """Return the orders of day, month and year in which all are dates, the likeliest first."""
    if stamps and len(stamps[0]["a"]) == 4:  # noqa: PLR2004 - a year
        return ["ymd"]
    fits = [order for order in ("dmy", "mdy") if all(_parse_time(stamp, order) for stamp in stamps)]
    if len(fits) != 1:
        steps_back = {order: _count_steps_back(stamps, order) for order in fits or ("dmy", "mdy")}
        least = min(steps_back.values())
        fits = [order for order, steps in steps_back.items() if steps == least]
    return fits


def _count_steps_back(stamps: Iterable[re.Match[str]], order: str) -> int:
    times = [when for stamp in stamps if (when := _parse_time(stamp, order))]
    return sum(later < earlier for earlier, later in pairwise(times))


def _parse_time(stamp: re.Match[str], order: str) -> datetime | None:
    numbers = dict(zip(order, (int(stamp[part]) for part in "abc"), strict=True))
    hour, half = int(stamp["hour"]), (stamp["before"] or stamp["after"] or "").lower()
    if half:
        is_after_noon = half.startswith("p") or half in {"下午", "午後"}
        hour = hour % _LARGEST_MONTH + (12 if is_after_noon else 0)
    year = numbers["y"] + (2000 if numbers["y"] < 100 else 0)  # noqa: PLR2004 - written with two digits
    try:
        # The export names no zone: it is the phone's.
        return datetime(year, numbers["m"], numbers["d"], hour, int(stamp["minute"]), int(stamp["second"] or 0))  # noqa: DTZ001
    except ValueError:
        return None


_CUE: Final = re.compile(
    r"^(?:(\d{1,3}):)?(\d{1,2}):(\d{2})[.,]\d{1,3}[ \t]*-->[^\n]*\n(.*?)(?=\n[ \t]*\n|\Z)", re.MULTILINE | re.DOTALL
)
_VOICE: Final = re.compile(r"<v(?:\.[^ >]*)? ([^>]*)>")
_TAG: Final = re.compile(r"</?[a-zA-Z0-9:.][^>]*>|\{\\[^}]*\}")
_COLON_SPEAKER: Final = re.compile(r"(?:>>\s*)?([^\W\d_][\w .'’-]{0,40}): (.+)", re.DOTALL)


def read_captions(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield the captions, each with its time and, where it is named, its speaker; repeated lines once."""
    text = decode_bytes(source.read(_MOST, "split it"), source.name, warnings).replace("\r\n", "\n").replace("\r", "\n")
    last, count = "", 0
    for cue in _CUE.finditer(text):
        count += 1
        when = f"{int(cue[1] or 0):02}:{int(cue[2]):02}:{cue[3]}"
        for speaker, words in _split_voices(cue[4]):
            lines = [line.strip() for line in html.unescape(_TAG.sub("", words)).split("\n") if line.strip()]
            # Captions that roll repeat the line above.
            lines = lines[1:] if lines and lines[0] == last else lines
            if not lines:
                continue
            last = lines[-1]
            said = " ".join(lines)
            named = None if speaker else _COLON_SPEAKER.fullmatch(said)
            yield make_turn(
                source.name, "", speaker or (named[1] if named else "caption"), when, named[2] if named else said
            )
    if text.count("-->") > count:
        warnings.add("captions with a time that is none", source.name)


def _split_voices(text: str) -> list[tuple[str, str]]:
    """Return who says what in a caption."""
    pieces = _VOICE.split(text)
    spoken = list(zip(pieces[1::2], pieces[2::2], strict=True))
    return [("", pieces[0]), *spoken] if pieces[0].strip() else spoken
