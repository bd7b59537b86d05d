"""The options that several commands share, and what is built from them: a model, a plan, a budget, a journal."""

from __future__ import annotations

from dataclasses import astuple, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from annotated_types import Ge, Gt, Le, Lt
from cyclopts import Group, Parameter
from cyclopts.validators import Number

from bookwheel.plan import Budget, Layout, Plan, Positive, Price, Seed, Temperature, Tokens, TopP, load_preset_plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclopts import Token

    from bookwheel.journal import Journal
    from bookwheel.models.base import Model

_MODEL: Final = Group("Model", sort_key=2)
_PLAN: Final = Group("Plan", sort_key=3)
_BUDGET: Final = Group("Budget", sort_key=4)
_OUTPUT: Final = Group("Output", sort_key=5)

_NUMBER_BOUNDS: Final = {Ge: "gte", Gt: "gt", Le: "lte", Lt: "lt"}


def _parse_int(_: type, tokens: Sequence[Token]) -> int:
    """Return the whole number. The parser alone would round 1.5 to 2."""
    try:
        return int(tokens[0].value)
    except ValueError:
        raise ValueError(f"{tokens[0].value!r} is not a whole number") from None


def _check(annotation: Any) -> Parameter:
    """Return a parameter that is refused by name if it is outside the bounds of the annotation."""
    # The plan states its bounds once; without this, its message would name the plan's field, not the option.
    bounds = {_NUMBER_BOUNDS[type(bound)]: astuple(bound)[0] for bound in annotation.__metadata__}
    converter = _parse_int if annotation.__origin__ is int else None
    return Parameter(validator=Number(**bounds), converter=converter)


def _require_text(_: type, value: str | None) -> None:
    """Refuse the empty text that a shell makes of an unset variable in quotes."""
    if value is not None and not value.strip():
        raise ValueError("It must not be empty.")


def _parse_path(_: type, tokens: Sequence[Token]) -> Path:
    """Return the path. An empty one would be the current folder."""
    text = tokens[0].value
    if not text.strip():
        raise ValueError("it must not be empty")
    return Path(text)


Text = Annotated[str, Parameter(validator=_require_text)]
FilePath = Annotated[Path, Parameter(converter=_parse_path)]
PositiveInt = Annotated[int, Parameter(validator=Number(gt=0), converter=_parse_int)]
Port = Annotated[int, Parameter(validator=Number(gte=0, lte=65535), converter=_parse_int)]
WholeNumber = Annotated[int, Parameter(converter=_parse_int)]
_Positive = Annotated[Positive, _check(Positive)]
_Price = Annotated[Price, _check(Price)]
_Tokens = Annotated[Tokens, _check(Tokens)]


