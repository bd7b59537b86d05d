import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # the processes that tests start import cpu_bed too
