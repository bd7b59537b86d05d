"""The options that several commands share: the model, the plan, the budget, the output.

The options of the model are the fields of `Connection`, those of plan and budget the values that
`bookwheel.plan.SETTINGS` names: type, limits and help stand there once. Here stands how a word becomes a value.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar, dataclass_transform, get_args

from bookwheel.cli.arguments import Option
from bookwheel.configuration import Connection
from bookwheel.errors import JournalError
from bookwheel.plan import LIMITS, describe_setting
from bookwheel.schema import FieldSpec, Ge, Gt, Le, list_fields

if TYPE_CHECKING:
    from bookwheel.journal import Journal
    from bookwheel.models.patience import Patience
    from bookwheel.models.registry import ModelAddress
    from bookwheel.session import Session

_T = TypeVar("_T")
_SHORT: Final = {"model": "-m"}
_PLAN_OPTIONS: Final = (
    *("chunk_tokens", "memory_tokens", "answer_tokens", "question_tokens", "layout", "prompts", "lang"),
    *("gate_threshold", "rank", "verdict", "temperature", "top_p", "seed"),
)


def _require_text(value: str) -> None:
    """Refuse the empty text that a shell makes of an unset variable in quotes."""
    if not value.strip():
        raise ValueError("it must not be empty")


Text = Annotated[str, Option(check=_require_text)]
Texts = tuple[Text, ...]
"""An option that can be repeated."""
Words = Annotated[Text, Option(takes_hyphen=True)]
"""Words of the user's own, such as the line of a list, "- one"."""
OutPath = Annotated[Path, Option(name="--out", short="-o")]
AsJson = Annotated[bool, Option(name="--json")]
Quiet = Annotated[bool, Option(short="-q")]
PositiveInt = Annotated[int, Gt(0)]
Count = Annotated[int, Ge(0)]
Port = Annotated[int, Ge(0), Le(65535)]


@dataclass_transform(frozen_default=True, kw_only_default=True)
def define_options(
    group: str = "", specs: Mapping[str, FieldSpec] | None = None, default: str = "By default, {}."
) -> Callable[[type[_T]], type[_T]]:
    """Make options of a class: its own fields, and one for each of these specs, which is None where it is not given."""

    def define(class_: type[_T]) -> type[_T]:
        for name, spec in (specs or {}).items():
            text = Text if str in {spec.type_, *get_args(spec.type_)} else spec.type_
            option = Option(about=partial(_describe, spec, default), short=_SHORT.get(name, ""))
            class_.__annotations__[name] = Annotated[text | None, option]
            setattr(class_, name, None)
        class_.option_group = group  # type: ignore[attr-defined]  # the parser looks for it
        return dataclass(frozen=True, kw_only=True)(class_)

    return define


def _describe(spec: FieldSpec, default: str) -> str:
    if not spec.default or "by default" in spec.about:
        return spec.about
    return f"{spec.about} {default.format(f'{spec.default:g}' if isinstance(spec.default, float) else spec.default)}"


class FieldOptions:
    """Options of which only those count that are given."""

    @property
    def given(self) -> dict[str, Any]:
        """The options that are given, by the names that the Python functions take."""
        names = [one.name for one in fields(self)]  # type: ignore[arg-type]  # every subclass is a dataclass
        return {name: value for name in names if (value := getattr(self, name)) is not None}


@define_options("Model", list_fields(Connection))
class ModelOptions(FieldOptions):
    """The model, and how to reach it."""

    @property
    def connection(self) -> Connection:
        return Connection(**self.given)

    def open_session(
        self,
        journal: Journal | None = None,
        *,
        kept: ModelAddress | None = None,
        waits: Patience | None = None,
        record_tokens: bool = False,
        may_be_away: bool = False,
    ) -> AbstractAsyncContextManager[Session]:
        """Open the model until the end of the block, and what prepares and runs its readings."""
        from bookwheel.cli.runner import show_download
        from bookwheel.session import open_session

        return open_session(
            self.connection,
            journal,
            kept=kept,
            waits=waits,
            record_tokens=record_tokens,
            may_be_away=may_be_away,
            show_download=show_download,
        )


