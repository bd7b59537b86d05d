"""The arguments of the Python functions: checked, and turned into an address, a plan, a way and a document.

The functions take the options of `bookwheel ask` by their names. A wrong name or type is an InputError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict, TypeVar, cast

from bookwheel.configuration import Configuration, choose_address
from bookwheel.errors import InputError
from bookwheel.models.patience import Patience
from bookwheel.models.registry import ModelAddress
from bookwheel.plan import Plan, Sampling, load_preset_plan, merge_tables

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from bookwheel.models.base import Model
    from bookwheel.plan import Budget
    from bookwheel.types import Document

    Source = str | Path | Sequence[str | Path] | Document

_T = TypeVar("_T")

BUDGET: Final = {"max_tokens_total": "tokens", "max_seconds": "seconds", "max_cost": "cost"}
PRICES: Final = ("price_in", "price_out")
_NO_LIMITS: Final = {"tokens": None, "seconds": None, "cost": None}
_SAMPLING: Final = tuple(field.name for field in fields(Sampling) if field.name != "schema")
_PLAN: Final = tuple(field.name for field in fields(Plan) if field.name != "schema")

# Options of the command whose values stand under another name in the plan.
_OPTIONS: Final = ("lang", "gate_threshold")


class Connection(TypedDict, total=False):
    """How the model is reached: keyword arguments of every function here, with the names of the command's options."""

    base_url: str | None
    api_key: str | None
    tokenizer: str | Path | None
    window: int | None
    timeout: float | None
    deadline: float | None
    patience: float | None
    concurrency: int | None
    threads: int | None


CONNECTION: Final = tuple(Connection.__annotations__)


def check_question(question: object) -> None:
    """Raise InputError for a question that is no text."""
    if not isinstance(question, str):
        raise InputError(f"the question must be text, not {type(question).__name__}: read(source, question)")


def resolve_journal(journal: object) -> Path:
    """Return the journal's file, by default the user's; InputError for what is no path."""
    from bookwheel.journal import journal_path

    if journal is None:
        return journal_path()
    if not isinstance(journal, str | Path) or not str(journal).strip():
        raise InputError(f"journal must be the path of a file, not {journal!r}")
    return Path(journal)


def reading_id(reading: object) -> str:
    """Return the id of a Reading; InputError for any other object."""
    id_ = getattr(reading, "id", None)
    if not isinstance(id_, str):
        raise InputError(f"name the reading by its id, or give the Reading, not {type(reading).__name__}")
    return id_


def find_address(
    model: object, connection: Mapping[str, Any], configuration: Configuration, kept: ModelAddress | None = None
) -> ModelAddress:
    """Return the model's address by the rules of the command line."""
    if model is not None and not isinstance(model, str):
        if not hasattr(model, "reply"):
            raise InputError(f"model must be a name or an object with `reply`, not {type(model).__name__}")
        return ModelAddress()
    for name in ("base_url", "api_key"):
        if connection.get(name) is not None and not isinstance(connection[name], str):
            raise InputError(f"{name} must be text, not {type(connection[name]).__name__}")
    address = choose_address(model, connection.get("base_url"), configuration, kept)
    tokenizer, window = connection.get("tokenizer"), connection.get("window")
    return replace(
        address, tokenizer=str(tokenizer) if tokenizer else address.tokenizer, window=window or address.window
    )


def split_model(model: str | Model | None, connection: Mapping[str, Any]) -> tuple[Model | None, dict[str, Any]]:
    """Return the caller's own model, if they gave one, and the settings with which another is opened."""
    if model is not None and not isinstance(model, str):
        return model, {}
    for name in ("window", "timeout", "deadline", "concurrency", "threads"):
        value = connection.get(name)
        if value is not None and not (isinstance(value, int | float) and value > 0):
            raise InputError(f"{name} must be a number above 0, not {value!r}")
    names = ("api_key", "timeout", "deadline", "concurrency", "threads")
    return None, {name: connection[name] for name in names if name in connection}