@Parameter(name="*", group=_MODEL)
@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The model, and how to reach it."""

    model: Text | None = None
    "`local` (the default), `scripted`, a .gguf file, or the name of a model that the endpoint serves."
    base_url: Annotated[str | None, Parameter(env_var="OPENAI_BASE_URL")] = None
    "An OpenAI-compatible endpoint, such as http://localhost:8000/v1."
    api_key: Annotated[str | None, Parameter(env_var="OPENAI_API_KEY", show_env_var=True)] = None
    "The endpoint's key, if it needs one. Prefer the environment variable: other users can see command lines."
    tokenizer: FilePath | None = None
    "The model's tokenizer.json, if the endpoint cannot count tokens."
    window: PositiveInt | None = None
    "The model's context window in tokens, if the endpoint does not report it."
    timeout: _Positive = 600.0
    "Seconds to wait for one reply."
    concurrency: PositiveInt = 16
    "Requests in flight at the same time."
    threads: PositiveInt | None = None
    "CPU threads of the local model; by default, the idle cores."

    async def open(self) -> Model:
        """Open the model. The local one downloads its weights the first time."""
        from bookwheel.cli.progress import show_download
        from bookwheel.models.registry import open_model

        with show_download() as progress:
            return await open_model(
                self.model,
                base_url=self.base_url,
                api_key=self.api_key,
                tokenizer=self.tokenizer,
                window=self.window,
                timeout=self.timeout,
                concurrency=self.concurrency,
                threads=self.threads,
                progress=progress,
            )


@Parameter(name="*", group=_PLAN)
@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """Changes to the plan that the model recommends."""

    preset: Text | None = None
    "Start from this plan instead of the model's own. `bookwheel models` lists them."
    chunk_tokens: _Tokens | None = None
    "Tokens of the document in each call."
    memory_tokens: _Tokens | None = None
    "Token limit of the memory."
    answer_tokens: _Tokens | None = None
    "Token limit of the answer."
    question_tokens: _Tokens | None = None
    "Token limit of the question."
    layout: Layout | None = None
    "Order of the prompt. With `section-first`, a server can reuse the chunk's KV cache."
    prompts: Text | None = None
    "A prompt set by name, or a TOML file with one."
    language: Annotated[Text | None, Parameter(name="--lang")] = None
    "Language of the prompts, `en` or `zh`; by default, the question's."
    temperature: Annotated[Temperature, _check(Temperature)] | None = None
    "Sampling temperature; 0 is greedy."
    top_p: Annotated[TopP, _check(TopP)] | None = None
    "Nucleus sampling: the probability mass to sample from, up to 1."
    seed: Annotated[Seed, _check(Seed)] | None = None
    "Seed of the sampling, for repeatable readings."

    def build(self, recommended: Plan, budget: Budget) -> Plan:
        """Return the recommended plan (or the preset) with these settings and this budget."""
        plan = load_preset_plan(self.preset) if self.preset else recommended
        values = {f.name: value for f in fields(self) if (value := getattr(self, f.name)) is not None}
        values.pop("preset", None)
        sampling = {name: values.pop(name) for name in ("temperature", "top_p", "seed") if name in values}
        return replace(plan.with_values({**values, "sampling": sampling}), budget=budget)


@Parameter(name="*", group=_BUDGET)
@dataclass(frozen=True, kw_only=True)
class BudgetOptions:
    """Hard limits. A reading that reaches one is kept and can be resumed."""

    max_tokens_total: PositiveInt | None = None
    "Limit of prompt and reply tokens over all calls."
    max_seconds: _Positive | None = None
    "Limit of wall-clock seconds."
    max_cost: _Positive | None = None
    "Limit of the cost, in the currency of the prices."
    price_in: _Price = 0.0
    "Price of a million prompt tokens."
    price_out: _Price = 0.0
    "Price of a million reply tokens."

    def build(self) -> Budget:
        """Return the limits as a Budget."""
        return Budget(
            tokens=self.max_tokens_total,
            seconds=self.max_seconds,
            cost=self.max_cost,
            price_in=self.price_in,
            price_out=self.price_out,
        )


@Parameter(name="*", group=_OUTPUT)
@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """The journal's place and the form of the output."""

    journal: FilePath | None = None
    "The journal's file; by default, $BOOKWHEEL_JOURNAL or a file in the user's data folder."
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False
    "Print one JSON object on standard output and nothing else."
    quiet: Annotated[bool, Parameter(negative="")] = False
    "Print no progress, only warnings and errors."

    def open_journal(self) -> Journal:
        """Open the journal; create it if there is none."""
        from bookwheel.journal import Journal, journal_path

        return Journal(self.journal or journal_path())


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """The options of a command that reads."""

    models: ModelOptions = field(default_factory=ModelOptions)
    plan: PlanOptions = field(default_factory=PlanOptions)
    budget: BudgetOptions = field(default_factory=BudgetOptions)
    output: OutputOptions = field(default_factory=OutputOptions)
    way: Annotated[str, Parameter(group=_PLAN)] = "sequential"
    "The way of reading, such as `sequential`, `whole`, `map-reduce` or `refine`."
