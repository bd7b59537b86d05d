"""The files that come with the package.

A path, as `importlib.resources` takes as long to import as Python takes to start.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parent
