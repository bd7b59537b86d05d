"""`bookwheel config`: the settings files and what they set."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from bookwheel.configuration import find_files, load_configuration, user_file

if TYPE_CHECKING:
    from pathlib import Path

    from bookwheel.configuration import Configuration


def config(*, as_json: Annotated[bool, Parameter(name="--json", negative="")] = False) -> int:
    """Show the settings files in force, and what they set: endpoints, the default model and plan, templates.

    The user's file is ~/.config/bookwheel/config.toml (or $BOOKWHEEL_CONFIG), the project's is bookwheel.toml. The
    project's settings go on top of the user's, environment variables and options on top of both.

    Parameters
    ----------
    as_json
        Print one JSON object.

    """
    from bookwheel.cli.output import print_line

    files, settings = find_files(), load_configuration()
    if as_json:
        print_line(json.dumps({"files": [str(file) for file in files], **asdict(settings)}))
        return 0
    for line in _format_lines(files, settings):
        print_line(line)
    return 0


def _format_lines(files: list[Path], settings: Configuration) -> list[str]:
    """Return the settings as lines of text."""
    from bookwheel.text.sanitize import sanitize

    where = [f"settings  {file}" for file in files] or [f"settings  none: write ./bookwheel.toml or {user_file()}"]
    defaults = [f"{name:9} {value}" for name in ("model", "way", "preset") if (value := getattr(settings, name))]
    plan = [f"plan      {name} = {json.dumps(value)}" for name, value in settings.plan.items()]
    endpoints = []
    for name, endpoint in settings.endpoints.items():
        variable = endpoint.key_variable or "OPENAI_API_KEY"
        key = f"key in {variable}" + ("" if os.environ.get(variable) else " (not set)")
        endpoints.append(f"endpoint  {name}: {endpoint.model or 'its only model'} at {endpoint.url}, {key}")
    templates = [f"template  {name}: {text}" for name, text in settings.templates.items()]
    return [sanitize(line) for line in (*where, *defaults, *plan, *endpoints, *templates)]
