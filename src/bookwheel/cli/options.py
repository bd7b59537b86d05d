"""The options that commands share, and what they make: a model, a plan, a journal."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from bookwheel.plan import Budget, Plan, load_preset_plan

if TYPE_CHECKING:
    from bookwheel.journal import Journal
    from bookwheel.models.base import Model

_MODEL = Group("Model", sort_key=2)
_PLAN = Group("Plan", sort_key=3)
_BUDGET = Group("Budget", sort_key=4)
_OUTPUT = Group("Output", sort_key=5)


@Parameter(name="*", group=_MODEL)
@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Which model reads, and how it is reached."""

    model: str | None = None
    "`local` (the default), `scripted`, a .gguf file, or any name that the endpoint serves."
    base_url: Annotated[str | None, Parameter(env_var="OPENAI_BASE_URL")] = None
    "An OpenAI-compatible endpoint, such as http://localhost:8000/v1."
    api_key: Annotated[str | None, Parameter(env_var="OPENAI_API_KEY", show_env_var=True)] = None
    "The endpoint's key, if it wants one; better kept in the environment."
    tokenizer: Path | None = None
    "The model's tokenizer.json, where the endpoint cannot count tokens itself."
    window: int | None = None
    "The model's window in tokens, where the endpoint does not say."
    timeout: float = 600.0
    "Seconds that one reply may take."
    concurrency: int = 16
    "Requests at a time."
    threads: int | None = None
    "Threads of the local model; by default as many as are idle."

    async def open(self) -> Model:
        """The model, ready to reply. The local one fetches its weights the first time."""
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
    """What differs from the plan that the model recommends."""

    preset: str | None = None
    "A plan by name instead of the model's own; `bookwheel models` lists them."
    chunk_tokens: int | None = None
    "Tokens of the document in one call."
    memory_tokens: int | None = None
    "Tokens that the memory may have."
    answer_tokens: int | None = None
    "Tokens that the answer may have."
    question_tokens: int | None = None
    "Tokens that the question may have."
    layout: str | None = None
    "`memory-first`, or `section-first` so that a server can reuse the section's KV cache."
    prompts: str | None = None
    "A prompt set by name, or a TOML file with one."
    language: Annotated[str | None, Parameter(name="--lang")] = None
    "`en` or `zh`; by default the question's."
    temperature: float | None = None
    "0 is greedy."
    top_p: float | None = None
    "The share of the probability mass that is sampled from."
    seed: int | None = None
    "For sampling that can be repeated."

    def upon(self, recommended: Plan, budget: Budget) -> Plan:
        """The plan with these settings on top of the recommended ones."""
        plan = load_preset_plan(self.preset) if self.preset else recommended
        given = {f.name: value for f in fields(self) if (value := getattr(self, f.name)) is not None}
        given.pop("preset", None)
        sampling = {name: given.pop(name) for name in ("temperature", "top_p", "seed") if name in given}
        return replace(plan.with_values({**given, "sampling": sampling}), budget=budget)


@Parameter(name="*", group=_BUDGET)
@dataclass(frozen=True, kw_only=True)
class BudgetOptions:
    """Hard limits; what was read when one is reached is kept and can be resumed."""

    max_tokens_total: int | None = None
    "Prompt and reply tokens of all calls together."
    max_seconds: float | None = None
    "Wall-clock seconds."
    max_cost: float | None = None
    "In the currency of the prices."
    price_in: float = 0.0
    "Price of a million prompt tokens."
    price_out: float = 0.0
    "Price of a million reply tokens."

    @property
    def budget(self) -> Budget:
        """The limits as a value."""
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
    """Where things go and in which form."""

    journal: Path | None = None
    "The journal's file; by default $BOOKWHEEL_JOURNAL or the user's data folder."
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False
    "One JSON object on standard output and nothing else."
    quiet: Annotated[bool, Parameter(negative="")] = False
    "No progress; warnings and errors only."

    def open_journal(self) -> Journal:
        """The journal, made when it is not there."""
        from bookwheel.journal import Journal, journal_path

        return Journal(self.journal or journal_path())


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """Everything that a command which reads can be told."""

    models: ModelOptions = field(default_factory=ModelOptions)
    plan: PlanOptions = field(default_factory=PlanOptions)
    budget: BudgetOptions = field(default_factory=BudgetOptions)
    output: OutputOptions = field(default_factory=OutputOptions)
    way: Annotated[str, Parameter(group=_PLAN)] = "sequential"
    "The way of reading."
