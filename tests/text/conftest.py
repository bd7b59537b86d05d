"""Converted files for the tests beside this."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
