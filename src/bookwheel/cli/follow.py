"""`bookwheel memory follow`: read a file or stream as it grows, and tell when the answer to a question changes."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from collections.abc import Mapping
from contextlib import aclosing
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

from bookwheel.cli import STDIN
from bookwheel.cli.memory import format_change, open_named
from bookwheel.cli.options import CallOptions, OutputOptions, Text
from bookwheel.cli.output import INCOMPLETE, count, print_json, print_line, print_note
from bookwheel.errors import InputError
from bookwheel.schema import Gt
from bookwheel.text.sanitize import sanitize

# Seconds that a command or an address may take to be told something.
_TELL_SECONDS: Final = 30
Seconds = Annotated[float, Gt(0)]


async def follow(
    name: str,
    file: str,
    *,
    source: Text | None = None,
    every: Seconds = 5.0,
    tell: Text | None = None,
    run: Text | None = None,
    post: Text | None = None,
    options: CallOptions = CallOptions(),
) -> int:
    """Read a file or stream into a memory as it grows, until it ends or Ctrl-C.

    Whole lines are read when they fill a chunk or have waited for --every seconds. After a restart it goes on where it
    stopped; a file that was rotated or cut shorter is read from its beginning. With --json, each event is a line.

    Parameters
    ----------
    file
        The file, or "-" for standard input.
    source
        The id of the source, by default the file's path; needed to forget it.
    every
        Seconds that new lines wait at most.
    tell
        A standing question: its answer is printed when it changes, with what changed it.
    run
        A command that gets each new answer as JSON on its standard input.
    post
        An address to which each new answer is posted as JSON.

    """
    from bookwheel.memory.following import FollowedStream, open_followed
    from bookwheel.memory.following import follow as follow_source

    if (run or post) and not tell:
        raise InputError("--run and --post tell of answers: say which question with --tell")
    code = 0
    named = source or ("standard input" if file == STDIN else file)
    async with open_named(name, options) as opened:
        growing = FollowedStream(sys.stdin.buffer, named) if file == STDIN else open_followed(opened, Path(file), named)
        if not options.output.is_silent:
            print_note(f"following {named}; Ctrl-C ends it")
        async with aclosing(follow_source(opened, growing, source=named, every=every, question=tell or "")) as events:
            async for event in events:
                _print_event(event, options.output)
                if event["event"] == "read" and event["gaps"]:
                    code = INCOMPLETE
                if event["event"] == "answer":
                    await _tell(event, run, post)
    return code


def _print_event(event: Mapping[str, Any], output: OutputOptions) -> None:
    if output.is_for_program:
        print_json(event)
        sys.stdout.flush()
        return
    clock = datetime.now().astimezone().strftime("%H:%M:%S")
    if event["event"] == "note":
        print_note(f"{clock}  {event['note']}")
    elif event["event"] == "answer":
        print_line(f"{clock}  {event['answer']}" + (f"   (was: {event['before']})" if event["before"] else ""))
        for change in event["changes"]:
            print_note(format_change(change))
        for quote in event["evidence"]:
            print_note(f"    “{quote['quote'].strip()}”  {quote['source']} · {quote['at']}")
    elif not output.quiet:
        steps, lines = count(event["steps"], "piece"), count(len(event["changes"]), "changed line")
        full = "; not taken in whole: the memory is full" if event["gaps"] else ""
        print_note(f"{clock}  version {event['version']}: {steps} read, {lines}{full}")
    sys.stdout.flush()


async def _tell(event: Mapping[str, Any], run: str | None, post: str | None) -> None:
    """Tell a command and an address; what goes wrong there is said, and ends nothing."""
    body = json.dumps(event).encode() + b"\n"
    if run:
        try:
            await asyncio.wait_for(_run(run, body), _TELL_SECONDS)
        except (OSError, ValueError, TimeoutError) as error:
            known = error.strerror if isinstance(error, OSError) else None
            print_note(f"{run}: {sanitize(known or str(error)) or 'it took too long'}")
    if post:
        import httpx2

        try:
            headers = {"Content-Type": "application/json"}
            # What it answers is not read: it may be without end.
            async with (
                asyncio.timeout(_TELL_SECONDS),
                httpx2.AsyncClient(timeout=_TELL_SECONDS) as client,
                client.stream("POST", post, content=body, headers=headers) as answer,
            ):
                answer.raise_for_status()
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            print_note(f"{post}: {sanitize(str(error)) or 'it took too long'}")


async def _run(command: str, body: bytes) -> None:
    process = await asyncio.create_subprocess_exec(
        *shlex.split(command), stdin=asyncio.subprocess.PIPE, stdout=sys.stderr.fileno()
    )
    try:
        await process.communicate(body)
    except asyncio.CancelledError:
        process.kill()
        raise
    if process.returncode:
        raise ValueError(f"it ended with exit code {process.returncode}")
