"""The example of a training step runs where PyTorch is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")


def test_the_training_example_pushes_the_right_way() -> None:
    script = Path(__file__).parents[2] / "examples" / "train_rows.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=True)
    assert "becomes likelier: True" in done.stdout
    assert "less likely: True" in done.stdout
