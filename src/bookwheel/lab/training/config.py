"""The settings of a training run: one frozen dataclass a table, read from a preset or a TOML file.

    [train]              how many samples, rollouts and steps, the learning rate, the seed
    [train.policy]       which model, all weights or adapters, in which numbers, on how many GPUs
    [train.fresh]        the shape of a new model, used where policy.path is empty
    [train.loss]         the bounds and weights of the loss
    [train.reward]       the weights of optional parts of the reward
    [train.warm_start]   supervised steps on ideal traces before the first rollout
    [train.evaluation]   when the policy is measured on held-out samples, and on how many
    [train.task]         the samples: a task, or a file
    [train.server]       a vLLM or SGLang server that samples the rollouts
    [train.teacher]      a model whose log-probabilities of the rollouts are learnt (on-policy distillation)
    [plan]               the reading's token budgets
    [verl]               the machines and engines of `--engine verl`, which reads it itself

The annotations state every bound. Nothing here imports torch, so a wrong setting is reported at once.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from annotated_types import Ge, Gt, Le, Lt

from bookwheel.lab.training.advantages import Estimator
from bookwheel.lab.training.errors import ConfigError
from bookwheel.plan import Plan, Sampling, Seed, Temperature, TopP, list_presets, load_preset
from bookwheel.schema import check_bounds, parse

NotNegative = Annotated[int, Ge(0)]
AtLeastOne = Annotated[int, Ge(1)]
Share = Annotated[float, Ge(0), Le(1)]
Weight = Annotated[float, Ge(0), Lt(inf)]
LearningRate = Annotated[float, Gt(0), Lt(inf)]
WorkflowName = Literal["reading", "calculator", "single"]
WayName = Literal["sequential", "quotes"]

ROLLOUT: Final = Sampling(temperature=1.0, top_p=1.0)
"""The only sampling whose probabilities are the trainer's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySettings:
    """The model that is trained."""

    path: str = ""
    """A folder, .gguf file or name that transformers loads, or `local`; empty makes a model of `[train.fresh]`."""
    adapter: str = ""
    """A .gguf file of adapters of the same shape that training begins with, or `reader`, the built-in one's."""
    lora_rank: NotNegative = 0
    """0 trains every weight."""
    lora_alpha: NotNegative = 0
    """0 is twice the rank."""
    lora_layers: NotNegative = 0
    """Only so many layers, the last ones, get adapters, which saves the backward pass below them; 0 is all."""
    quantized: bool = False
    """4-bit base weights under the adapters (QLoRA); needs a CUDA GPU."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of the computation; auto is bfloat16 on a GPU. The optimizer steps float32 weights whatever it is."""
    sharded: bool = False
    """Share weights, gradients, optimizer and reference out among the ranks (FSDP2)."""
    device: str = ""
    """Empty takes a GPU where there is one."""
    gradient_checkpointing: bool = False
    share_prefixes: bool = True
    """Read what rows have in common at their beginning once, where that gives the figures of whole rows."""
    head_tokens: AtLeastOne = 1024
    """Trained tokens whose logits are in memory at the same time."""
    row_tokens: AtLeastOne = 16384
    """Tokens of one micro-batch, shared ones once: gradients of as many as needed are added up. Lower it when memory
    runs out in a step."""
    rollout_tokens: AtLeastOne = 65536
    """Padded tokens of one sampled batch. Lower it when memory runs out in a rollout."""

    def __post_init__(self) -> None:
        check_bounds(self, error=ConfigError, table="train.policy")
        if self.quantized and not self.lora_rank:
            raise ConfigError("train.policy.quantized weights cannot be trained themselves: set train.policy.lora_rank")
        if self.quantized and self.sharded:
            raise ConfigError("train.policy.quantized weights cannot be sharded: choose one of the two")
        if self.quantized and (self.path == "local" or self.path.endswith(".gguf")):
            raise ConfigError("train.policy.quantized needs weights that are no GGUF: name a folder or a model")


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshSettings:
    """The shape of a new model."""

    hidden: AtLeastOne = 128
    layers: AtLeastOne = 3
    heads: AtLeastOne = 4
    window: AtLeastOne = 512

    def __post_init__(self) -> None:
        check_bounds(self, error=ConfigError, table="train.fresh")
        # Rotary position embeddings turn the two halves of every head.
        if self.hidden % (2 * self.heads):
            raise ConfigError(
                f"train.fresh.hidden must be a multiple of twice train.fresh.heads ({2 * self.heads}), "
                f"not {self.hidden}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthStage:
    """A part of the run with documents of another length."""

    tokens: AtLeastOne
    steps: AtLeastOne


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSettings:
    """The samples to train on: generated by a task, or read from a file."""

    name: str = ""
    """toy-records, or a task of `bookwheel data`."""
    tokens: NotNegative = 0
    count: NotNegative = 0
    """How many samples there are; of a file, 0 takes all."""
    stages: tuple[LengthStage, ...] = ()
    """A curriculum: lengths that come before `tokens`, each for so many steps."""
    seed: Seed = 0
    shuffle: bool = True
    """Draw every epoch in an order of its own; else as the samples stand."""
    options: dict[str, Any] = field(default_factory=dict)
    """Further arguments of the task, by its own names."""
    file: str = ""
    """Samples as `bookwheel data make` and `filter` write them, or lines with question, document and answers."""
    clozes: Share = 0.0
    """The share of samples that ask for words of their own text in place of their question, without any label."""
    held_out: str = ""
    """A file of samples to measure on; empty holds back samples of `file`, which are then not trained on."""

    def __post_init__(self) -> None:
        check_bounds(self, error=ConfigError, table="train.task")
        if self.name == "ledger":
            raise ConfigError("train.task.name 'ledger' has a new name: write 'toy-records'")
        if self.file and (self.name or self.tokens or self.stages or self.options):
            raise ConfigError("train.task.file brings its own samples: leave out name, tokens, stages and options")
        if self.held_out and not self.file:
            raise ConfigError("train.task.held_out goes with train.task.file; a task makes held-out samples itself")


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutServerSettings:
    """A server that samples the rollouts, beside the process that trains."""

    address: str = ""
    """Like http://localhost:8000; empty samples in the training process."""
    engine: Literal["vllm", "sglang"] = "vllm"
    weights: str = ""
    """A folder that the server sees under the same path; the weights go there after each step. Empty is the run's."""
    concurrency: AtLeastOne = 64
    """Requests at the same time, of each rank."""
    timeout: Annotated[float, Gt(0), Lt(inf)] = 900.0
    """Seconds without an answer after which a request has failed, and its rollout with it."""

    def __post_init__(self) -> None:
        check_bounds(self, error=ConfigError, table="train.server")
        if self.address and not self.address.startswith(("http://", "https://")):
            raise ConfigError(f"train.server.address must begin with http:// or https://, not {self.address!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TeacherSettings:
    """A model that tells how likely it would have written what the policy sampled (teacher.py)."""

    model: str = ""
    """As `--model` takes it; empty teaches nothing. It must give likelihoods."""
    base_url: str = ""
    """An OpenAI-compatible endpoint; empty where the model runs in this process."""
    weight: Weight = 1.0
    """Of log p(teacher) - log p(policy), as credit of each token beside the rollout's advantage."""
    concurrency: AtLeastOne = 16

    def __post_init__(self) -> None:
        check_bounds(self, error=ConfigError, table="train.teacher")


@dataclass(frozen=True, slots=True, kw_only=True)
class LossSettings:
    """The bounds and weights of the loss; the paper's by default."""

    form: Literal["dapo", "gspo", "cispo"] = "dapo"
    """What is clipped: each token's ratio, a whole reply's, or the ratio as a weight of the gradient."""
    # Above 1 the lower bound of the ratio would be negative, and no ratio is.
    clip_low: Share = 0.2
    clip_high: Weight = 0.2
    dual_clip: Weight = 3.0
    """The most a bad token's ratio counts, times its advantage; 0 leaves it without bound. Of dapo alone."""
    kl: Weight = 1e-3
    """beta; 0 needs no reference model."""
    importance_cap: Annotated[float, Gt(0), Lt(inf)] | None = 2.0
    """Of w_t; None leaves w_t at 1."""
    reply_cap: Annotated[float, Gt(1), Lt(inf)] | None = None
    """A reply whose tokens' mean ratio of trainer to sampler is above it, or below its inverse, teaches nothing."""

    def __post_init__(self) -> None:
        check_bounds(self, error=ConfigError, table="train.loss")
        # Below the upper bound of the ratio it would undo the clip.
        if 0 < self.dual_clip <= 1 + self.clip_high:
            raise ConfigError(
                f"train.loss.dual_clip must be 0 or above 1 + clip_high ({1 + self.clip_high:g}), "
                f"not {self.dual_clip:g}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardSettings:
    """Weights of the reward's parts."""

    answer: Weight = 1.0
    """For the verifier's verdict on the answer; 0 trains without gold answers."""
    recovered: Weight = 0.0
    """For how much of what the question asks the last memory makes likelier, to the frozen reference (R)."""
    dense: Weight = 0.0
    """For a step's change of R, as credit of that step's conversation beside the rollout's advantage."""
    boxed: Weight = 0.0
    r"""For a final answer inside \boxed{}."""
    overlong: Weight = 0.0
    """Subtracted for replies that come near their token limit."""
    overlong_share: Share = 0.2
    """The last share of the limit, in which `overlong` grows from 0 to its full weight."""
    captured: Weight = 0.0
    """For golds that are in the memory right after the chunk they stand in."""
    kept: Weight = 0.0
    """For golds that are in the last memory."""
    length: Weight = 0.0
    """Subtracted for the share of the limit that the memories take."""
    copied: Weight = 0.0
    """Subtracted for the share of the last memory that is copied from the last section in long runs."""
    foreign: Weight = 0.0
    """Subtracted for the share of the last memory's letters in scripts that neither section nor question has."""

    def __post_init__(self) -> None:
        check_bounds(self, error=ConfigError, table="train.reward")

    @property
    def uses_worth(self) -> bool:
        """True where the frozen reference scores memories."""
        return bool(self.recovered or self.dense)

    @property
    def needs_golds(self) -> bool:
        """True where a sample without a gold answer can earn nothing."""
        return self.answer > 0 and not self.uses_worth

    def judges_answer(self, *, has_gold: bool) -> bool:
        """Tell if anything in the reward depends on a sample's answer."""
        return bool(self.boxed or (self.answer and has_gold)) or not self.uses_worth


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmStart:
    """Supervised steps on ideal traces."""

    steps: NotNegative = 0
    """The most steps it takes."""
    until: Share = 0.0
    """The held-out accuracy at which it ends early; 0 takes all steps."""
    every: AtLeastOne = 100
    """Steps between two checks of `until`."""
    tokens: NotNegative = 0
    """The length of generated samples; 0 is the task's. Shorter samples have more to note."""
    lessons: str = ""
    """A file of lessons (warmstart.py) for the way `quotes`; empty makes choices of passages out of the samples."""
    clozes: bool = False
    """Ask for the ends of sentences of the samples' own text, whose place is known: needs neither gold nor evidence."""
    traces: str = ""
    """A teacher's readings to imitate in place of ideal ones: an evaluation's folder, or a journal (teacher.py)."""
    samples: AtLeastOne = 8
    """Samples whose conversations make one step."""
    learning_rate: LearningRate = 1e-3
    warmup_steps: NotNegative = 20
    decay: Share = 0.0
    """The share of the learning rate that is gone by the last step."""

    def __post_init__(self) -> None:
        check_bounds(self, error=ConfigError, table="train.warm_start")

    @property
    def needs_evidence(self) -> bool:
        """True where ideal memories are made from where a sample's evidence stands."""
        return self.steps > 0 and not self.traces and not self.clozes


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSettings:
    """When the policy is measured on held-out samples, and how it is sampled then."""

    every: NotNegative = 20
    """Steps between two evaluations; 0 evaluates only before the first and after the last."""
    samples: AtLeastOne = 64
    repeats: AtLeastOne = 1
    """Readings of each sample; the accuracy is the mean over all."""
    temperature: Temperature = 0.7
    top_p: TopP = 0.95

    def __post_init__(self) -> None:
        check_bounds(self, error=ConfigError, table="train.evaluation")

    @property
    def sampling(self) -> Sampling:
        """The sampling of evaluations, and of the finished policy when it reads."""
        return Sampling(temperature=self.temperature, top_p=self.top_p)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """One run. The defaults are the paper's for a 7B model; its mini-batches are `updates = 16`, as in its presets."""

    steps: NotNegative = 400
    samples: AtLeastOne = 128
    """Groups in one step."""
    # An advantage compares a rollout with others of its sample, so one alone has none.
    group_size: Annotated[int, Ge(2)] = 16
    """Rollouts of one sample."""
    updates: AtLeastOne = 1
    """Mini-batches that a batch is cut into, by samples: each is an optimizer step. 16 of 128 samples are 8 each."""
    refills: NotNegative = 0
    """Rounds in which groups without spread are replaced by new ones; 0 keeps them."""
    staleness: NotNegative = 0
    """The most steps that the policy may have taken since a batch's rollouts began; above 0 they overlap training."""
    patience: AtLeastOne = 20
    """Steps in a row without any spread after which the run stops with an error."""
    failed_steps: AtLeastOne = 3
    """Steps in a row without one good rollout after which the run stops with an error."""
    estimator: Estimator = Estimator.MEAN
    learning_rate: LearningRate = 1e-6
    warmup_steps: NotNegative = 20
    """Batches over which the learning rate rises to its full height."""
    decay: Share = 0.0
    """The share of the learning rate that is gone by the last step, linearly; 0 keeps it constant."""
    weight_decay: Weight = 0.01
    # At 0 every gradient would be scaled to nothing.
    clip_norm: Annotated[float, Gt(0), Lt(inf)] = 1.0
    seed: Seed = 0
    checkpoint_every: AtLeastOne = 20
    keep: AtLeastOne = 2
    """Checkpoints that stay beside the best one."""
    keep_rollouts: NotNegative = 10
    """Every so many steps, the step's rollouts are kept as readings; 0 keeps none."""
    workflow: WorkflowName = "reading"
    way: WayName = "sequential"
    """The way of reading: of the warm start's ideal conversations, the rollouts, and the finished policy."""
    policy: PolicySettings = field(default_factory=PolicySettings)
    fresh: FreshSettings = field(default_factory=FreshSettings)
    loss: LossSettings = field(default_factory=LossSettings)
    reward: RewardSettings = field(default_factory=RewardSettings)
    warm_start: WarmStart = field(default_factory=WarmStart)
    evaluation: EvaluationSettings = field(default_factory=EvaluationSettings)
    task: TaskSettings = field(default_factory=TaskSettings)
    server: RolloutServerSettings = field(default_factory=RolloutServerSettings)
    teacher: TeacherSettings = field(default_factory=TeacherSettings)
    plan: Plan = field(default_factory=Plan)
    """From the table `[plan]`, beside `[train]`."""

    def __post_init__(self) -> None:
        check_bounds(self, error=ConfigError, table="train")
        if self.updates > self.samples:
            raise ConfigError(f"train.updates must be at most train.samples ({self.samples}), not {self.updates}")
        if self.server.address and (self.policy.quantized or (self.policy.sharded and self.policy.lora_rank)):
            raise ConfigError(
                "train.server gets whole weights, and adapters on quantized or sharded weights cannot be merged into "
                "theirs: set quantized and sharded to false"
            )
        if self.uses_likelihood and (self.policy.sharded or self.staleness or self.workflow != "reading"):
            raise ConfigError(
                "train.reward.recovered, train.reward.dense and train.task.clozes ask the reference about memories "
                "while rollouts are sampled: set workflow to reading, and neither policy.sharded nor staleness"
            )
        if self.teacher.model and self.refills:
            raise ConfigError(
                "train.refills replaces groups whose rewards are equal, and train.teacher teaches by those too: set it "
                "to 0"
            )
        if self.staleness and self.policy.sharded and not self.server.address:
            raise ConfigError(
                "train.staleness needs a second copy of the weights to sample from, and sharded weights have none: "
                "set train.server.address, or staleness = 0"
            )

    @property
    def uses_likelihood(self) -> bool:
        """True where the frozen reference scores memories or texts."""
        return self.reward.uses_worth or self.task.clozes > 0

    @property
    def needs_reference(self) -> bool:
        """True where the policy before the first step of reinforcement is kept."""
        return self.uses_likelihood or self.loss.kl > 0

    def to_json(self) -> dict[str, Any]:
        """Return plain values, nested; `[plan]` beside `[train]`."""
        train = asdict(self) | {"estimator": str(self.estimator)}
        del train["plan"]
        return {"train": train, "plan": self.plan.to_json()}

    @classmethod
    def from_tables(cls, tables: Mapping[str, Any], where: str = "") -> TrainConfig:
        """Return the settings of `[train]` and `[plan]`; errors name the file `where` they stand."""
        prefix = f"{where}: " if where else ""
        train = tables.get("train")
        if isinstance(train, dict) and "plan" in train:
            raise ConfigError(f"{prefix}train.plan is a table of its own: write [plan]")
        parsed = parse(_Tables, tables, where=where, error=ConfigError)
        # The defaults are for a 7B model: nobody should begin such a run with an empty file.
        if train is None:
            raise ConfigError(f"{prefix}train is missing: write a table [train]")
        return replace(parsed.train, plan=parsed.plan)

    @classmethod
    def load(cls, name: str) -> TrainConfig:
        """Return the settings of a preset by name, or of a TOML file by path."""
        path = Path(name)
        if path.suffix != ".toml":
            if name not in list_presets():
                raise ConfigError(f"no preset {name!r}; there are: {', '.join(list_presets())} (or give a .toml file)")
            return cls.from_tables(load_preset(name), f"preset {name}")
        try:
            tables = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ConfigError(f"{name} cannot be read as settings: {error}") from error
        return cls.from_tables(tables, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tables:
    """The tables of a settings file."""

    train: TrainConfig = field(default_factory=TrainConfig)
    plan: Plan = field(default_factory=Plan)
    eval: dict[str, Any] = field(default_factory=dict)
    """Of `bookwheel eval`; a file may hold both."""
    verl: dict[str, Any] = field(default_factory=dict)
    """Of `--engine verl`: the machines and engines."""
