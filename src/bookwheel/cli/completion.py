"""`bookwheel completion`: a script that teaches a shell our commands and options."""

from __future__ import annotations

from typing import Final, Literal

# The generated script only defines a function, which zsh would load and never call.
_ZSH_CALL: Final = """
if [ "$funcstack[1]" = _bookwheel ]; then
  _cyclopts_bookwheel "$@"
else
  compdef _cyclopts_bookwheel bookwheel
fi"""


def completion(shell: Literal["bash", "zsh", "fish"]) -> int:
    """Print a completion script for a shell, to be put where the shell looks for them.

    Parameters
    ----------
    shell
        `bash`, `zsh` or `fish`.

    """
    from bookwheel.cli import build_app
    from bookwheel.cli.commands import list_commands
    from bookwheel.cli.output import print_line

    script = build_app(list_commands()).generate_completion(shell=shell).rstrip("\n")
    print_line(script + (_ZSH_CALL if shell == "zsh" else ""))
    return 0
