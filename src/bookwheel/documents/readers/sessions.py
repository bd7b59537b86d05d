"""Read what people and models said to each other: sessions of Claude Code and Codex, exports of ChatGPT and Claude.

A session is a file of JSON lines, which grows; a line that is no JSON is kept as it is and named. A record that is
written twice is read once, words that are said twice are read twice. What a record holds beside words, such as counts
and snapshots, is named by its kind. Of a conversation with edited turns, the branch that
its owner saw last is read, and the others are counted.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from bookwheel.documents.damage import name_unread, open_package, skip_damage
from bookwheel.documents.decoding import decode_bytes
from bookwheel.documents.sources import SourceFile, SourceWarnings, to_printable
from bookwheel.documents.transcripts import CHATS_FILE, format_instant, get_object, make_turn
from bookwheel.text import lexicon
from bookwheel.types import Part

# Bytes of one record, and of one file of conversations.
_MOST_LINE: Final = 32 << 20
_MOST_CHATS: Final = 512 << 20
_BROKEN: Final = "lines that are no record, kept as they are"
_WORDLESS: Final = "records without words that are not read"
_PARTS: Final = "parts without words that are not read"
_PICTURES: Final = "pictures that are not read"
_INSTRUCTIONS: Final = "instructions of a program to its model that are not read"
_PICTURE_KINDS: Final = frozenset({"image", "input_image", "image_asset_pointer"})
_TEXTS: Final = ("text", "thinking", "content", "output", "result", "summary", "message")
# What holds words in records of other kinds.
_WORDS: Final = lexicon.words(
    "prompt lastPrompt customTitle last_agent_message stdout stderr error reason aggregated_output formatted_output"
).union(_TEXTS)
_QUEUED: Final = frozenset({"queue-operation", "queued_command"})
# Marks that ChatGPT puts in the place of a source.
_CITED: Final = re.compile("\ue200[^\ue201]*\ue201")
# Pages of the same words, facts of the owner, opinions.
_OTHER_PAGES: Final = re.compile(r"(?:.*/)?chat\.html")


def read_session(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    repeats = _Repeats()
    with source.open() as file:
        number = 0
        while line := file.readline(_MOST_LINE):
            number += 1
            place, where = f"line {number}", f"{source.name}#line {number}"
            if not line.endswith(b"\n") and len(line) == _MOST_LINE:
                warnings.add(f"lines read in part, over {_MOST_LINE >> 20} MiB", where)
            text = _decode(line, source.name, warnings).strip()
            if not text:
                continue
            try:
                record = json.loads(text)
            except (ValueError, RecursionError):
                record = None
            if not isinstance(record, dict):
                warnings.add(_BROKEN, where)
                yield make_turn(source.name, place, "no record", "", text)
                continue
            if not repeats.is_known(record.get("uuid")):
                turns = _list_turns(record, where, warnings, repeats)
                when = format_instant(record.get("timestamp"))
                yield from (make_turn(source.name, place, speaker, when, words) for speaker, words in turns)


def _list_turns(
    record: dict[str, Any], where: str, warnings: SourceWarnings, repeats: _Repeats
) -> list[tuple[str, str]]:
    """Return who says what in a record that was not said in another form before."""
    kind = str(get_object(record, "payload").get("type") or record.get("type") or "")
    if turns := list(_read_record(record, where, warnings)):
        return [turn for turn in turns if not repeats.is_other_form(kind, *turn)]
    others = list(dict.fromkeys(_find_words(record)))
    if not others:
        warnings.add(_WORDLESS, to_printable(kind or "untyped")[:40])
    is_queued = _QUEUED & {kind, get_object(record, "attachment").get("type")}
    speaker = "user (queued)" if is_queued else kind or "record"
    return [(speaker, words) for words in others if not repeats.is_said(words)]


class _Repeats:
    """What was read of a session, by hashes: records that are there again, and the other forms of a message."""

    def __init__(self) -> None:
        self._ids = set[int]()
        self._written = Counter[int]()
        self._shown = Counter[int]()
        self._said = set[int]()

    def is_known(self, identity: Any) -> bool:
        """Return whether a record was read; a session that goes on in another window repeats some."""
        if not isinstance(identity, str) or not identity:
            return False
        known, key = len(self._ids), hash(identity)
        self._ids.add(key)
        return len(self._ids) == known

    def is_other_form(self, kind: str, speaker: str, words: str) -> bool:
        """Return whether this is a message that a record of another kind has said; Codex writes items and events."""
        turn, own = hash((speaker, words)), hash((kind, speaker, words))
        self._written[own] += 1
        self._said.add(hash(words))
        is_other = self._written[own] <= self._shown[turn]
        self._shown[turn] += not is_other
        return is_other

    def is_said(self, words: str) -> bool:
        """Return whether some words were read before, whoever said them."""
        known, key = len(self._said), hash(words)
        self._said.add(key)
        return len(self._said) == known


def _find_words(record: Any) -> Iterator[str]:
    """Yield the words that a record of an unknown kind holds, by the names that words have."""
    waiting = [("", record)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, str) and name in _WORDS and value.strip():
            yield value.strip()
        elif isinstance(value, dict):
            waiting += reversed(value.items())
        elif isinstance(value, list):
            waiting += [(name, one) for one in reversed(value)]


def _decode(line: bytes, name: str, warnings: SourceWarnings) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return decode_bytes(line, name, warnings)


def _read_record(record: dict[str, Any], where: str, warnings: SourceWarnings) -> Iterator[tuple[str, str]]:
    payload, kind = record.get("payload"), str(record.get("type", ""))
    if isinstance(payload, dict) and kind in {"session_meta", "turn_context"}:
        git = get_object(payload, "git")
        about = {"folder": payload.get("cwd"), "branch": git.get("branch"), "model": payload.get("model")}
        if payload.get("instructions") or payload.get("base_instructions"):
            warnings.add(_INSTRUCTIONS, where)
        if kind == "session_meta" and any(about.values()):
            yield "session", ", ".join(f"{name} {value}" for name, value in about.items() if value)
    elif isinstance(payload, dict):
        yield from _read_item(payload, where, warnings)
    elif isinstance(message := record.get("message"), dict):
        speaker = str(message.get("role") or kind)
        speaker += " (side task)" if record.get("isSidechain") else ""
        yield from _read_content(speaker, message.get("content"), where, warnings)
    elif kind == "summary":
        yield "summary", str(record.get("summary") or "")
    else:
        yield from _read_item(record, where, warnings)


def _read_item(item: dict[str, Any], where: str, warnings: SourceWarnings) -> Iterator[tuple[str, str]]:
    """Yield the speakers and words of an item of Codex, or of a record of another kind."""
    kind = str(item.get("type", ""))
    if kind == "message":
        yield from _read_content(str(item.get("role") or "message"), item.get("content"), where, warnings)
    elif kind in {"user_message", "agent_message", "agent_reasoning"}:
        speaker = {"user_message": "user", "agent_message": "assistant"}.get(kind, "assistant (thinking)")
        yield from _read_content(speaker, item.get("message") or item.get("text"), where, warnings)
    elif kind == "reasoning":
        for part in (item.get("summary"), item.get("content")):
            yield from _read_content("assistant (thinking)", part, where, warnings)
    elif kind.endswith("_call_output"):
        yield from _read_content("tool", item.get("output") or item.get("result"), where, warnings)
    elif kind.endswith("_call"):
        given = item.get("arguments") or item.get("input") or item.get("action") or ""
        yield f"assistant runs {item.get('name') or kind.removesuffix('_call')}", _to_text(given)
    elif item.get("instructions"):
        warnings.add(_INSTRUCTIONS, where)


def _read_content(speaker: str, content: Any, where: str, warnings: SourceWarnings) -> Iterator[tuple[str, str]]:
    """Yield the words of a message: a text, or blocks of texts, calls of tools and their results."""
    if isinstance(content, str):
        if content.strip():
            yield speaker, content.strip()
        return
    blocks = content if isinstance(content, list) else [content] if isinstance(content, dict) else []
    for block in blocks:
        if not isinstance(block, dict):
            yield from _read_content(speaker, block, where, warnings)
            continue
        kind = str(block.get("type", ""))
        if kind in _PICTURE_KINDS:
            warnings.add(_PICTURES, where)
        elif kind in {"tool_use", "server_tool_use"}:
            yield f"{speaker} runs {block.get('name', 'a tool')}", _to_text(block.get("input"))
        elif kind.endswith("tool_result"):
            yield from _read_content("tool", block.get("content"), where, warnings)
        else:
            source = get_object(block, "source")
            words = next((block[name] for name in _TEXTS if block.get(name)), None)
            words = words or (source.get("data") if source.get("type") == "text" else None)
            if not words and kind not in {"text", "thinking"}:
                warnings.add(_PARTS, f"{where} ({to_printable(kind or str(block.get('content_type')))[:40]})")
            yield from _read_content(f"{speaker} (thinking)" if kind == "thinking" else speaker, words, where, warnings)


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def read_chats(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    with source.open() as file:
        is_packed = file.read(2) == b"PK"
    if not is_packed:
        yield from _read_chats(source.read(_MOST_CHATS, "split it"), source.name, warnings)
        return
    with open_package(source, "export", "Download it again.") as archive:
        read = sorted(filter(CHATS_FILE.fullmatch, archive.namelist()))
        for inside in read:
            yield from _read_chats(archive.read(inside), source.name, warnings)
        name_unread(archive, source.name, warnings, _OTHER_PAGES, read)


def _read_chats(data: bytes, name: str, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield the turns of a file, one conversation in memory at a time beside its text."""
    text, decoder, at = decode_bytes(data, name, warnings), json.JSONDecoder(), 0
    while at < len(text):
        if text[at] in " \t\r\n[],\ufeff":
            at += 1
            continue
        try:
            chat, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            warnings.add("the rest of an export, which is broken", f"{name}#character {at}")
            return
        if isinstance(chat, dict):
            with skip_damage(warnings, "conversations", f"{name}#{to_printable(str(chat.get('title')))[:80]}"):
                yield from _read_chat(chat, name, warnings)


