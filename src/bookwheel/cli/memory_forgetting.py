"""`bookwheel memory forget`."""

from __future__ import annotations

from bookwheel.cli.memory import describe_work, note_unfinished, open_named, print_values
from bookwheel.cli.options import CallOptions, Text, Words
from bookwheel.cli.output import count
from bookwheel.memory import record as records


async def forget(
    name: str,
    *,
    source: Text | None = None,
    before: Text | None = None,
    text: Words | None = None,
    preview: bool = False,
    options: CallOptions = CallOptions(),
) -> int:
    """Forget a source, what is from before a time, or some words, with all that came of them.

    The memory becomes what it would be without, and the words go from the journal's file. An interrupted forgetting
    goes on with the next command that reads. Copies of the file and the provider of the model are out of reach.

    Parameters
    ----------
    source
        The id of the source.
    before
        A time; what is from before it goes.
    text
        Words; they are blotted out of every text.
    preview
        Print what would go, and stop.

    """
    from bookwheel.memory import forgetting
    from bookwheel.memory.pieces import read_time

    until = read_time(before) if before else None
    async with open_named(name, options) as opened:
        values = records.preview_to_json(name, forgetting.preview(opened, source=source, before=until, text=text))
        kept = [f"{one} stays, and says words of it again" for one in values["repeated"]]
        if preview:
            parts = ((len(values["texts"]), "text"), (values["versions"], "version"), (values["later"], "later piece"))
            texts, versions, later = (count(number, noun) for number, noun in parts)
            texts += f" ({values['partial']} only in part)" if values["partial"] else ""
            answers = f", with {count(values['answers'], 'answer')} since then" if values["answers"] else ""
            lines = [f"{texts} and {versions} would go{answers}; up to {later} would be read again"]
            lines += (f"  {one['source']} · {one['at']}" for one in values["texts"])
            lines += kept
            return print_values(values, options.output, *lines)
        try:
            tombstone = await forgetting.forget(opened, source=source, before=until, text=text)
        finally:
            note_unfinished(opened.tables, opened.record, options.output)
    left = "" if tombstone.is_purged else "; the file is still in use and is purged with the next command"
    stone = records.tombstone_to_json(name, tombstone)
    return print_values(
        stone, options.output, f"forgot {', '.join(stone['sources'])}: {describe_work(stone)}{left}", *kept
    )
