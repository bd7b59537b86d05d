"""Fuzz files of ours and of models: journals with their logs, heads of GGUF files."""

from __future__ import annotations

import random
import shutil
import struct
from typing import TYPE_CHECKING, Any

from fuzz_cases import Broken, Case, bend, check_message

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Journals:
    """Copies of a journal that was killed, whose database, log or notes are bent."""

    def __init__(self, folder: Path) -> None:
        from flipped_log import write_and_kill

        self._folder = folder
        self._whole = folder / "whole"
        self._whole.mkdir()
        write_and_kill(self._whole / "journal.sqlite")

    def make(self, draw: random.Random) -> Case:
        """Return which file is bent and how: by a seed, for each journal differs in its times and ids."""
        target = draw.choice(["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-wal"])
        return {"target": target, "seed": draw.getrandbits(32)}

    def run(self, case: Case) -> None:
        """Open one copy."""
        from flipped_log import open_copy

        copy = self._folder / "copy"
        shutil.copytree(self._whole, copy, ignore=shutil.ignore_patterns("*.locks"))
        try:
            target = copy / case["target"]
            target.write_bytes(bend(target.read_bytes(), random.Random(case["seed"])))
            fate, steps = open_copy(copy / "journal.sqlite")
            if fate == "silent":
                raise Broken(f"{target.name} bent: {steps} steps are there, and nobody says that some are missing")
        finally:
            shutil.rmtree(copy)

    def close(self) -> None:
        """Nothing stays open."""


class Heads:
    """Heads of GGUF files."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "a.gguf"

    def make(self, draw: random.Random) -> Case:
        """Return one head."""

        def text(value: str) -> bytes:
            return struct.pack("<Q", len(value)) + value.encode()

        fields = [text("general.architecture") + struct.pack("<I", 8) + text("llama")]
        for number in range(draw.randrange(6)):
            kind = draw.randrange(15)
            fields.append(text(f"f{number}") + struct.pack("<I", kind) + draw.randbytes(draw.choice((1, 4, 8, 12, 40))))
        counts = struct.pack("<IQQ", 3, draw.choice((0, 1, 2**63)), draw.choice((len(fields), len(fields), 2**64 - 1)))
        return {"content": bend(b"GGUF" + counts + b"".join(fields), draw)}

    def run(self, case: Case) -> None:
        """Read it, by all that read one."""
        from bookwheel.errors import BookwheelError
        from bookwheel.models.gguf import load_gguf, load_header_plan, read_header, read_lists

        self._path.write_bytes(case["content"])
        for read in (
            read_header,
            load_gguf,
            lambda path: read_lists(path, ("f0", "f1")),
            self._plan(load_header_plan, read_header),
        ):
            try:
                read(self._path)
            except BookwheelError as error:
                check_message(str(error))

    @staticmethod
    def _plan(load: Callable[..., object], read: Callable[[Path], Any]) -> Callable[[Path], object]:
        return lambda path: load(read(path), path)

    def close(self) -> None:
        """Nothing stays open."""