def _read_chat(chat: dict[str, Any], name: str, warnings: SourceWarnings) -> Iterator[Part]:
    title = to_printable(" ".join(str(chat.get("title") or chat.get("name") or "untitled").split()))
    began = format_instant(chat.get("create_time") or chat.get("created_at"))
    yield Part(text=f"# {title}" + (f" ({began})" if began else "") + "\n\n", source=f"{name}#{title}")
    for message in _list_messages(chat, f"{name}#{title}", warnings):
        author = get_object(message, "author")
        role = message.get("sender") or author.get("role") or "message"
        speaker = {"human": "user"}.get(str(role), str(role))
        when = format_instant(message.get("create_time") or message.get("created_at"))
        turns = list(_read_message(speaker, message, f"{name}#{title}", warnings))
        for said_by, words in turns:
            yield make_turn(name, title, said_by, when, _name_sources(words, message))


def _name_sources(words: str, message: dict[str, Any]) -> str:
    """Put the sources that a message names in the place of their marks."""
    if not _CITED.search(words):
        return words
    found = get_object(message, "metadata").get("content_references")
    named = {str(one.get("matched_text")): str(one.get("alt") or "") for one in found or () if isinstance(one, dict)}
    return _CITED.sub(lambda mark: named.get(mark[0], ""), words)


