"""The plan of a reading: token budgets, prompt layout, sampling and when to stop.

The defaults are the paper's: an 8K window holds the question, one chunk of 5000 tokens, the memory
and the reply. The template takes what is left (about 200 tokens with the question under its limit).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from math import inf
from typing import Annotated, Any, Final, Self

from bookwheel.errors import PlanError
from bookwheel.schema import FieldSpec, Ge, Gt, Le, Lt, check_bounds, from_plain, list_fields, parse, to_plain

_PAPER_WINDOW: Final = 8192
_TOKEN_FIELDS: Final = ("question_tokens", "chunk_tokens", "memory_tokens", "answer_tokens")
# No single character has more than 8 tokens, so a chunk can always hold one.
LEAST_TOKENS: Final = 8
"""The least of a budget."""

Tokens = Annotated[int, Ge(LEAST_TOKENS), Le(10_000_000)]
# Servers refuse more than 2, the bound of OpenAI's API.
Temperature = Annotated[float, Ge(0), Le(2)]
TopP = Annotated[float, Gt(0), Le(1)]
# JSON numbers are exact only up to 2**53.
Seed = Annotated[int, Ge(-(2**53)), Le(2**53)]
Positive = Annotated[float, Gt(0), Lt(inf)]
Scale = Annotated[float, Ge(0.1), Le(10)]
Price = Annotated[float, Ge(0), Lt(inf)]

DESCRIBED: Final = {"use_attribute_docstrings": True}
"""The schemas of HTTP and MCP have the sentences under the fields too."""


class Layout(StrEnum):
    """The order of an update prompt's parts."""

    MEMORY_FIRST = "memory-first"
    """Question, memory, section: the paper's order."""
    SECTION_FIRST = "section-first"
    """Section, question, memory: a server can reuse the section's KV cache across questions and repeats."""
    QUESTION_SECTION = "question-section"
    """Question, section, memory, question: repeats of one question share all but memory and reply, and the section is
    read by a model that knows what is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """The sampling settings of a model; None leaves one to the server."""

    __pydantic_config__ = DESCRIBED

    temperature: Temperature | None = 0.7
    """Sampling temperature, from 0, which is greedy, to 2."""
    top_p: TopP | None = 0.95
    """Nucleus sampling: the probability mass to sample from, up to 1."""
    seed: Seed | None = None
    """Seed of the sampling, for repeatable readings."""
    repeat_penalty: Positive | None = None
    """Only llama.cpp and vLLM know it; small models need it against loops."""
    thinking: bool | None = None
    """Whether a model that can think before it replies does so; None leaves it to the server's template."""
    schema: str | None = None
    """A JSON Schema, as JSON, that the reply must fit; servers that cannot constrain a reply ignore it."""

    def __post_init__(self) -> None:
        check_bounds(self, error=PlanError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Hard limits of one reading; None is no limit. What was read when one is reached is kept."""

    __pydantic_config__ = DESCRIBED

    tokens: Annotated[int, Gt(0), Le(2**53)] | None = None
    """Limit of prompt and reply tokens over all calls."""
    seconds: Positive | None = None
    """Limit of wall-clock seconds."""
    cost: Positive | None = None
    """Limit of the cost, in the currency of the prices."""
    price_in: Price = 0.0
    """Price of a million prompt tokens; by default, the named endpoint's."""
    price_out: Price = 0.0
    """Price of a million reply tokens; by default, the named endpoint's."""

    def __post_init__(self) -> None:
        check_bounds(self, error=PlanError, table="the budget's")
        if self.cost is not None and not self.has_prices:
            raise PlanError(
                f"a cost budget of {self.cost:g} (--max-cost) needs the price of a million tokens: --price-in and "
                f"--price-out"
            )

    @property
    def has_limits(self) -> bool:
        """True where anything is limited."""
        return (self.tokens, self.seconds, self.cost) != (None, None, None)

    @property
    def has_prices(self) -> bool:
        return bool(self.price_in or self.price_out)

    def price(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the cost of so many tokens."""
        return (prompt_tokens * self.price_in + completion_tokens * self.price_out) / 1e6


class Scorer(StrEnum):
    """The judgement that a gate rests on."""

    JUDGE = "judge"
    """The probability that the model answers "yes" to "does this section matter?"."""
    LIKELIHOOD = "likelihood"
    """By how much the section makes the question likelier; better with models too small to judge."""


class VerdictMode(StrEnum):
    """Who judges an answer when it is there."""

    AUTO = "auto"
    """The model that reads, where it was measured to judge better than the words do; otherwise the words."""
    OFF = "off"
    """Nobody."""
    QUOTES = "quotes"
    """The measure by words, which asks no model."""
    MODEL = "model"
    """The model that reads, at up to three short calls for each sentence."""


class Rank(StrEnum):
    """The order in which the way `ranked` reads."""

    WORDS = "words"
    """By the words that a chunk shares with the question."""
    EMBEDDINGS = "embeddings"
    """By the nearest embedding of a passage of the chunk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatePlan:
    """Which chunks a gated way reads into memory. `bookwheel calibrate` finds both values for a model."""

    __pydantic_config__ = DESCRIBED

    scorer: Scorer = Scorer.JUDGE
    threshold: Annotated[float, Ge(-1e6), Le(1e6)] = 0.5
    """In the gated ways, a chunk is read if its judgement is at least this, else skipped and flagged; by default, what
    `bookwheel calibrate` found for the model."""

    def __post_init__(self) -> None:
        check_bounds(self, error=PlanError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The token budgets of one reading, and how its prompts are laid out and sampled.

    >>> Plan().update_tokens(question=24, template=150)
    7222
    """

    __pydantic_config__ = DESCRIBED

    question_tokens: Tokens = 1024
    """Token limit of the question."""
    chunk_tokens: Tokens = 5000
    """Tokens of the document in each call."""
    memory_tokens: Tokens = 1024
    """Token limit of the memory."""
    answer_tokens: Tokens = 1024
    """Token limit of the answer."""
    layout: Layout = Layout.MEMORY_FIRST
    """Order of the prompt; with `section-first`, a server can reuse the chunk's KV cache."""
    prompts: str = "standard"
    """A prompt set, `standard`, `small` or `tiny`, or a TOML file with one."""
    language: str | None = None
    """Language of the prompts, `en` or `zh`; by default, the question's."""
    schema: str | None = None
    """A JSON Schema, as JSON, that the answer must fit; None is an answer in words."""
    schema_optional: bool = False
    """The answer stays in words where the model only quotes or writes no JSON of the schema, or has no room for it."""
    earlier: str = ""
    """What was said about the document before the question, each turn under its role: `user: …`, `assistant: …`."""
    least_gain: Annotated[float, Ge(0), Le(100)] = 0.0
    """In the way `quotes`, how much of the question the best passage must explain; with less, the answer is that the
    document does not say."""
    enough_gain: Annotated[float, Ge(0), Le(100)] = 0.0
    """In the way `quotes`, the gain of a passage at which no better one is looked for, and a little less for each chunk
    since it was found; 0 reads the whole document."""
    judgement_weight: Annotated[float, Ge(0), Le(100)] = 0.0
    """In the way `quotes`, what a passage's log-odds of answering the question, as the model judges it, count beside
    its gain; 0 asks for no judgement, as do prompt sets without the turn `answers`."""
    sampling: Sampling = field(default_factory=Sampling)
    budget: Budget = field(default_factory=Budget)
    gate: GatePlan | None = None
    """Only gated ways need it; None takes the model's calibration."""
    rank: Rank = Rank.WORDS
    """Order of the way `ranked`: by `words`, or by `embeddings` of the endpoint."""
    verdict: VerdictMode = VerdictMode.AUTO
    """Who judges the answer: nobody (`off`), a measure of its words (`quotes`), the model that reads (`model`), or the
    better of both, as `calibrate --verdict` found (`auto`; the measure where nothing was)."""
    token_scale: Scale | None = None
    """Real tokens per estimated token, where an endpoint's tokenizer is unknown; None until its first reply."""

    def __post_init__(self) -> None:
        check_bounds(self, error=PlanError)

    def update_tokens(self, *, question: int, template: int) -> int:
        """Return the longest that one update conversation can get: prompt and reply."""
        return template + question + self.chunk_tokens + 2 * self.memory_tokens

    def answer_turn_tokens(self, *, question: int, template: int) -> int:
        """Return the longest that the answer conversation can get."""
        return template + question + self.memory_tokens + self.answer_tokens

    def check(self, window: int | None, *, question: int, template: int) -> None:
        """Raise PlanError when a conversation of this plan can outgrow the window (None: unknown, unchecked)."""
        if window is None:
            return
        update = self.update_tokens(question=question, template=template)
        answer = self.answer_turn_tokens(question=question, template=template)
        need = max(update, answer)
        if need > window:
            part = f"chunk {self.chunk_tokens} + " if update >= answer else ""
            raise PlanError(
                f"the plan needs {need} tokens and the model's window holds {window}: {need - window} too many "
                f"(template {template} + question {question} + {part}memory {self.memory_tokens} + reply). "
                f"{self._advise(window - template - question)}"
            )

    def _advise(self, room: int) -> str:
        """Say what makes a plan fit, where so many tokens are left for chunk, memory and replies."""
        chunk, answer = room - 2 * self.memory_tokens, room - self.memory_tokens
        if chunk >= self.memory_tokens and answer >= self.answer_tokens:
            return f"Lower --chunk-tokens to {min(chunk, self.chunk_tokens)} or less."
        if room < 4 * LEAST_TOKENS:
            return "Ask a shorter question, or take a model with a longer window."
        # The shares of the paper's plan: a chunk of five memories, and two memories in an update.
        memory = max(LEAST_TOKENS, room // 7)
        chunk, answer = max(LEAST_TOKENS, room - 2 * memory), min(self.answer_tokens, room - memory)
        return f"Try --chunk-tokens {chunk} --memory-tokens {memory} --answer-tokens {answer}."

    def within(self, window: int | None) -> Self:
        """Return the plan with its token budgets scaled down to a window smaller than the paper's.

        >>> Plan().within(2048).chunk_tokens
        1250
        """
        if window is None or window >= _PAPER_WINDOW:
            return self
        share = window / _PAPER_WINDOW
        budgets: dict[str, Any] = {name: max(LEAST_TOKENS, int(getattr(self, name) * share)) for name in _TOKEN_FIELDS}
        return replace(self, **budgets)

    def to_json(self) -> dict[str, Any]:
        """Return plain values, nested; `from_json` takes them back."""
        return {**to_plain(self), "layout": str(self.layout), "rank": str(self.rank), "verdict": str(self.verdict)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the plan of such values; absent ones take their defaults."""
        return parse(cls, values, table="plan", error=PlanError)

    @classmethod
    def from_stored(cls, values: Mapping[str, Any]) -> Self:
        """Return the plan of values that `to_json` made, such as a journal's.

        It needs no pydantic, whose import takes longer than printing a list of readings.
        """
        try:
            return from_plain(cls, values)
        except (TypeError, ValueError):
            return cls.from_json(values)  # which says what is wrong

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """Return this plan with some values replaced: `plan.with_values({"chunk_tokens": 900})`."""
        # Nothing is to be checked then, and pydantic's import is a tenth of what `bookwheel ask` takes to start.
        return self.from_json(merge_tables(self.to_json(), values)) if values else self


def _name_settings() -> dict[str, tuple[str, ...]]:
    own = {one.name: (one.name,) for one in fields(Plan)}
    sampling = {one.name: ("sampling", one.name) for one in fields(Sampling)}
    prices = {name: ("budget", name) for name in ("price_in", "price_out")}
    limits = {"max_tokens_total": ("budget", "tokens")} | {f"max_{name}": ("budget", name) for name in _LIMITS[1:]}
    names = own | sampling | limits | prices | {"lang": ("language",), "gate_threshold": ("gate", "threshold")}
    return {name: path for name, path in names.items() if name not in ("schema", "earlier")}


_LIMITS: Final = ("tokens", "seconds", "cost")
SETTINGS: Final[Mapping[str, tuple[str, ...]]] = _name_settings()
"""The plan's values by one flat name each, as options and arguments of Python functions have them, and their path."""

LIMITS: Final = tuple(name for name, path in SETTINGS.items() if path[0] == "budget" and len(path) > 1)
"""Those that hold for one run alone."""


def describe_setting(name: str) -> FieldSpec:
    """Return the field of the plan behind a flat name."""
    *tables, last = SETTINGS[name]
    types = {"sampling": Sampling, "budget": Budget, "gate": GatePlan}
    return list_fields(types[tables[0]] if tables else Plan)[last]


def nest_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return flat settings as values of a plan, each in its table.

    >>> nest_settings({"chunk_tokens": 900, "max_seconds": 60})
    {'chunk_tokens': 900, 'budget': {'seconds': 60}}
    """
    nested: dict[str, Any] = {}
    for name, value in settings.items():
        for part in reversed(SETTINGS[name]):
            value = {part: value}  # noqa: PLW2901
        nested = merge_tables(nested, value)
    return nested


def renew_budget(old: Budget, limits: Mapping[str, Any]) -> Budget:
    """Return the budget of a reading that goes on: its prices hold, and its limits were for the old run."""
    open_ = {"budget": dict.fromkeys(_LIMITS)}
    return Plan(budget=old).with_values(merge_tables(open_, nest_settings(limits))).budget


def merge_tables(base: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with `values` on top, table by table."""
    merged = dict(base)
    for key, value in values.items():
        old = base.get(key)
        merged[key] = merge_tables(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged
