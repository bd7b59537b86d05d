"""Read exports of Slack, channel by channel, with names in the place of ids.

A folder's day files find the members beside their channel's folder. An export has what was edited, deleted, attached
and answered with a sign; all of it stands with its message, and what has no words is named.
"""

from __future__ import annotations

import html
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

from bookwheel.documents.damage import explain_damage, name_unread, open_package, skip_damage
from bookwheel.documents.decoding import decode_bytes
from bookwheel.documents.sources import SourceFile, SourceWarnings
from bookwheel.documents.transcripts import format_instant, get_object, make_turn
from bookwheel.types import Part

_MOST: Final = 256 << 20
_DAY_FILE: Final = re.compile(r"\d{4}-\d{2}-\d{2}\.json")
_MENTION: Final = re.compile(r"<([@#!])([^|>]+)(?:\|([^>]*))?>")
_LINK: Final = re.compile(r"<((?:https?|mailto|tel):[^|>]+)(?:\|([^>]*))?>")
_MEMBERS: Final = ("users.json", "org_users.json")
_TALKS: Final = ("dms.json", "mpims.json")
_CHANNELS: Final = ("channels.json", "groups.json")
_LISTS: Final = re.compile("|".join(map(re.escape, (*_MEMBERS, *_TALKS, *_CHANNELS))))


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
        names = {} if source.temp_file else _load_names(source.path.parent.parent, warnings)
        turns = list(_read_day(records, source.path.parent.name, source.name, names, warnings))
    yield from turns


def _read_archive(archive: zipfile.ZipFile, name: str, warnings: SourceWarnings) -> Iterator[Part]:
    files = {PurePosixPath(inside): inside for inside in archive.namelist() if inside.endswith(".json")}
    roots = {path.name: inside for path, inside in files.items() if _LISTS.fullmatch(path.name)}
    names: dict[str, str] = {}
    for one in (*_MEMBERS, *_TALKS):
        if one in roots:
            names |= _name_all(json.loads(archive.read(roots[one])), names)
    read = set(roots.values())
    days = sorted(path for path in files if _DAY_FILE.fullmatch(path.name))
    for path in (*(PurePosixPath(roots[one]) for one in _CHANNELS if one in roots), *days):
        read.add(files[path])
        with skip_damage(warnings, "days of a channel", f"{name}#{path}"):
            records = json.loads(decode_bytes(archive.read(files[path]), name, warnings))
            yield from _read_day(records, path.parent.name, name, names, warnings)
    name_unread(archive, name, warnings, re.compile(r"\Z"), read)


def _load_names(folder: Path, warnings: SourceWarnings) -> dict[str, str]:
    names: dict[str, str] = {}
    for path in (folder / name for name in (*_MEMBERS, *_TALKS)):
        try:
            if path.is_file() and path.stat().st_size <= _MOST:
                names |= _name_all(json.loads(path.read_bytes()), names)
        except (OSError, ValueError, RecursionError):
            warnings.add("lists of members that cannot be read", path.name)
    return names


def _name_all(records: Any, known: Mapping[str, str]) -> dict[str, str]:
    """Return the name of each member, or of each talk without a name: those who take part."""
    names: dict[str, str] = {}
    for one in records if isinstance(records, list) else ():
        profile = get_object(one, "profile")
        found = (profile.get("display_name"), profile.get("real_name"), one.get("real_name"), one.get("name"))
        parties = ", ".join(known.get(str(member), str(member)) for member in one.get("members") or ())
        names[str(one.get("id"))] = next((str(name) for name in found if name), parties or str(one.get("id")))
    return names


def _read_day(
    records: Any, channel: str, name: str, names: Mapping[str, str], warnings: SourceWarnings
) -> Iterator[Part]:
    """Yield the messages of a day, or who and what a list of members or channels has."""
    for number, one in enumerate(records if isinstance(records, list) else [records], 1):
        if not isinstance(one, dict):
            warnings.add("messages that are no record", f"{name}#{number}")
        elif "ts" in one:
            with skip_damage(warnings, "messages", f"{name}#{channel}"):
                if any(isinstance(file, dict) for file in one.get("files") or ()):
                    warnings.add("files of messages that are not read", f"{name}#{channel}")
                if words := _read_message(one, names):
                    place = f"#{names.get(channel, channel)}"
                    place += " (thread)" if one.get("thread_ts", one["ts"]) != one["ts"] else ""
                    yield make_turn(name, place, _find_speaker(one, names), format_instant(one["ts"]), words)
                else:
                    warnings.add("messages without words", f"{name}#{channel}")
        elif "profile" in one:
            profile = get_object(one, "profile")
            facts = (*_name_all([one], names).values(), profile.get("real_name"), profile.get("title"))
            yield Part(text=f"Member: {', '.join(dict.fromkeys(map(str, filter(None, facts))))}\n", source=name)
        else:
            label = str(one.get("name") or names.get(str(one.get("id"))) or channel)
            about = [str(get_object(one, part).get("value") or "") for part in ("purpose", "topic")]
            yield Part(text=f"Channel #{label}: {' · '.join(filter(None, about))}\n", source=name)