def _list_messages(chat: dict[str, Any], where: str, warnings: SourceWarnings) -> list[dict[str, Any]]:
    """Return the messages that the conversation's owner saw last, in their order."""
    if isinstance(chat.get("chat_messages"), list):
        return [one for one in chat["chat_messages"] if isinstance(one, dict)]
    mapping = get_object(chat, "mapping")
    nodes = {key: node for key, node in mapping.items() if isinstance(node, dict)}
    leaf: Any = chat.get("current_node")
    if leaf not in nodes:
        times = [(float((node.get("message") or {}).get("create_time") or 0), key) for key, node in nodes.items()]
        leaf = max(times, default=(0.0, None))[1]
    path: dict[str, None] = {}
    while leaf in nodes and leaf not in path:
        path[leaf] = None
        leaf = nodes[leaf].get("parent")
    with_words = [key for key, node in nodes.items() if isinstance(node.get("message"), dict)]
    if any(key not in path for key in with_words):
        warnings.add("turns of edited branches that are not read", where)
    return [nodes[key]["message"] for key in reversed(path) if isinstance(nodes[key].get("message"), dict)]


def _read_message(
    speaker: str, message: dict[str, Any], where: str, warnings: SourceWarnings
) -> Iterator[tuple[str, str]]:
    metadata = get_object(message, "metadata")
    if metadata.get("is_visually_hidden_from_conversation") or message.get("weight") == 0:
        warnings.add("hidden messages that are not read", where)
    else:
        yield from _read_chat_content(speaker, message.get("content") or message.get("text"), where, warnings)
    attached = (message.get("attachments"), metadata.get("attachments"), message.get("files"))
    for attachment in (one for group in attached if isinstance(group, list) for one in group):
        # Exports of Claude hold the text of an attachment, those of ChatGPT its name.
        if isinstance(attachment, dict):
            called = to_printable(str(attachment.get("file_name") or attachment.get("name") or "attachment"))
            if words := attachment.get("extracted_content"):
                yield f"{speaker} attaches {called}", str(words)
            else:
                warnings.add("attachments that the export does not hold", f"{where}, {called}")


def _read_chat_content(speaker: str, content: Any, where: str, warnings: SourceWarnings) -> Iterator[tuple[str, str]]:
    """Yield the words of a message of ChatGPT by its kind; those of Claude are blocks as in its sessions."""
    if isinstance(content, dict) and isinstance(content.get("parts"), list):
        for part in content["parts"]:
            if isinstance(part, dict) and part.get("content_type") in _PICTURE_KINDS:
                warnings.add(_PICTURES, where)
            else:
                yield from _read_content(speaker, part, where, warnings)
    elif isinstance(content, dict) and content.get("url"):
        about = (content.get("title"), content["url"], content.get("text") or content.get("result"))
        yield speaker, "\n".join(str(part) for part in about if part)
    elif isinstance(content, dict) and isinstance(content.get("thoughts"), list):
        yield from _read_content(f"{speaker} (thinking)", content["thoughts"], where, warnings)
    else:
        yield from _read_content(speaker, content, where, warnings)
