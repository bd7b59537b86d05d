"""The command itself: its start, its help."""

from __future__ import annotations

import subprocess
import sys


def test_the_command_starts_fast_and_light() -> None:
    code = (
        "import sys, time; began = time.perf_counter(); import bookwheel; took = time.perf_counter() - began; "
        "heavy = {'openai', 'rich', 'tokenizers', 'xllamacpp', 'torch', 'numpy', 'cyclopts'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
