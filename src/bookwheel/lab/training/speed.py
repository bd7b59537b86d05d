"""How fast a run goes and what it holds, for the clock's part of a record: nothing here changes a figure of training.

    tokens_per_second    prompt and reply tokens of the step's rollouts, or tokens imitated, over its seconds
    phases               seconds of the step by what they went to
    memory_gb            the most that this process has held: of its GPU's memory, or of the machine's
    peak_share           operations over seconds x ranks x the device's peak, on devices whose peak is known:
                         2N a token sampled, 2N a token scored before the updates or by the reference, 6N a token
                         trained on (4N where low-rank adapters alone are trained); N weights

Operations are counted as if every row were read whole. What prefixes share is read once, so with sharing the device
does less than the share says.
"""

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import torch

from bookwheel.lab.training import ranks
from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.policy import Policy

# Dense operations a second in 16 bits, from the makers' data sheets, by a part of the device's name.
_PEAKS: Final = {"B200": 2.25e15, "H200": 9.89e14, "H100": 9.89e14, "A100": 3.12e14, "L40S": 3.62e14, "4090": 1.65e14}
_GIGABYTE: Final = 2**30


class SpeedMeter:
    """Times the phases of a step, and sums it up."""

    def __init__(self, policy: Policy, config: TrainConfig) -> None:
        self._phases: dict[str, float] = {}
        # As they stand before any rank keeps its share of them alone.
        self._weights = sum(parameter.numel() for parameter in policy.model.parameters())
        before = (config.updates > 1) + (config.loss.kl > 0)
        self._passes = 2 + 2 * before + (4 if policy.has_adapters else 6)
        name = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
        self._peak = next((peak for part, peak in _PEAKS.items() if part in name), 0.0)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the seconds inside to a phase."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._phases[name] = self._phases.get(name, 0.0) + time.perf_counter() - began

    def sum_up(self, record: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Return the figures of a step that took so long, and begin the next."""
        phases, self._phases = {name: round(value, 3) for name, value in self._phases.items()}, {}
        figures: dict[str, Any] = {"phases": phases} if phases else {}
        if torch.cuda.is_available():
            figures["memory_gb"] = round(torch.cuda.max_memory_allocated() / _GIGABYTE, 2)
        elif sys.platform != "win32":
            import resource

            # Linux counts in kilobytes, macOS in bytes.
            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            figures["memory_gb"] = round(most * (1 if sys.platform == "darwin" else 1024) / _GIGABYTE, 2)
        rolled = record.get("prompt_tokens", 0) + record.get("reply_tokens", 0)
        tokens = rolled or record.get("tokens", 0)
        if tokens and seconds > 0:
            figures["tokens_per_second"] = round(tokens / seconds, 1)
        if rolled and self._peak and seconds > 0:
            operations = self._weights * rolled * self._passes
            figures["peak_share"] = round(operations / (seconds * ranks.size() * self._peak), 4)
        return figures
