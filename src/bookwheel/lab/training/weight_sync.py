"""Keeps the weights that rollouts are sampled from up to date with those that are trained.

in process            the same weights; gathered for as long as rollouts last where they are sharded
in process, stale     a snapshot, copied when the next batch begins
by a server           written to a folder and loaded by the server when the next batch begins
"""

from __future__ import annotations

import asyncio
import shutil
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from bookwheel.lab.training import ranks
from bookwheel.lab.training.loading import hide_progress_bars

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bookwheel.lab.training.config import TrainConfig
    from bookwheel.lab.training.policy import Policy
    from bookwheel.lab.training.servers import RolloutServer


class WeightSync:
    """Passes new weights on before they are sampled from."""

    def __init__(self, policy: Policy, server: RolloutServer | None, folder: Path, config: TrainConfig) -> None:
        self._policy = policy
        self._server = server
        # Absolute: the server runs in a folder of its own.
        self._folder = Path(config.server.weights or folder / "served").absolute()
        self._only_writes = config.way == "sequential"
        self._takes_snapshots = config.staleness > 0 and server is None
        self._is_changed = True
        self._version = 0

    def mark_changed(self) -> None:
        """Note that the policy was trained since the last refresh."""
        self._is_changed = True

    async def refresh(self) -> None:
        """Make the policy's weights those that are sampled from, if they changed."""
        if not self._is_changed:
            return
        self._is_changed = False
        if self._takes_snapshots:
            await asyncio.to_thread(self._policy.take_snapshot)
        if self._server is not None:
            await self._send(self._server)

    @contextmanager
    def sampling(self) -> Iterator[None]:
        """Hold the weights ready for sampling in this process, or for judgements where a server samples."""
        with nullcontext() if self._server is not None and self._only_writes else self._policy.gathered():
            yield

    async def aclose(self) -> None:
        """Close the connections to the server and remove the weights that were written for it."""
        if self._server is None:
            return
        await self._server.aclose()
        if ranks.rank() == 0:
            shutil.rmtree(self._folder, ignore_errors=True)

    async def _send(self, server: RolloutServer) -> None:
        self._version += 1
        place = self._folder / f"version-{self._version:06d}"
        if self._policy.is_sharded or ranks.rank() == 0:
            with hide_progress_bars():
                self._policy.save_whole(place)
        if ranks.rank() == 0:
            await server.load_weights(place, self._version)
            for old in self._folder.glob("version-*"):
                if old != place:
                    shutil.rmtree(old)
        # No rank may sample before the server has the new weights.
        ranks.wait()
