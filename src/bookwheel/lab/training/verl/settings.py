"""The settings of the table `[verl]`: machines and engines. What is trained stands in `[train]` and `[plan]`."""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from annotated_types import Ge, Gt, Le

from bookwheel.lab.training.errors import ConfigError
from bookwheel.plan import load_preset
from bookwheel.schema import check_bounds, parse

if TYPE_CHECKING:
    from collections.abc import Mapping

AtLeastOne = Annotated[int, Ge(1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """The machines, the engine that trains and the engine that samples."""

    nodes: AtLeastOne = 1
    gpus: AtLeastOne = 8
    """GPUs of each node; all train and all sample, in turn."""
    strategy: Literal["fsdp2", "megatron"] = "fsdp2"
    offload: bool = False
    """Keep weights and optimizer in the machines' memory while the GPUs sample."""
    rollouts: Literal["vllm", "sglang"] = "vllm"
    rollout_gpus: AtLeastOne = 1
    """GPUs that share one copy of the sampling model."""
    rollout_memory: Annotated[float, Gt(0), Le(1)] = 0.6
    """The share of a GPU's memory that the sampling engine may take."""
    readers: AtLeastOne = 8
    """Processes that read documents and judge answers."""
    overrides: tuple[str, ...] = ()
    """Settings of verl's own, `KEY=VALUE`; they come last."""

    def __post_init__(self) -> None:
        check_bounds(self, error=ConfigError, table="verl")
        malformed = [line for line in self.overrides if "=" not in line]
        if malformed:
            raise ConfigError(f"verl.overrides must be of the form KEY=VALUE, not {malformed[0]!r}")
        if (self.nodes * self.gpus) % self.rollout_gpus:
            raise ConfigError(
                f"verl.rollout_gpus must divide the number of GPUs ({self.nodes * self.gpus}), not {self.rollout_gpus}"
            )

    @property
    def ranks(self) -> int:
        """The number of GPUs."""
        return self.nodes * self.gpus

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self) | {"overrides": list(self.overrides)}

    @classmethod
    def from_tables(cls, tables: Mapping[str, Any], where: str = "") -> ClusterSettings:
        """Return the settings of `[verl]`; without that table, one node of 8 GPUs."""
        return parse(cls, tables.get("verl", {}), where=where, table="verl", error=ConfigError)

    @classmethod
    def load(cls, name: str) -> ClusterSettings:
        """Return the settings in a preset or a TOML file that `TrainConfig.load` has read without error."""
        path = Path(name)
        tables = tomllib.loads(path.read_text(encoding="utf-8")) if path.suffix == ".toml" else load_preset(name)
        return cls.from_tables(tables, name)
