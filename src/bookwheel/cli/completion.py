"""`bookwheel completion`: a script that teaches a shell our commands and options."""

from __future__ import annotations

from typing import Literal


def completion(shell: Literal["bash", "zsh", "fish"]) -> int:
    """Print a completion script for a shell, to be put where the shell looks for them.

    Parameters
    ----------
    shell
        `bash`, `zsh` or `fish`.

    """
    from bookwheel.cli import build_app
    from bookwheel.cli.commands import COMMANDS
    from bookwheel.cli.output import print_line

    print_line(build_app(tuple(COMMANDS)).generate_completion(shell=shell).rstrip("\n"))
    return 0
