"""`bookwheel completion`: scripts by which a shell completes commands, options and their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from bookwheel.cli.arguments import list_arguments
from bookwheel.cli.commands import Command, CommandGroup, list_commands, load_target
from bookwheel.cli.help import describe, parse_doc
from bookwheel.cli.output import print_line

# The cases of both shells fill the array `names`.
_BASH: Final = """\
_bookwheel() {
  local current=${COMP_WORDS[COMP_CWORD]} names=()
  case "${COMP_WORDS[COMP_CWORD-1]}" in
VALUES
  esac
  if (( COMP_CWORD == 1 )); then
    names=(COMMANDS)
  elif (( ! ${#names[@]} )); then
    case "${COMP_WORDS[1]} ${COMP_WORDS[2]} " in
CASES
    esac
    # Beside options stand files.
    [[ $current == -* || ${names[0]} != -* ]] || names=()
  fi
  COMPREPLY=($(compgen -W "${names[*]}" -- "$current"))
}
complete -o default -F _bookwheel bookwheel"""
# zsh loads a file as the body of the function, or it is sourced.
_ZSH: Final = """\
#compdef bookwheel
_bookwheel() {
  local -a names
  case "${words[CURRENT-1]}" in
VALUES
  esac
  if (( CURRENT == 2 )); then
    names=(COMMANDS)
  elif (( ! $#names )); then
    case "${words[2]} ${words[3]} " in
CASES
    esac
    [[ ${words[CURRENT]} == -* || $names[1] != -* ]] || names=()
  fi
  _describe -o bookwheel names || _files
}
if [ "$funcstack[1]" = _bookwheel ]; then
  _bookwheel "$@"
else
  compdef _bookwheel bookwheel
fi"""


@dataclass(frozen=True, slots=True)
class ShellWords:
    """What can follow a command: its options, or its own commands."""

    command: tuple[str, ...]
    names: dict[str, str]
    """With the sentence about each."""
    choices: dict[str, tuple[str, ...]]
    """The values of options that have few."""


def completion(shell: Literal["bash", "zsh", "fish"]) -> int:
    """Print a completion script for a shell, to be put where the shell looks for them.

    Parameters
    ----------
    shell
        `bash`, `zsh` or `fish`.

    """
    found = [one for name, command in list_commands().items() for one in _list_completions(name, command)]
    print_line(_write_fish(found) if shell == "fish" else _write_cases(found, shell))
    return 0


def _list_completions(name: str, command: Command) -> Iterator[ShellWords]:
    target = load_target(command.target)
    if not isinstance(target, CommandGroup):
        yield _list_options((name,), target)
        return
    for inner in target.commands:
        yield _list_options((name, inner), target.find(inner))
    yield ShellWords((name,), target.describe_commands(), {})


def _list_options(command: tuple[str, ...], function: Callable[..., Any]) -> ShellWords:
    _, described = parse_doc(function)
    names, choices = dict[str, str](), dict[str, tuple[str, ...]]()
    for one in list_arguments(function):
        values, about = (*filter(None, one.choices),), describe(one, described).replace("`", "")
        if one.is_word:
            # What a word can be stands beside nothing else.
            names |= dict.fromkeys(values, about)
            continue
        spellings = (one.name, one.option.short, f"--no-{one.name[2:]}" if one.has_no else "")
        names |= dict.fromkeys(filter(None, spellings), about)
        choices |= dict.fromkeys(filter(None, spellings[:2]), values) if values else {}
    return ShellWords(command, names, choices)


def _write_cases(found: Sequence[ShellWords], shell: str) -> str:
    """Return the script of bash or zsh, whose cases are alike."""
    template, write = (_BASH, " ".join) if shell == "bash" else (_ZSH, _quote_described)
    choices = {name: values for one in found for name, values in one.choices.items()}
    values = [f"    {name}) names=({write(dict.fromkeys(values, ''))});;" for name, values in choices.items()]
    cases = [f'      "{" ".join(one.command)} "*) names=({write(one.names)});;' for one in found]
    commands = {name: command.about for name, command in list_commands().items()}
    script = template.replace("VALUES", "\n".join(values)).replace("CASES", "\n".join(cases))
    return script.replace("COMMANDS", write(commands))


def _quote_described(names: Mapping[str, str]) -> str:
    return " ".join(_quote(f"{name}:{about}" if about else name) for name, about in names.items())


def _write_fish(found: Sequence[ShellWords]) -> str:
    lines = ["complete -c bookwheel -n __fish_use_subcommand -f"]
    lines += [
        f"complete -c bookwheel -n __fish_use_subcommand -a {name} -d {_quote(command.about)}"
        for name, command in list_commands().items()
    ]
    for one in found:
        seen = _quote("; and ".join(f"__fish_seen_subcommand_from {word}" for word in one.command))
        for name, about in one.names.items():
            is_long, is_short = name.startswith("--"), name.startswith("-")
            what = f"-l {name[2:]}" if is_long else f"-s {name[1:]}" if is_short else f"-f -a {name}"
            values = f" -x -a {_quote(' '.join(one.choices[name]))}" if name in one.choices else ""
            lines.append(f"complete -c bookwheel -n {seen} {what}{values} -d {_quote(about)}")
    return "\n".join(lines)


def _quote(text: str) -> str:
    return "'" + text.replace("'", "’") + "'"
