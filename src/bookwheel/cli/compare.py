"""`bookwheel compare OLD NEW ["QUESTION"]`: what changed between two versions of a document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from bookwheel.cli.ask import begin_readings, open_sources
from bookwheel.cli.options import ReadingOptions
from bookwheel.cli.output import print_json, print_line, print_note, print_notes, stdout
from bookwheel.cli.terminal import StyledLine
from bookwheel.configuration import load_configuration
from bookwheel.errors import InputError, QuestionError
from bookwheel.text.sanitize import sanitize

if TYPE_CHECKING:
    from bookwheel.documents.opening import SourceDocument
    from bookwheel.views.versions import TextChange, VersionPart

_STYLES: Final = {"added": "green", "removed": "red", "reworded": "yellow", "moved": "cyan"}
_MARKS: Final = {"added": "+", "removed": "-", "reworded": "~", "moved": ">"}
_VERSIONS: Final = 2


async def compare(*words: str, options: ReadingOptions = ReadingOptions()) -> int:
    """Compare two versions of a document, section by section, or ask what changed.

    Without a question no model is needed: each part that was added, removed, reworded or moved is printed under its
    heading. With one, only what changed is read, and the answer comes from there.

    Parameters
    ----------
    words
        The older version, the newer one, and perhaps a question in quotes. Each is a file, a folder or a URL.

    """
    from bookwheel.views.versions import compare_texts

    if len(words) not in {_VERSIONS, _VERSIONS + 1}:
        raise InputError('name two versions, and a question if you have one: bookwheel compare OLD NEW ["QUESTION"]')
    sources, question = words[:_VERSIONS], words[_VERSIONS] if len(words) > _VERSIONS else None
    if question is not None and not question.strip():
        raise QuestionError("the question is empty; ask what changed, or leave it out to see all changes")
    old, new = [await open_sources([source], options.output) for source in sources]
    before, after = ("".join(part.text for part in document.parts()) for document in (old, new))
    for document in (old, new):
        print_notes((f"{document.name}: {note}" for note in document.notes), options.output)
    changes = compare_texts(before, after, new.name)
    if question is None:
        _print_changes(changes, old, new, as_json=options.output.as_json)
        return 0
    if not changes:
        raise InputError(f"{old.name} and {new.name} have the same words: nothing changed that could be asked about")
    return await _ask(question, changes, old, new, options)


async def _ask(
    question: str, changes: Sequence[TextChange], old: SourceDocument, new: SourceDocument, options: ReadingOptions
) -> int:
    from bookwheel.cli.runner import read_to_end
    from bookwheel.plan import VerdictMode
    from bookwheel.reading.prompts import prompts_for
    from bookwheel.session import WayRequest
    from bookwheel.views.changes import ChangesDocument

    settings, output = load_configuration(), options.output
    request = WayRequest.from_settings(options.way, options.given, settings)
    document = ChangesDocument(changes, old, new, question)
    with output.open_journal() as journal:
        async with options.models.open_session(journal) as session:
            stored = await session.keep(document)
            plan = session.build_plan(options.given)
            # What was before says otherwise than what is now, and a measure by words cannot tell which is asked about.
            if plan.verdict is VerdictMode.AUTO and not prompts_for(plan, question).quotes:
                plan = replace(plan, verdict=VerdictMode.MODEL)
            prepared = await session.prepare(stored, [question], plan, request)
            await begin_readings(session, prepared, output, only_estimate=False)
            return await read_to_end(session, prepared, output)


def _print_changes(changes: Sequence[TextChange], old: SourceDocument, new: SourceDocument, *, as_json: bool) -> None:
    from bookwheel.views.verdicts import describe_pages

    counts = Counter(str(change.kind) for change in changes)
    if as_json:
        told = [_to_json(change, old, new) for change in changes]
        print_json(
            {"old": old.name, "new": new.name, "counts": {kind: counts[kind] for kind in _MARKS}, "changes": told}
        )
        return
    heading, console = None, stdout()
    for change in changes:
        if change.heading != heading:
            heading = change.heading
            print_line(f"\n{sanitize(heading)}" if heading else "")
        passage = change.new or change.old
        text = change.words or (passage.text if passage else "")
        pages = describe_pages(_find_pages(new if change.new else old, passage))
        where = f"  ({pages})" if pages else ""
        mark = _MARKS[change.kind]
        lines = sanitize(text).replace("\n", f"\n{mark} ")
        console.print(StyledLine(f"{mark} {lines}{where}", style=_STYLES[change.kind]))
    total = ", ".join(f"{counts[kind]} {kind}" for kind in _MARKS if counts[kind])
    print_note(total or f"{old.name} and {new.name} have the same words", style="bold")


def _to_json(change: TextChange, old: SourceDocument, new: SourceDocument) -> dict[str, Any]:
    sides = {"old": (change.old, old), "new": (change.new, new)}
    passages = {
        side: {"text": one.text, "start": one.start, "end": one.end, "pages": list(_find_pages(document, one))}
        if one
        else None
        for side, (one, document) in sides.items()
    }
    return {"kind": str(change.kind), "heading": change.heading, **passages, "words": change.words}


def _find_pages(document: SourceDocument, passage: VersionPart | None) -> tuple[int, ...]:
    return document.pages(passage.start, passage.end) if passage else ()
