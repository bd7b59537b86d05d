"""Commands that have commands of their own. Each is named by its module, which is imported when it runs."""

from __future__ import annotations

from importlib import import_module
from inspect import getdoc
from typing import Any

from bookwheel.cli import UsageError, suggest


class CommandGroup:
    """A command that has commands of its own, such as `bookwheel memory`."""

    def __init__(self, about: str) -> None:
        self.about = about
        self.commands: dict[str, tuple[Any, str]] = {}
        """By name: the function, or module and function as a text, and what it does."""

    def command(self, target: Any, name: str = "", about: str = "") -> Any:
        """Add a command; also a decorator. One that is named by module and function is imported when it runs."""
        self.commands[name or target.__name__.replace("_", "-")] = (target, about)
        return target

    def describe_commands(self) -> dict[str, str]:
        """Return what each command does, in the order of the alphabet."""
        return {
            name: about or (getdoc(load_target(target)) or "").partition("\n\n")[0].replace("\n", " ")
            for name, (target, about) in sorted(self.commands.items())
        }

    def find(self, name: str) -> Any:
        if name not in self.commands:
            raise UsageError(f"no command {name!r}{suggest(name, self.commands)}")
        return load_target(self.commands[name][0])


def load_target(target: Any) -> Any:
    """Return the function or group that `module:name` names; anything else is one already."""
    if not isinstance(target, str):
        return target
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)
