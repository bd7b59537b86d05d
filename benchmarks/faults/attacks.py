"""Attacks on the budgets and the privacy of a server, each on one that defends itself and on one that does not.

    python benchmarks/faults/attacks.py [NAME...]

Servers are processes of their own, in front of an endpoint that counts what it has really worked on
(attack_targets.py). An attack returns what it has gained: tokens or KiB beyond a limit, or things of somebody else's
that it has seen or changed. It must gain nothing where the defence is on, and something where it is off: otherwise it
proves nothing.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attack_steps import DISK_MIB, LIMIT, SECRET, TOKEN
from attack_targets import PaidEndpoint, Target, serving
from attacks_on_budgets import (
    abort_streams,
    call_greedily,
    call_in_parallel,
    fill_the_disk,
    fork_resume_and_return,
    read_in_parallel,
)
from attacks_on_doors import (
    come_without_token,
    fetch_from_inside,
    lead_paths_outside,
    smuggle_headers,
    write_outside,
)
from attacks_on_tenancy import guess_names, use_others_over_mcp, use_others_readings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True)
class Attack:
    """One attack, and the servers that it goes against."""

    run: Callable[[Target], int]
    unit: str
    defended: dict[str, Any]
    opened: dict[str, Any] | None
    """None where the defence cannot be turned off."""


ONE, TWO = {"keys": ("eve",)}, {"keys": ("ada", "eve")}
QUOTA = {**ONE, "tokens_per_day": LIMIT}
CAPPED = {**ONE, "options": ("--max-tokens-total", str(LIMIT))}
SHARED = {**TWO, "options": ("--shared",)}
ATTACKS = {
    "aborted streams": Attack(abort_streams, "tokens", QUOTA, ONE),
    "parallel calls": Attack(call_in_parallel, "tokens", QUOTA, ONE),
    "one greedy call": Attack(call_greedily, "tokens", CAPPED, ONE),
    "parallel readings": Attack(read_in_parallel, "tokens", QUOTA, ONE),
    "fork, resume, come back": Attack(fork_resume_and_return, "tokens", CAPPED, ONE),
    "another key's readings": Attack(use_others_readings, "seen", TWO, SHARED),
    "another key's readings over MCP": Attack(use_others_over_mcp, "seen", TWO, SHARED),
    "guessed names": Attack(guess_names, "seen", TWO, SHARED),
    "a full disk": Attack(fill_the_disk, "KiB", {**ONE, "options": ("--journal-limit", str(DISK_MIB))}, ONE),
    "no token": Attack(come_without_token, "doors", {"options": ("--token",), "BOOKWHEEL_TOKEN": TOKEN}, {}),
    "smuggled headers": Attack(smuggle_headers, "doors", {}, {"options": ("--allow-host", "evil.example")}),
    "paths outside": Attack(
        lead_paths_outside,
        "seen",
        {"command": "mcp", "options": ("--http", "--root", "ROOT")},
        {"command": "mcp", "options": ("--http", "--root", "ROOT/..")},
    ),
    "addresses inside": Attack(fetch_from_inside, "seen", ONE, {**ONE, "options": ("--allow-private",)}),
    "uploads outside": Attack(write_outside, "files", ONE, None),
}


def measure(attack: Attack, settings: dict[str, Any], folder: Path) -> int:
    """Return what the attack gains against a server of these settings."""
    with ExitStack() as stack:
        endpoint = PaidEndpoint(SECRET)
        stack.callback(endpoint.close)
        options = tuple(word.replace("ROOT", str(folder / "root")) for word in settings.get("options", ()))
        named = {name: value for name, value in settings.items() if name != "options"}
        return attack.run(stack.enter_context(serving(folder / "server", endpoint, *options, **named)))


def make_root(folder: Path) -> None:
    """Make a root with links that lead out of it, and a secret beside it."""
    root = folder / "root"
    (root / "sub").mkdir(parents=True)
    (root / "open.txt").write_text("Nothing of note.")
    (root / ".hidden").write_text(SECRET)
    (folder / "secret.txt").write_text(SECRET)
    (root / "link.txt").symlink_to(folder / "secret.txt")
    (root / "folder-link").symlink_to(folder)


def run_all(names: list[str]) -> Iterator[bool]:
    """Print a line for each attack; yield True for each that gained something or bites nowhere."""
    print("| attack | gained | with the defence off | seconds |\n|---|---|---|---|")
    for name, attack in ATTACKS.items():
        if names and name not in names:
            continue
        began, gains = time.perf_counter(), []
        for settings in (attack.defended, attack.opened):
            folder = Path(tempfile.mkdtemp(prefix="attack-"))
            make_root(folder)
            gains.append(None if settings is None else measure(attack, settings, folder))
            shutil.rmtree(folder)
        opened = "not possible" if gains[1] is None else f"{gains[1]:,} {attack.unit}"
        print(f"| {name} | {gains[0]:,} {attack.unit} | {opened} | {time.perf_counter() - began:.0f} |", flush=True)
        yield bool(gains[0]) or gains[1] == 0


if __name__ == "__main__":
    sys.exit(any(list(run_all(sys.argv[1:]))))
