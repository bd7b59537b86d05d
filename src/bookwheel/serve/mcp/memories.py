"""The MCP tools of lasting memories: the verbs of `bookwheel memory`, with results that are short.

No call takes longer than a client waits: what takes longer goes on, and the same call again waits for it further.

The MCP SDK reads the annotations of the tools at run time, so this file does not postpone their evaluation.
"""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Annotated, Any, Final, Literal

from mcp.server.mcpserver import Context
from pydantic import Field

from bookwheel.background import let_leave
from bookwheel.errors import InputError
from bookwheel.journal.memory_rows import MemoryLimits
from bookwheel.serve.engine.service import Service
from bookwheel.serve.mcp.results import ROOM, Json, clean, cut, drop_empty, make_page
from bookwheel.serve.mcp.tools import LONGEST_WAIT, Cursor, get_key
from bookwheel.views.verdicts import advise_room, describe_flags, describe_version_flags

At = Annotated[str | None, Field(description="Its time, as 2026-11-24T09:30+01:00.")]
Source = Annotated[str, Field(description="Who says it, such as mail-17; needed to forget it.")]
# 0 is none: null would take twice the characters in the list of tools.
Limit = Annotated[int, Field(ge=0)]
_MOST_QUOTES: Final = 3
_MOST_CHANGES: Final = 6
_PIECE: Final = 700
# Calls of one client that are at work, or done and not fetched.
_MOST_PENDING: Final = 32


