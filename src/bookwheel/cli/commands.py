"""The commands of `bookwheel --help`: ours, and those that packages add by the entry point group `bookwheel.commands`.

[project.entry-points."bookwheel.commands"]
eval = "bookwheel.lab.commands:EVAL"
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from bookwheel.cli import UsageError, suggest

# Not from typing, whose import takes longer than `bookwheel --help`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GROUP = "bookwheel.commands"


# No dataclass: importing those would double the time of `bookwheel --help`.
class Command:
    """One command of `bookwheel --help`."""

    def __init__(self, target: str, arguments: str | None, about: str, *examples: str) -> None:
        self.target = target
        """Module and function, such as `bookwheel.cli.ask:ask`."""
        self.arguments = arguments
        """For the usage line; None where the target is an App, which has its own."""
        self.about = about
        self.examples = examples


COMMANDS = {
    "ask": Command(
        "bookwheel.cli.ask:ask",
        '[SOURCE...] "QUESTION"',
        "Read documents and answer a question.",
        'bookwheel ask contract.pdf "When does the lease end?"',
        'bookwheel ask src/ notes.md "Where is the retry limit set?" --model qwen2.5:7b '
        "--base-url http://localhost:11434/v1",
        'bookwheel ask last "And who signed it?"',
        'cat minutes.txt | bookwheel ask "What was decided?" --json',
        "bookwheel ask contract.pdf --template parties --schema parties.json",
    ),
    "collect": Command(
        "bookwheel.cli.collect:collect",
        '[SOURCE...] "EVERY …: COLUMNS"',
        "Collect every row of a kind into a table.",
        'bookwheel collect lease.pdf "every obligation: who, what, until when, amount" --out rows.csv',
        'bookwheel collect last --sql "select who, count(*) from rows group by who"',
    ),
    "graph": Command(
        "bookwheel.cli.collect:graph",
        "[SOURCE...]",
        "Make a graph of what documents say: who is related to whom, with quotes.",
        "bookwheel graph minutes/ --out people.graphml",
        "bookwheel graph last --out people.csv",
    ),
    "report": Command(
        "bookwheel.cli.report:report",
        'SOURCE... "BRIEF"',
        "Write a report whose every sentence has a source.",
        'bookwheel report leases/*.pdf "what the leases ask of the tenants" --out report.docx',
        'bookwheel report new.pdf "what the leases ask of the tenants" --out report.docx --update',
        'bookwheel report papers/*.pdf "Sleep and memory" --matrix questions.txt --out table.html',
    ),
    "compare": Command(
        "bookwheel.cli.compare:compare",
        'OLD NEW ["QUESTION"]',
        "Show what changed between two versions of a document, or ask about it.",
        "bookwheel compare lease-2025.pdf lease-2026.pdf",
        'bookwheel compare lease-2025.pdf lease-2026.pdf "What changed for the tenant?"',
    ),
    "batch": Command(
        "bookwheel.cli.batch:batch",
        "TABLE|FOLDER",
        "Answer many questions about many documents, into a table.",
        "bookwheel batch contracts.csv --max-cost 5",
        "bookwheel batch contracts/ --questions fields.txt --out answers.jsonl",
        "bookwheel batch contracts.parquet --estimate",
        "bookwheel batch contracts.csv --ray auto",
    ),
    "list": Command(
        "bookwheel.cli.history:list_readings",
        "",
        "List the readings in the journal, newest first.",
        "bookwheel list --limit 10",
        'bookwheel list --search "lease" --json',
    ),
    "search": Command(
        "bookwheel.cli.history:search",
        "WORDS...",
        "Find passages of kept documents, and readings.",
        "bookwheel search harbour master",
        "bookwheel search lease --limit 3 --json",
    ),
    "show": Command(
        "bookwheel.cli.history:show",
        "READING",
        "Show how the memory changed at each step of a reading.",
        "bookwheel show last --changes",
        "bookwheel show last --follow",
        "bookwheel show 3fa9 --markdown lease.md",
        "bookwheel show last --worth",
        "bookwheel show last --judge",
    ),
    "resume": Command(
        "bookwheel.cli.resume:resume",
        "READING",
        "Continue a reading that did not finish.",
        "bookwheel resume last",
        "bookwheel resume 3fa9 --max-cost 2",
    ),
    "edit": Command(
        "bookwheel.cli.resume:edit",
        "READING --step K",
        "Change the memory after a step and read on from there.",
        'bookwheel edit last --step 5 --memory "The lady doctor was Miss Frayne."',
        "bookwheel edit 3fa9 --step 5",
    ),
    "memory": Command(
        "bookwheel.cli.memory:app",
        None,
        "A memory that goes on: append, ask, look back, correct, forget.",
        'bookwheel memory new ada --about "Everything about the customer Ada"',
        "bookwheel memory add ada mails/ --source mail-17",
        'bookwheel memory ask ada "Where does she live now?"',
        "bookwheel memory forget ada --source mail-17",
    ),
    "serve": Command(
        "bookwheel.cli.serve:serve",
        "",
        "Serve an OpenAI-compatible API, an HTTP API and a web page.",
        "bookwheel serve --port 8470",
        "bookwheel serve --new-key anna --key-file keys.toml",
        "bookwheel serve --host 0.0.0.0 --key-file keys.toml --base-url http://localhost:8000/v1",
    ),
    "mcp": Command(
        "bookwheel.cli.serve:mcp",
        "",
        "Serve readings as tools over the Model Context Protocol.",
        "bookwheel mcp --root ~/papers",
        "bookwheel mcp --http --port 8765",
    ),
    "forget": Command(
        "bookwheel.cli.history:forget",
        "[READING...]",
        "Delete readings and their documents.",
        "bookwheel forget 3fa9",
        "bookwheel forget --older-than 30",
    ),
    "models": Command(
        "bookwheel.cli.models:models",
        "",
        "List the models and plans available here.",
        "bookwheel models --base-url http://localhost:8000/v1",
        "bookwheel models --fetch",
    ),
    "doctor": Command(
        "bookwheel.cli.doctor:doctor",
        "",
        "Check this installation and say how to fix what is wrong.",
        "bookwheel doctor",
        "bookwheel doctor --base-url http://localhost:8000/v1 --json",
        "bookwheel doctor --repair",
    ),
    "config": Command(
        "bookwheel.cli.doctor:config",
        "",
        "Show the settings files, endpoints and templates in force.",
        "bookwheel config",
        "bookwheel config --json",
    ),
    "completion": Command(
        "bookwheel.cli.completion:completion",
        "SHELL",
        "Print a completion script for bash, zsh or fish.",
        "bookwheel completion bash > ~/.local/share/bash-completion/completions/bookwheel",
        "bookwheel completion fish > ~/.config/fish/completions/bookwheel.fish",
    ),
}


def find_command(name: str) -> Command | None:
    """Return the command of that name, ours or another package's; None where there is none."""
    return COMMANDS.get(name) or _load(name)


@cache
def list_commands() -> dict[str, Command]:
    """Return all commands by name, ours first."""
    from importlib.metadata import entry_points

    found = {name: command for name in sorted(entry_points(group=GROUP).names) if (command := find_command(name))}
    return COMMANDS | {name: command for name, command in found.items() if name not in COMMANDS}


def _load(name: str) -> Command | None:
    from bookwheel.plugins import load_plugin

    found: Command | None = load_plugin(GROUP, name)
    return found


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
        from inspect import getdoc

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
