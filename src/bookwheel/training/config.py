"""The settings of a training run: one frozen dataclass a table, read from a preset or a TOML file.

    [train]              how many samples, rollouts and steps, how fast, on which seed
    [train.policy]       which model, whole or with adapters
    [train.fresh]        the shape of a model from nothing, where policy.path is empty
    [train.loss]         the bounds and weights of the loss
    [train.reward]       the weights of optional parts of the reward
    [train.warm_start]   supervised steps on ideal traces before the first rollout
    [train.evaluation]   what is measured on held-out samples, and when

An unknown key is an error that names the nearest one.
"""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from bookwheel.plan import Plan, Sampling, list_presets, load_preset
from bookwheel.training.advantages import Estimator
from bookwheel.training.errors import ConfigError
from bookwheel.training.loss import LossSettings

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySettings:
    """The model that is trained."""

    path: str = ""
    """A folder, .gguf file or name that transformers loads, or `local`; empty makes a model of `[train.fresh]`."""
    lora_rank: int = 0
    """0 trains every weight."""
    lora_alpha: int = 0
    """0 is twice the rank."""
    device: str = ""
    """Empty takes a GPU where there is one."""
    gradient_checkpointing: bool = False
    head_tokens: int = 1024
    """Trained tokens whose logits are held at once."""
    row_tokens: int = 16384
    """Padded tokens of one micro-batch; the setting to lower when memory runs out in a step."""
    rollout_tokens: int = 65536
    """Padded tokens of one batch that is sampled; the setting to lower when memory runs out in a rollout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshSettings:
    """The shape of a model from nothing."""

    hidden: int = 128
    layers: int = 3
    heads: int = 4
    window: int = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardSettings:
    """Weights of the reward's parts; the answer's own weight is 1."""

    boxed: float = 0.0
    r"""For a final answer inside \boxed{}."""
    overlong: float = 0.0
    """Taken off for replies that come near their token limit."""
    overlong_share: float = 0.2
    """The last share of the limit in which `overlong` grows from nothing to the whole."""
    captured: float = 0.0
    """For golds that are in the memory right after the chunk they stand in."""
    kept: float = 0.0
    """For golds that are in the last memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmStart:
    """Supervised steps on ideal traces."""

    steps: int = 0
    """At most so many."""
    until: float = 0.0
    """The held-out accuracy at which it ends early; 0 takes all steps."""
    every: int = 100
    """Steps between two looks at `until`."""
    tokens: int = 0
    """Of its samples, where they are made and not given: shorter ones hold more to note; 0 is the task's length."""
    samples: int = 8
    """Whose conversations make one step."""
    learning_rate: float = 1e-3
    warmup_steps: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSettings:
    """What is measured on held-out samples."""

    every: int = 20
    """Steps between two evaluations; 0 evaluates only at the ends."""
    samples: int = 64
    temperature: float = 0.7
    top_p: float = 0.95

    @property
    def sampling(self) -> Sampling:
        """How replies are drawn then, and when the finished policy reads."""
        return Sampling(temperature=self.temperature, top_p=self.top_p)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSettings:
    """What is read in training, where samples are made and not given."""

    name: str = ""
    tokens: int = 0
    count: int = 0
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of the task, by its own names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """One run. The defaults are the paper's, for a 7B model."""

    steps: int = 400
    samples: int = 128
    """Groups in one step."""
    group_size: int = 16
    """Rollouts of one sample."""
    updates: int = 1
    """Optimizer steps that a batch is cut into, by samples."""
    refills: int = 0
    """Rounds in which groups without spread are dropped and others rolled out instead; 0 keeps them as they are."""
    patience: int = 20
    """Steps in a row without any spread after which the run stops and says so."""
    estimator: Estimator = Estimator.MEAN
    learning_rate: float = 1e-6
    warmup_steps: int = 20
    decay: float = 0.0
    """The share of the learning rate that is gone by the last step, linearly; 0 keeps it constant."""
    weight_decay: float = 0.01
    clip_norm: float = 1.0
    seed: int = 0
    checkpoint_every: int = 20
    keep: int = 2
    """How many checkpoints stay beside the best one."""
    keep_rollouts: int = 10
    """The rollouts of every so many steps are kept as readings; 0 keeps none."""
    workflow: str = "reading"
    """reading, calculator or single."""
    policy: PolicySettings = field(default_factory=PolicySettings)
    fresh: FreshSettings = field(default_factory=FreshSettings)
    loss: LossSettings = field(default_factory=LossSettings)
    reward: RewardSettings = field(default_factory=RewardSettings)
    warm_start: WarmStart = field(default_factory=WarmStart)
    evaluation: EvaluationSettings = field(default_factory=EvaluationSettings)
    task: TaskSettings = field(default_factory=TaskSettings)
    plan: Plan = field(default_factory=Plan)
    """From the table `[plan]`, beside `[train]`."""

    def __post_init__(self) -> None:
        least = {"steps": 0, "samples": 1, "group_size": 2, "updates": 1, "patience": 1, "keep": 1}
        for name, bound in least.items():
            if getattr(self, name) < bound:
                why = ": one rollout cannot be compared with itself" if name == "group_size" else ""
                raise ConfigError(f"train.{name} must be at least {bound}, not {getattr(self, name)}{why}")
        if self.updates > self.samples:
            raise ConfigError(f"train.updates is {self.updates}, more than the {self.samples} samples of a step")
        if not 0 <= self.decay <= 1:
            raise ConfigError(f"train.decay is a share of the learning rate, from 0 to 1, not {self.decay}")
        if self.learning_rate <= 0:
            raise ConfigError(f"train.learning_rate must be above 0, not {self.learning_rate}")

    def to_json(self) -> dict[str, Any]:
        """Plain values, nested; `[plan]` apart from `[train]`."""
        tables = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "plan"}
        plain = {name: asdict(value) if is_dataclass(value) else value for name, value in tables.items()}  # type: ignore[arg-type]
        return {"train": plain | {"estimator": str(self.estimator)}, "plan": self.plan.to_json()}

    @classmethod
    def from_tables(cls, tables: Mapping[str, Any]) -> Self:
        """The settings of `[train]` and `[plan]`."""
        config = cls(plan=Plan.from_json(tables.get("plan", {})))
        return _with(config, tables.get("train", {}), "train")

    @classmethod
    def load(cls, name: str) -> Self:
        """A preset by name, or a TOML file by path."""
        path = Path(name)
        if path.suffix != ".toml":
            if name not in list_presets():
                raise ConfigError(f"no preset {name!r}; there are: {', '.join(list_presets())} (or give a .toml file)")
            return cls.from_tables(load_preset(name))
        try:
            return cls.from_tables(tomllib.loads(path.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ConfigError(f"{name} cannot be read as settings: {error}") from error


_KINDS: Final[dict[type, tuple[type, ...]]] = {float: (int, float), int: (int,), str: (str,), bool: (bool,)}


_Table = TypeVar("_Table")


def _with(target: _Table, values: Mapping[str, Any], where: str) -> _Table:
    """The dataclass with some values replaced, tables within tables."""
    changes: dict[str, Any] = {}
    names = [f.name for f in fields(target) if f.name != "plan"]  # type: ignore[arg-type]
    for key, value in values.items():
        if key not in names:
            raise ConfigError(f"unknown setting {key!r} in [{where}]; {_hint(key, names)}")
        old = getattr(target, key)
        if is_dataclass(old):
            if not isinstance(value, dict):
                raise ConfigError(f"{where}.{key} is a table: write [{where}.{key}]")
            changes[key] = _with(old, value, f"{where}.{key}")
        else:
            changes[key] = _as(old, value, f"{where}.{key}")
    return replace(target, **changes)  # type: ignore[type-var]


def _as(old: Any, value: Any, where: str) -> Any:
    """The value, when it is of the setting's kind."""
    if isinstance(old, Estimator):
        try:
            return Estimator(value)
        except ValueError:
            raise ConfigError(f"{where} is {value!r}; it is one of: {', '.join(Estimator)}") from None
    wanted = _KINDS.get(type(old), (type(old),))
    if not isinstance(value, wanted) or (isinstance(value, bool) and not isinstance(old, bool)):
        raise ConfigError(f"{where} is {value!r}; it takes a {type(old).__name__}")
    kind: Any = type(old)
    return kind(value)


def _hint(key: str, names: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key, names, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names)}"