def build_patience(connection: Mapping[str, Any]) -> Patience:
    """Return the patience of `patience` minutes, or the usual one."""
    minutes = connection.get("patience")
    if minutes is None:
        return Patience()
    if not isinstance(minutes, int | float) or not minutes >= 0:
        raise InputError(f"patience must be a number of minutes, 0 or more, not {minutes!r}")
    return Patience.from_minutes(minutes)


def build_plan(
    plan: Plan | None, model: Model, settings: dict[str, Any], configuration: Configuration, address: ModelAddress
) -> Plan:
    """Return the caller's plan, or the model's with the settings files' changes, and the flat settings on top."""
    if plan is not None and not isinstance(plan, Plan):
        raise InputError(f"plan must be a Plan, not {type(plan).__name__}; values of one can be given by name")
    preset = settings.pop("preset", None)
    if preset is not None and plan is not None:
        raise InputError("give a plan or a preset, not both")
    name = preset or configuration.preset
    base = plan or (load_preset_plan(name) if name else model.plan).with_values(configuration.plan)
    if plan is None and (endpoint := configuration.find_endpoint(address)):
        base = replace(base, budget=endpoint.apply_prices(base.budget))
    refuse_unknown(settings, (*CONNECTION, "preset", *_OPTIONS, *_PLAN, *_SAMPLING, *BUDGET, *PRICES))
    return base.with_values(nest_values(settings))


def nest_values(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return flat settings as values of a plan, each in its table."""
    values = {name: settings[name] for name in _PLAN if name in settings}
    if "lang" in settings:
        values["language"] = settings["lang"]
    if "gate_threshold" in settings:
        values["gate"] = {"threshold": settings["gate_threshold"]}
    sampling = {name: settings[name] for name in _SAMPLING if name in settings}
    tables = {"sampling": sampling, "budget": budget_values(settings)}
    return merge_tables(values, {name: table for name, table in tables.items() if table})


def budget_values(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the limits and prices under their names in the plan's budget."""
    limits = {inner: settings[name] for name, inner in BUDGET.items() if name in settings}
    return limits | {name: settings[name] for name in PRICES if name in settings}


def renew_budget(old: Budget, settings: Mapping[str, Any]) -> Budget:
    """Return the budget of a reading that goes on: its prices hold, and its limits were for the old run."""
    return Plan(budget=old).with_values({"budget": {**_NO_LIMITS, **budget_values(settings)}}).budget


def refuse_unknown(settings: Mapping[str, Any], known: Sequence[str]) -> None:
    """Raise InputError for the first setting of no known name; the nearest one is suggested."""
    from difflib import get_close_matches

    for name in settings:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
            raise InputError(f"unknown setting {name!r}; {hint}")


def open_source(source: object, *, everything: bool = False) -> Document:
    """Return the source as a document; InputError says what to give instead of an open file or bytes."""
    from bookwheel.documents.opening import open_document

    if isinstance(source, (str, Path)):
        return open_document([source], everything=everything)
    if isinstance(source, bytes) or hasattr(source, "read"):
        raise InputError(
            f"{type(source).__name__} is no document: give the file's path, or its text as TextDocument(text)"
        )
    if isinstance(source, Sequence):
        if wrong := [part for part in source if not isinstance(part, str | Path)]:
            raise InputError(f"a list of sources holds paths, folders and URLs, not {type(wrong[0]).__name__}")
        return open_document(source, everything=everything)
    if not hasattr(source, "parts"):
        raise InputError(f"{type(source).__name__} is no document: give a path, a URL, a folder or TextDocument(text)")
    return cast("Document", source)


def run_now(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine to its end, also inside a notebook's event loop."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    # `asyncio.run` refuses to run inside a running loop, so the work gets a thread and a loop of its own.
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(asyncio.run, work).result()