class LastingMemoryTools:
    """The tools. Each public method is one tool, and its docstring is the description that clients see."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._memories = service.memories
        self._pending = dict[Hashable, dict[Hashable, asyncio.Task[Json]]]()

    async def memory_list(self, ctx: Context, *, cursor: Cursor = "") -> Json:
        """List the lasting memories: they go on, and are added to, asked, corrected and made to forget."""
        rows = [
            {"memory": one["memory"], "about": cut(one["about"]), "version": one["version"], "texts": one["texts"]}
            for one in await self._memories.list_all(get_key(ctx))
        ]
        return make_page("memories", clean(rows), cursor)

    async def memory_new(
        self, ctx: Context, *, memory: str, about: str, max_characters: Limit = 0, max_tokens_per_day: Limit = 0
    ) -> Json:
        """Begin a lasting memory; `about` says what it notes."""
        model = next(iter(self._service.models))
        limits = MemoryLimits(max_characters=max_characters or None, max_tokens_per_day=max_tokens_per_day or None)
        begun = await self._memories.begin(get_key(ctx), memory, about, model=model, plan={}, way="", limits=limits)
        return {"memory": begun["memory"], "limit": begun["limit"]}

    async def memory_add(self, ctx: Context, *, memory: str, text: str, source: Source = "", at: At = None) -> Json:
        """Read a new text into a memory, once; returns the lines that changed."""

        async def add() -> Json:
            key = get_key(ctx)
            added = await self._memories.add(key, memory, text, source=source, at=at)
            values: Json = {"memory": memory, "version": added["version"], "steps": added["steps"]}
            values |= {name: True for name in ("known", "late") if added.get(name)}
            if gaps := added["gaps"]:
                limit = (await self._memories.show(key, memory, None))["limit"]
                why = "; ".join(describe_flags(sorted({flag for gap in gaps for flag in gap["flags"]})))
                values["gaps"] = f"{len(gaps)} pieces were not taken in whole ({why}): {advise_room(limit)}"
            return values | _shorten_changes(list(added["changes"]))

        return await self._finish(ctx, ("add", memory, text, source, at), add)

    async def memory_ask(self, ctx: Context, *, memory: str, question: str, as_of: str | None = None) -> Json:
        """Ask a memory; `from`: it or its texts. The newest value holds; older ones: `superseded`."""

        async def ask() -> Json:
            found: Json = dict(await self._memories.ask(get_key(ctx), memory, question, as_of=as_of))
            values: Json = {"memory": memory, "version": found["version"], "status": found["status"]}
            values |= {name: cut(found[name], _PIECE) for name in ("answer", "error") if found[name]}
            values |= drop_empty({name: found[name] for name in ("from", "verdict", "sign", "answers")})
            if found["gaps"]:
                values["gaps"] = "the memory is full: what it read last was not taken in whole"
            for name in ("evidence", "newer", "superseded"):
                quotes = found[name][:_MOST_QUOTES]
                if quotes:
                    values[name] = [
                        {"quote": cut(one["quote"], 120), "source": cut(one["source"], 60), "at": one["at"]}
                        for one in quotes
                    ]
            return values

        return await self._finish(ctx, ("ask", memory, question, as_of), ask)

    async def memory_show(
        self,
        ctx: Context,
        *,
        memory: str,
        version: int | None = None,
        cursor: Cursor = "",
    ) -> Json:
        """Show what a memory says, now or at a version."""
        shown: Json = dict(await self._memories.show(get_key(ctx), memory, version))
        pieces = [{"text": shown["text"][at : at + _PIECE]} for at in range(0, len(shown["text"]), _PIECE)]
        about = {name: shown[name] for name in ("version", "tokens", "limit", "waiting", "gaps") if shown[name] != []}
        return {"memory": memory, **about, **make_page("pieces", clean(pieces), cursor, ROOM - 120)}

    async def memory_log(
        self,
        ctx: Context,
        *,
        memory: str,
        part: Literal["versions", "sources", "answers", "forgotten"] = "versions",
        cursor: Cursor = "",
    ) -> Json:
        """List what happened to a memory, newest first."""
        log: Json = dict(await self._memories.log(get_key(ctx), memory))
        rows: list[Json] = []
        for one in reversed(log[part]):
            kept = {name: value for name, value in one.items() if name in _SHOWN[part] and value not in ([], "", False)}
            if part == "versions":
                kept |= drop_empty({"flags": describe_version_flags(one)})
                kept |= _shorten_changes(one["changes"])
            rows.append({name: cut(value) if isinstance(value, str) else value for name, value in kept.items()})
        return {"memory": memory, **make_page(part, clean(rows), cursor, ROOM - 60)}

    async def memory_diff(self, ctx: Context, *, memory: str, old: int, new: int, cursor: Cursor = "") -> Json:
        """Show the lines that two versions differ in."""
        found = await self._memories.diff(get_key(ctx), memory, old, new)
        changes = [_shorten_change(change) for change in found["changes"]]
        return {"memory": memory, **make_page("changes", clean(changes), cursor, ROOM - 60)}

    async def memory_edit(self, ctx: Context, *, memory: str, new: str, old: str = "", at: str = "") -> Json:
        """Correct words; no `old`: `new` is all. `at`: since when."""
        edited = await self._memories.edit(get_key(ctx), memory, old, new, at or None)
        return {"memory": memory, "version": edited["version"]} | _shorten_changes(list(edited["changes"]))

    async def memory_forget(
        self,
        ctx: Context,
        *,
        memory: str,
        source: str | None = None,
        before: str | None = None,
        text: str | None = None,
        preview: bool = False,
    ) -> Json:
        """Erase a source, what is from before a time, or words, with all that came of them."""

        async def forget() -> Json:
            forgotten = await self._memories.forget(
                get_key(ctx), memory, source=source, before=before, text=text, is_preview=preview
            )
            found: Json = dict(forgotten)
            return {
                name: len(value) if name == "texts" else value
                for name, value in found.items()
                if name not in {"sources", "began", "ended"}
            }

        return await self._finish(ctx, ("forget", memory, source, before, text, preview), forget)

    async def memory_rename(self, ctx: Context, *, memory: str, new: str) -> Json:
        """Give a memory another name."""
        return {"memory": (await self._memories.rename(get_key(ctx), memory, new))["memory"]}

    async def memory_delete(self, ctx: Context, *, memory: str) -> Json:
        """Delete a whole memory."""
        await self._memories.delete(get_key(ctx), memory)
        return {"memory": memory, "deleted": True}

    async def _finish(self, ctx: Context, call: Hashable, make: Callable[[], Coroutine[Any, Any, Json]]) -> Json:
        """Return the result of a call; one that takes longer than a client waits goes on."""
        mine = self._pending.setdefault(self._service.owner(get_key(ctx)), {})
        task = mine.get(call)
        if task is None:
            _make_room(mine)
            # A client that never asks again is told of no failure.
            task = mine[call] = let_leave(asyncio.ensure_future(make()))
        done, _ = await asyncio.wait({task}, timeout=LONGEST_WAIT)
        if not done:
            return {"status": "working", "next": "make the same call again: it goes on, and nothing is done twice"}
        mine.pop(call, None)
        if task.cancelled():
            raise InputError("the server ended before it was done; make the same call again")
        return clean(task.result())


def _make_room(calls: dict[Hashable, asyncio.Task[Json]]) -> None:
    """Drop the oldest result that was not fetched where a client has too many; refuse where all are at work."""
    if len(calls) < _MOST_PENDING:
        return
    ended = next((call for call, task in calls.items() if task.done()), None)
    if ended is None:
        raise InputError(f"{_MOST_PENDING} calls are still working: make one of those again, and wait for it")
    del calls[ended]


_SHOWN: Final = {
    "versions": {"version", "source", "at", "kind", "late"},
    "sources": {"source", "at", "characters", "read", "late"},
    "answers": {"version", "question", "answer", "from", "verdict"},
    "forgotten": {"scope", "sources", "ended", "replayed", "lines", "changed", "purged"},
}


def _shorten_changes(changes: list[Any]) -> Json:
    """Return the first changes, and how many there are more."""
    left = len(changes) - _MOST_CHANGES
    shown = [_shorten_change(change) for change in changes[:_MOST_CHANGES]]
    return ({"changes": shown} if shown else {}) | ({"more_changes": left} if left > 0 else {})


def _shorten_change(change: Any) -> Json:
    old = {"old": cut(change["old"], 100)} if "old" in change else {}
    return {change["kind"]: cut(change["text"], 150), **old}
