"""`bookwheel share`: runs, or one reading, as an HTML file that opens without a server."""

from pathlib import Path
from typing import Annotated

from bookwheel.cli.arguments import Option
from bookwheel.cli.ask import find_reading_name
from bookwheel.cli.options import Count, OutPath, OutputOptions
from bookwheel.errors import InputError


def share(
    *what: Annotated[
        str, Option(about='Folders of evaluations and training runs, or above them; or a reading\'s id, or "last".')
    ],
    out: Annotated[
        OutPath | None, Option(about="The file to write; else the first folder's or the reading's name and .html.")
    ] = None,
    readings: Annotated[Count, Option(about="Readings of each run to put in, the wrong and the newest first.")] = 100,
    journal: Annotated[Path | None, Option(about="The journal that has the reading.")] = None,
) -> int:
    """Write runs as one HTML file: tables, plots, samples, curves and readings; or one reading with its timeline."""
    from bookwheel.cli.history import show
    from bookwheel.cli.output import print_note
    from bookwheel.lab.desk.bundle import build_bundle
    from bookwheel.lab.desk.run_directory import RunDirectory

    if not what:
        raise InputError("name folders of runs, or a reading: bookwheel share runs/mine, bookwheel share last")
    if reading := find_reading_name(what):
        return show(reading, html=out or Path(f"{reading}.html"), output=OutputOptions(journal=journal))
    folders = [Path(word) for word in what]
    directories = [RunDirectory(folder) for folder in folders]
    runs = [(directory, run) for directory in directories for run in directory.list_runs()]
    title = ", ".join(folder.resolve().name for folder in folders)
    bundle = build_bundle(runs, most_readings=readings, title=title)
    path = out or Path(f"{folders[0].resolve().name}.html")
    try:
        path.write_text(bundle.html, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from error
    print_note(f"wrote {path}: {bundle.runs} runs, {bundle.readings} readings", style="dim")
    return 0