@define_options(
    "Plan",
    {name: describe_setting(name) for name in _PLAN_OPTIONS},
    "By default, the plan's; the usual plan has {}.",
)
class PlanOptions(FieldOptions):
    """Changes to the plan that the model recommends."""

    preset: Text | None = None
    """Start from this plan instead of the model's own: `laptop`, `paper-7b`, `qwen2.5`, `qwen3`, `llama-3`, `mistral`,
    `gemma` or another one that `bookwheel models` shows."""


@define_options("Budget", {name: describe_setting(name) for name in LIMITS})
class BudgetOptions(FieldOptions):
    """Hard limits. A reading that reaches one is kept and can be resumed."""


@define_options("Output")
class OutputOptions:
    """The journal's place and the form of the output."""

    journal: Path | None = None
    "The journal's file; by default, $BOOKWHEEL_JOURNAL or a file in the user's data folder."
    keep_text_only: bool = False
    "Keep the text of PDFs and office files in the journal, and not the files too, which the page shows."
    as_json: AsJson = False
    "Print one JSON object on standard output and nothing else."
    json_events: bool = False
    "Print one JSON object a line on standard output as things happen: the reading, each step, the answer."
    quiet: Quiet = False
    "Print no progress, only warnings and errors."

    @property
    def is_for_program(self) -> bool:
        return self.as_json or self.json_events

    @property
    def is_silent(self) -> bool:
        """Print no progress: it is unwanted, or a program reads the output."""
        return self.quiet or self.is_for_program

    @property
    def path(self) -> Path:
        from bookwheel.journal import journal_path

        return self.journal or journal_path()

    @property
    def is_default(self) -> bool:
        """The journal is the one that a command without --journal uses."""
        from bookwheel.journal import journal_path

        return self.path.absolute() == journal_path().absolute()

    def open_journal(self) -> Journal:
        """Open the journal; create it if there is none."""
        from bookwheel.journal import Journal

        if self.path.is_dir():
            raise JournalError(f"the journal {self.path} is a folder; name a file with --journal FILE")
        return Journal(self.path, keeps_files=not self.keep_text_only)

    def find_journal(self) -> Journal | None:
        """Open the journal to look something up; None if there is none yet. A mistyped path creates no file."""
        from bookwheel.journal import open_existing

        self.check_journal()
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

    def format_resume(self, reading_id: str) -> str:
        """Return the command that goes on with a reading, as it can be typed."""
        journal = "" if self.is_default else f" --journal {shlex.quote(str(self.journal))}"
        return f"bookwheel resume {reading_id[:8]}{journal}"


@define_options()
class CallOptions:
    """The options of a command that calls a model."""

    models: ModelOptions = field(default_factory=ModelOptions)
    budget: BudgetOptions = field(default_factory=BudgetOptions)
    output: OutputOptions = field(default_factory=OutputOptions)


@define_options()
class ReadingOptions(CallOptions):
    """The options of a command that begins readings."""

    plan: PlanOptions = field(default_factory=PlanOptions)
    way: Annotated[Text | None, Option(group="Plan")] = None
    """The way of reading: `sequential`, faster parts joined by "+" such as `edits`, `gated+edits` or `ranked+edits`,
    `quotes`, `auto`, `whole`, `refine`, `map-reduce`, `bm25`, `dense`, `hybrid`, `middle-cut`, `closed-book` or one of
    another package. By default, a document that fits the model's window is read in one call (`whole`) unless options
    say how to cut chunks, and any other the model's own way or `sequential`."""

    @property
    def given(self) -> dict[str, Any]:
        return {**self.plan.given, **self.budget.given}
