"""The options that several commands share, and what is built from them: a model, a plan, a budget, a journal."""

from __future__ import annotations

import shlex
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from cyclopts import Group, Parameter

from bookwheel.cli.option_types import FilePath, PositiveInt, Text, require_bounds
from bookwheel.configuration import Configuration, choose_address, load_configuration
from bookwheel.environment import Environment
from bookwheel.errors import JournalError
from bookwheel.models.registry import ModelAddress
from bookwheel.plan import (
    Layout,
    Positive,
    Price,
    Rank,
    Seed,
    Temperature,
    Tokens,
    TopP,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from bookwheel.journal import Journal
    from bookwheel.models.base import Model
    from bookwheel.models.patience import Patience
    from bookwheel.plan import Plan
    from bookwheel.session import Session

_MODEL: Final = Group("Model", sort_key=2)
_PLAN: Final = Group("Plan", sort_key=3)
_BUDGET: Final = Group("Budget", sort_key=4)
_OUTPUT: Final = Group("Output", sort_key=5)

_Positive = Annotated[Positive, require_bounds(Positive)]
_Price = Annotated[Price, require_bounds(Price)]
_Tokens = Annotated[Tokens, require_bounds(Tokens)]


@Parameter(name="*", group=_MODEL)
@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The model, and how to reach it."""

    model: Annotated[Text | None, Parameter(name=("--model", "-m"))] = None
    """`local` (the default), `scripted`, a .gguf file, an endpoint that a settings file names, or the name of a model
    that the endpoint serves."""
    base_url: Text | None = None
    "An OpenAI-compatible endpoint, such as http://localhost:8000/v1; by default, $OPENAI_BASE_URL."
    api_key: Text | None = None
    "The endpoint's key; by default, $OPENAI_API_KEY, which other users cannot see, as they can a command line."
    tokenizer: FilePath | None = None
    "The model's tokenizer.json, if the endpoint cannot count tokens."
    window: PositiveInt | None = None
    "The model's context window in tokens, if the endpoint does not report it."
    timeout: _Positive = 600.0
    "Seconds of silence after which a call has failed."
    deadline: _Positive | None = None
    "Seconds that one whole reply may take; by default, three times --timeout, and at least a minute."
    patience: _Price = 10.0
    "Minutes for which a failing call is tried again, counted from its first failure; 0 tries once."
    concurrency: PositiveInt = 16
    "Requests in flight at the same time."
    threads: PositiveInt | None = None
    "CPU threads of the local model; by default, the idle cores."

    @property
    def url(self) -> str | None:
        """The endpoint's address, from the option or the environment."""
        return self.base_url or Environment.load().base_url

    @property
    def key(self) -> str | None:
        """The endpoint's key, from the option or the environment."""
        return self.api_key or Environment.load().find_key()

    def find_address(self, settings: Configuration, kept: ModelAddress | None = None) -> ModelAddress:
        """Return the model's address. `kept` is that of a reading that goes on; an option goes on top of it."""
        address = choose_address(self.model, self.base_url, settings, kept)
        return replace(
            address,
            tokenizer=str(self.tokenizer) if self.tokenizer else address.tokenizer,
            window=self.window or address.window,
        )

    @asynccontextmanager
    async def open_session(
        self, address: ModelAddress, journal: Journal, patience: Patience | None = None
    ) -> AsyncGenerator[Session]:
        """Open the model until the end of the block, and what prepares and runs its readings."""
        from bookwheel.models.patience import Patience, persist
        from bookwheel.session import Session

        model = await persist(lambda: self.open(address), patience or Patience(seconds=0))
        try:
            waits = Patience.from_minutes(self.patience)
            yield Session(model=model, journal=journal, address=address, patience=waits)
        finally:
            await model.aclose()

    async def open(self, address: ModelAddress | None = None, *, record_tokens: bool = False) -> Model:
        """Open the model. The local one downloads its weights the first time."""
        from bookwheel.cli.progress import show_download
        from bookwheel.companions import accompany

        address = address or self.find_address(load_configuration())
        with show_download() as progress:
            model = await address.open(
                api_key=self.api_key,
                timeout=self.timeout,
                deadline=self.deadline,
                concurrency=self.concurrency,
                threads=self.threads,
                record_tokens=record_tokens,
                progress=progress,
            )
        return accompany(model)


@Parameter(name="*", group=_PLAN)
@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """Changes to the plan that the model recommends."""

    preset: Text | None = None
    """Start from this plan instead of the model's own: `laptop`, `paper-7b`, `qwen2.5`, `qwen3`, `llama-3`, `mistral`,
    `gemma` or another one that `bookwheel models` shows."""
    chunk_tokens: _Tokens | None = None
    "Tokens of the document in each call; by default, the plan's: 5000 in a window of 8192."
    memory_tokens: _Tokens | None = None
    "Token limit of the memory; by default, the plan's: 1024 in a window of 8192."
    answer_tokens: _Tokens | None = None
    "Token limit of the answer; by default, the plan's: 1024 in a window of 8192."
    question_tokens: _Tokens | None = None
    "Token limit of the question; by default, the plan's: 1024 in a window of 8192."
    layout: Layout | None = None
    """Order of the prompt, `memory-first` by default. With `section-first`, a server can reuse the chunk's KV cache."""
    prompts: Text | None = None
    "A prompt set, `standard` (the default), `small` or `tiny`, or a TOML file with one."
    language: Annotated[Text | None, Parameter(name="--lang")] = None
    "Language of the prompts, `en` or `zh`; by default, the question's."
    gate_threshold: float | None = None
    "Read chunks whose judgement is at least this, in the gated ways; by default, what `bookwheel calibrate` found."
    rank: Rank | None = None
    "Order of the way `ranked`: by `words` (the default), or by `embeddings` of the endpoint."
    temperature: Annotated[Temperature, require_bounds(Temperature)] | None = None
    "Sampling temperature from 0, which is greedy, to 2; by default, the plan's."
    top_p: Annotated[TopP, require_bounds(TopP)] | None = None
    "Nucleus sampling: the probability mass to sample from, up to 1; by default, the plan's."
    seed: Annotated[Seed, require_bounds(Seed)] | None = None
    "Seed of the sampling, for repeatable readings."


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
    price_in: _Price | None = None
    "Price of a million prompt tokens; by default, the named endpoint's."
    price_out: _Price | None = None
    "Price of a million reply tokens; by default, the named endpoint's."


def list_given(*options: PlanOptions | BudgetOptions) -> dict[str, Any]:
    """Return the options that are given, under the names that the Python functions take."""
    return {f.name: value for one in options for f in fields(one) if (value := getattr(one, f.name)) is not None}


def build_server_plan(model: Model, models: ModelOptions, *options: PlanOptions | BudgetOptions) -> Plan:
    """Return the plan of a server's readings, from the settings files and these options."""
    from bookwheel.arguments import build_plan

    settings = load_configuration()
    return build_plan(None, model, list_given(*options), settings, models.find_address(settings))


@Parameter(name="*", group=_OUTPUT)
@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """The journal's place and the form of the output."""

    journal: FilePath | None = None
    "The journal's file; by default, $BOOKWHEEL_JOURNAL or a file in the user's data folder."
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False
    "Print one JSON object on standard output and nothing else."
    json_events: Annotated[bool, Parameter(negative="")] = False
    "Print one JSON object a line on standard output as things happen: the reading, each step, the answer."
    quiet: Annotated[bool, Parameter(name=("--quiet", "-q"), negative="")] = False
    "Print no progress, only warnings and errors."

    @property
    def is_silent(self) -> bool:
        """Print no progress: it is unwanted, or a program reads the output."""
        return self.quiet or self.as_json or self.json_events

    @property
    def path(self) -> Path:
        """The journal's file."""
        from bookwheel.journal import journal_path

        return self.journal or journal_path()

    def open_journal(self) -> Journal:
        """Open the journal; create it if there is none."""
        from bookwheel.journal import Journal

        if self.path.is_dir():
            raise JournalError(f"the journal {self.path} is a folder; name a file with --journal FILE")
        return Journal(self.path)

    def find_journal(self) -> Journal | None:
        """Open the journal to look something up; None if there is none yet. A mistyped path creates no file."""
        self.check_journal()
        from bookwheel.journal import open_existing

        return open_existing(self.path)

    def check_journal(self) -> None:
        """Raise JournalError if --journal names a file that is not there."""
        if not self.is_default and not self.path.exists():
            raise JournalError(f"there is no journal {self.journal}; check the path, or `bookwheel ask` begins one")

    def require_journal(self, reading: str) -> Journal:
        """Open the journal that has a reading; JournalError if there is none yet."""
        journal = self.find_journal()
        if journal is None:
            raise JournalError(f"no reading {reading!r}: there are no readings yet; `bookwheel ask` makes one")
        return journal

    @property
    def is_default(self) -> bool:
        """The journal is the one that a command without --journal uses."""
        from bookwheel.journal import journal_path

        return self.path.absolute() == journal_path().absolute()

    def format_resume(self, reading_id: str) -> str:
        """Return the command that goes on with a reading, as it can be typed."""
        journal = "" if self.is_default else f" --journal {shlex.quote(str(self.journal))}"
        return f"bookwheel resume {reading_id[:8]}{journal}"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """The options of a command that reads."""

    models: ModelOptions = field(default_factory=ModelOptions)
    plan: PlanOptions = field(default_factory=PlanOptions)
    budget: BudgetOptions = field(default_factory=BudgetOptions)
    output: OutputOptions = field(default_factory=OutputOptions)
    way: Annotated[Text | None, Parameter(group=_PLAN)] = None
    """The way of reading: `sequential`, faster parts joined by "+" such as `edits`, `gated+edits` or `ranked+edits`,
    `quotes`, `auto`, `whole`, `refine`, `map-reduce`, `bm25`, `dense`, `hybrid`, `middle-cut`, `closed-book` or one of
    another package. By default, a document that fits the model's window is read in one call (`whole`) unless options
    say how to cut chunks, and any other the model's own way or `sequential`."""
