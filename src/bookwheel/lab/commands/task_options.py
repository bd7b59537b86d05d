"""Options of tasks on the command line: `--option hops=8`, or `--option vt.hops=8` where there are several tasks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bookwheel.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def parse_task_options(texts: Sequence[str]) -> dict[str, Any]:
    """Return the options by name; numbers, true and false become what they are, all else stays text."""
    options: dict[str, Any] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise InputError(f"--option takes NAME=VALUE, such as hops=8, not {text!r}")
        options[name.strip()] = _parse_value(value.strip())
    return options


def _parse_value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def assign_task_options(
    texts: Sequence[str], tasks: Sequence[str], base: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, dict[str, Any]]:
    """Return the options by task, on top of `base`. One without a task goes to all tasks that have it."""
    from bookwheel.lab.tasks import load_task

    assigned = {task: dict(options) for task, options in (base or {}).items()}
    for name, value in parse_task_options(texts).items():
        task, _, option = name.rpartition(".")
        takers = [task] if task else [one for one in tasks if option in load_task(one).option_names]
        if not takers:
            offers = "; ".join(f"{one}: {', '.join(load_task(one).option_names) or 'none'}" for one in tasks)
            raise InputError(f"no task that is measured has the option {option!r}. Options are: {offers}")
        for taker in takers:
            assigned.setdefault(taker, {})[option] = value
    return assigned
