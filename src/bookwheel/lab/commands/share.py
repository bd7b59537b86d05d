"""`bookwheel share`: evaluations and training runs as one HTML file that opens without a server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from bookwheel.cli.options import Count, FilePath
from bookwheel.errors import InputError


def share(
    *folders: Annotated[FilePath, Parameter(help="Folders of evaluations and training runs, or folders above them.")],
    out: Annotated[
        FilePath | None, Parameter(help="The file to write; else the first folder's name and .html.")
    ] = None,
    readings: Annotated[Count, Parameter(help="Readings of each run to put in, the wrong and the newest first.")] = 100,
) -> int:
    """Write runs as one HTML file: tables, plots, samples, curves and readings, for a browser and without a server."""
    from bookwheel.cli.output import stderr
    from bookwheel.lab.desk.bundle import build_bundle
    from bookwheel.lab.desk.run_directory import RunDirectory

    if not folders:
        raise InputError("name one or more folders of runs: bookwheel share runs/mine")
    directories = [RunDirectory(folder) for folder in folders]
    runs = [(directory, run) for directory in directories for run in directory.list_runs()]
    title = ", ".join(folder.resolve().name for folder in folders)
    bundle = build_bundle(runs, most_readings=readings, title=title)
    path = out or Path(f"{folders[0].resolve().name}.html")
    try:
        path.write_text(bundle.html, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from error
    stderr().print(f"wrote {path}: {bundle.runs} runs, {bundle.readings} readings", style="dim", markup=False)
    return 0