def _find_speaker(message: Mapping[str, Any], names: Mapping[str, str]) -> str:
    inner = get_object(message, "message") or get_object(message, "previous_message")
    profile = get_object(message, "user_profile") or get_object(message, "bot_profile")
    user = str(message.get("user") or inner.get("user") or "")
    own = profile.get("display_name") or profile.get("real_name") or message.get("username") or profile.get("name")
    return names.get(user) or str(own or user or message.get("bot_id") or "unknown")


def _read_message(message: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Return the words of a message, then what hangs on it: attachments, files, that it was edited, signs."""
    new, old = get_object(message, "message"), get_object(message, "previous_message")
    if new or old:
        said, before = (_read_message(one, names) for one in (new, old))
        return f"(edits a message) {said}\n(was: {before})" if said else f"(deletes a message) (was: {before})"
    edited = format_instant(get_object(message, "edited").get("ts"))
    pieces = [
        _plain(str(message.get("text") or ""), names),
        *(_read_attachment(one, names) for one in message.get("attachments") or () if isinstance(one, dict)),
        *(_describe_file(one) for one in message.get("files") or () if isinstance(one, dict)),
        f"(edited {edited})" if edited else "",
        *(_describe_sign(one, names) for one in message.get("reactions") or () if isinstance(one, dict)),
    ]
    # Blocks mostly repeat the text with its looks; what a program says only there is read too.
    for words in (_plain(one, names) for one in _find_texts(message.get("blocks"), is_whole=not pieces[0])):
        pieces[0] = pieces[0] if words in pieces[0] else f"{pieces[0]}\n{words}"
    return "\n".join(piece.strip() for piece in pieces if piece.strip())


def _read_attachment(one: Mapping[str, Any], names: Mapping[str, str]) -> str:
    title, link = str(one.get("title") or ""), str(one.get("title_link") or one.get("from_url") or "")
    fields = [
        f"{field.get('title') or ''}: {field.get('value') or ''}"
        for field in one.get("fields") or ()
        if isinstance(field, dict)
    ]
    pieces = [
        str(one.get("pretext") or ""),
        str(one.get("author_name") or ""),
        f"{title} ({link})" if title and link else title,
        str(one.get("text") or " ".join(_find_texts(one.get("blocks"), is_whole=True))),
        *fields,
    ]
    words = "\n".join(filter(str.strip, pieces)) or str(one.get("fallback") or "")
    return _plain(words, names)


def _describe_file(one: Mapping[str, Any]) -> str:
    called = one.get("name") or one.get("title") or ("deleted" if one.get("mode") == "tombstone" else "unnamed")
    comment = str(get_object(one, "initial_comment").get("comment") or "")
    return f"[file: {called}]" + (f" {comment}" if comment else "")


def _describe_sign(one: Mapping[str, Any], names: Mapping[str, str]) -> str:
    users = [names.get(str(user), str(user)) for user in one.get("users") or ()]
    count = one.get("count")
    more = [f"{count - len(users)} more"] if isinstance(count, int) and count > len(users) else []
    people = ", ".join([*users, *more])
    return f"[:{one.get('name')}: {people}]"


def _plain(text: str, names: Mapping[str, str]) -> str:
    """Return a text with names and addresses in the place of its marks."""

    def name(found: re.Match[str]) -> str:
        sign, what, label = found.groups()
        if sign == "!":
            return label if what.startswith("date^") and label else f"@{(label or what).lstrip('@')}"
        known = label or names.get(what, what)
        return f"{sign}{known.lstrip(sign)}"

    shown = _LINK.sub(lambda found: f"{found[2]} ({found[1]})" if found[2] else found[1], _MENTION.sub(name, text))
    return html.unescape(shown).strip()


def _find_texts(blocks: Any, *, is_whole: bool) -> Iterator[str]:
    """Yield the texts in blocks of a message; unless `is_whole`, without those that repeat the message's text."""
    waiting = [blocks]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += reversed(one)
        elif isinstance(one, dict) and (is_whole or one.get("type") != "rich_text"):
            given = (one.get("text"), one.get("alt_text"), one.get("url") if one.get("type") == "link" else None)
            if words := next((words for words in given if isinstance(words, str) and words), ""):
                yield words
            elif one.get("type") in {"user", "channel"}:
                yield f"<{'@' if one['type'] == 'user' else '#'}{one.get('user_id') or one.get('channel_id')}>"
            elif one.get("type") == "emoji":
                yield f":{one.get('name')}:"
            waiting += [value for value in reversed(one.values()) if isinstance(value, dict | list)]
