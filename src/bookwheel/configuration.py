r"""The settings files: named endpoints, the default model, way and plan, and templates of questions.

The user's file is `~/.config/bookwheel/config.toml`; the project's is `bookwheel.toml` in the current folder or, inside
a repository, in a folder above it. The project's settings go on top of the user's. Neither file can hold a key: an
endpoint names the environment variable that does.

>>> Configuration.from_toml('[endpoints.tower]\nurl = "http://tower:8000/v1"\nprize_in = 1', Path("my.toml"))
Traceback (most recent call last):
bookwheel.errors.InputError: my.toml: unknown setting 'prize_in' in [endpoints.tower]; did you mean 'price_in'?
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Self
from urllib.parse import urlsplit

from bookwheel.environment import Environment
from bookwheel.errors import InputError, explain_failure
from bookwheel.patterns import compile_late
from bookwheel.plan import Budget, Plan, Positive, Price, merge_tables
from bookwheel.preset import list_presets
from bookwheel.schema import Ge, check_bounds, parse

if TYPE_CHECKING:
    from bookwheel.models.endpoint import Endpoint
    from bookwheel.models.registry import ModelAddress

PROJECT_FILE: Final = "bookwheel.toml"
_VARIABLE: Final = compile_late(r"[A-Za-z_][A-Za-z0-9_]*")
_BLANK: Final = compile_late(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedEndpoint:
    """A server under a name of the user's, for `--model NAME`."""

    url: str
    model: str | None = None
    """The name that it serves; None is its only model."""
    key_variable: str | None = None
    """The environment variable with the key; `OPENAI_API_KEY` by default."""
    price_in: Price = 0.0
    """Price of a million prompt tokens."""
    price_out: Price = 0.0
    """Price of a million reply tokens."""
    window: Annotated[int, Ge(1)] | None = None
    tokenizer: str | None = None
    """A tokenizer.json; a relative path starts at the settings file."""
    vision: str | None = None
    """As `--vision`."""

    def __post_init__(self) -> None:
        check_bounds(self)

    def apply_prices(self, budget: Budget) -> Budget:
        has_prices = self.price_in or self.price_out
        return replace(budget, price_in=self.price_in, price_out=self.price_out) if has_prices else budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """What the settings files say. Options and environment variables go on top."""

    model: str | None = None
    """A named endpoint, or anything else that `--model` takes."""
    way: str | None = None
    preset: str | None = None
    plan: dict[str, Any] = field(default_factory=dict)
    """Values of the plan, on top of the preset or the model's own plan."""
    endpoints: dict[str, NamedEndpoint] = field(default_factory=dict)
    templates: dict[str, str] = field(default_factory=dict)
    """Questions asked often; `{name}` is filled in by --fill."""

    @property
    def has_chunks(self) -> bool:
        """The settings say how to read in chunks, so a document that fits the window is read in chunks too."""
        return names_chunks([*self.plan, *(["preset"] if self.preset else [])])

    @classmethod
    def from_toml(cls, text: str, path: Path) -> Self:
        """Return the settings of a file; InputError names file, key and what is allowed."""
        try:
            values = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise InputError(f"{path} is no TOML: {error}") from error
        settings = parse(cls, values, where=str(path))
        parse(Plan, settings.plan, where=str(path), table="plan")
        for name, endpoint in settings.endpoints.items():
            _check_endpoint(name, endpoint, path)
        if settings.preset is not None and settings.preset not in list_presets():
            raise InputError(f"{path}: preset must be one of {', '.join(list_presets())}, not {settings.preset!r}")
        # The paths of tokenizers and of a prompt set begin at the file's folder.
        endpoints = {
            name: replace(one, tokenizer=str(path.parent / Path(one.tokenizer).expanduser())) if one.tokenizer else one
            for name, one in settings.endpoints.items()
        }
        prompts = str(settings.plan.get("prompts", ""))
        own = {"prompts": str(path.parent / Path(prompts).expanduser())} if prompts.endswith(".toml") else {}
        return replace(settings, plan={**settings.plan, **own}, endpoints=endpoints)

    def merge(self, other: Self) -> Self:
        """Return these settings with the other's on top."""
        return replace(
            self,
            model=other.model or self.model,
            way=other.way or self.way,
            preset=other.preset or self.preset,
            plan=merge_tables(self.plan, other.plan),
            endpoints=self.endpoints | other.endpoints,
            templates=self.templates | other.templates,
        )

    def apply_prices(self, budget: Budget, address: ModelAddress) -> Budget:
        """Return the budget with the prices of the named endpoint at this address, if it has any."""
        here = [one for one in self.endpoints.values() if one.url.rstrip("/") == (address.url or "").rstrip("/")]
        endpoint = next((one for one in here if one.model in {None, address.model} or address.model is None), None)
        return endpoint.apply_prices(budget) if endpoint else budget

    def fill_template(self, name: str, values: Mapping[str, str]) -> str:
        """Return the question of a template; InputError when a blank has no value, or a value no blank."""
        if name not in self.templates:
            known = ", ".join(self.templates) or "none; write some under [templates] in bookwheel.toml"
            raise InputError(f"no template {name!r}; there are: {known}")
        text = self.templates[name]
        blanks = set(_BLANK.findall(text))
        if missing := sorted(blanks - set(values)):
            raise InputError(f"the template {name!r} needs --fill {missing[0]}=TEXT")
        if unused := sorted(set(values) - blanks):
            raise InputError(
                f"the template {name!r} has no blank {{{unused[0]}}}; it has: {', '.join(sorted(blanks)) or 'none'}"
            )
        return _BLANK.sub(lambda blank: values[blank[1]], text)


def _check_endpoint(name: str, endpoint: NamedEndpoint, path: Path) -> None:
    """Raise InputError for what the types do not say."""
    from bookwheel.models.registry import is_built_in

    key = f"{path}: endpoints.{name}"
    if is_built_in(name):
        raise InputError(f"{key}: the name is taken by a model that needs no server; choose another")
    try:
        parts = urlsplit(endpoint.url)
        is_web = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        is_web = False
    if not is_web:
        raise InputError(f"{key}.url must be a web address such as http://localhost:8000/v1, not {endpoint.url!r}")
    if parts.password:
        raise InputError(f"{key}.url must hold no password: put the key into a variable and name it in key_variable")
    if endpoint.key_variable is not None and not _VARIABLE.fullmatch(endpoint.key_variable):
        raise InputError(
            f"{key}.key_variable must be the name of an environment variable such as TOWER_KEY, never the key itself"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The model and how to reach it: options of the commands, and arguments of the Python functions."""

    model: str | None = None
    """`local` (the default), `scripted`, a .gguf file, an endpoint that a settings file names, or the name of a model
    that the endpoint serves."""
    base_url: str | None = None
    """An OpenAI-compatible endpoint, such as http://localhost:8000/v1; by default, $OPENAI_BASE_URL."""
    api_key: str | None = field(default=None, repr=False)
    """The endpoint's key; by default, $OPENAI_API_KEY, which other users cannot see, as they can a command line."""
    tokenizer: str | None = None
    """The model's tokenizer.json, if the endpoint cannot count tokens."""
    window: Annotated[int, Ge(1)] | None = None
    """The model's context window in tokens, if the endpoint does not report it. The built-in model knows its own."""
    vision: str | None = None
    """The endpoint's model sees pictures: `auto`, or the rule by which it counts them (`gpt`, `gpt-small`, `qwen`,
    `gemma`, `llava`, `pixtral`, `internvl`, `any`). Without it, or with `off`, it is sent recognised words alone."""
    timeout: Positive = 600.0
    """Seconds of silence after which a call has failed."""
    deadline: Positive | None = None
    """Seconds that one whole reply may take; by default, three times --timeout, and at least a minute."""
    patience: Price = 10.0
    """Minutes for which a failing call is tried again, counted from its first failure; 0 tries once."""
    concurrency: Annotated[int, Ge(1)] = 16
    """Requests in flight at the same time."""
    threads: Annotated[int, Ge(1)] | None = None
    """CPU threads of the local model; by default, the idle cores."""

    def __post_init__(self) -> None:
        check_bounds(self)

    @classmethod
    def pop_from(cls, settings: dict[str, Any], model: object = None) -> Self:
        """Take what belongs here out of the keyword arguments of a Python function; InputError for a wrong type."""
        names = [one.name for one in fields(cls) if one.name in settings]
        taken = {name: settings.pop(name) for name in names} | {"model": model if isinstance(model, str) else None}
        return parse(cls, {name: value for name, value in taken.items() if value is not None})

    @property
    def url(self) -> str | None:
        """The endpoint's address, from the option or the environment."""
        return self.base_url or Environment.load().base_url

    def resolve_endpoint(self, timeout: float) -> Endpoint:
        """Return the server itself, with key and account from the options or the environment."""
        from bookwheel.models.endpoint import Endpoint

        environment = Environment.load()
        key = self.api_key or environment.find_key()
        return Endpoint.resolve(self.url or "", key, account=environment.account, timeout=timeout)

    @property
    def opening(self) -> dict[str, Any]:
        """What opening a model takes beside its address."""
        return {name: getattr(self, name) for name in ("api_key", "timeout", "deadline", "concurrency", "threads")}

    def find_address(self, settings: Configuration, kept: ModelAddress | None = None) -> ModelAddress:
        """Return the model's address. `kept` is that of a reading that goes on; what is named goes on top of it."""
        address = self._choose_address(settings, kept)
        named = {name: value for name in ("tokenizer", "window", "vision") if (value := getattr(self, name))}
        return replace(address, **named)

    def _choose_address(self, settings: Configuration, kept: ModelAddress | None) -> ModelAddress:
        from bookwheel.models.registry import ModelAddress, is_built_in

        model, base_url = self.model, self.base_url
        name = model or (None if kept else settings.model)
        if name and not base_url and (endpoint := settings.endpoints.get(name)):
            return ModelAddress(
                model=endpoint.model,
                url=endpoint.url,
                key_variable=endpoint.key_variable,
                tokenizer=endpoint.tokenizer,
                window=endpoint.window,
                vision=endpoint.vision,
            )
        if kept and base_url and kept.url:
            # Another server: the key of the old one is not for it.
            return replace(kept, model=model or kept.model, url=base_url, key_variable=None)
        if kept and not base_url and (not model or (kept.url and not is_built_in(model))):
            return replace(kept, model=model or kept.model)
        return ModelAddress(model=model or (None if base_url else name), url=base_url)


def names_chunks(settings: Collection[str]) -> bool:
    """Return True if these settings say how to cut chunks."""
    return not {"preset", "chunk_tokens", "memory_tokens"}.isdisjoint(settings)


def user_file() -> Path:
    """Return $BOOKWHEEL_CONFIG, or config.toml in the user's configuration folder."""
    if named := os.environ.get("BOOKWHEEL_CONFIG"):
        return Path(named).expanduser()
    folder = os.environ.get("XDG_CONFIG_HOME")
    return (Path(folder) if folder else Path.home() / ".config") / "bookwheel" / "config.toml"


def find_project_file(folder: Path) -> Path | None:
    """Return bookwheel.toml in this folder or, inside a repository, in the nearest folder above it that has one."""
    folders = [folder, *folder.parents]
    root = next((at for at, place in enumerate(folders) if (place / ".git").exists()), 0)
    for place in folders[: root + 1]:
        if (file := place / PROJECT_FILE).is_file():
            return file
    return None


def find_files() -> list[Path]:
    """Return the settings files there are, the user's first."""
    user, project = user_file(), find_project_file(Path.cwd())
    if "BOOKWHEEL_CONFIG" in os.environ and os.environ["BOOKWHEEL_CONFIG"] and not user.is_file():
        raise InputError(f"BOOKWHEEL_CONFIG names {user}, which does not exist; correct it or unset it")
    return [file for file in (user, project) if file is not None and file.is_file()]


def load_configuration() -> Configuration:
    """Return the project's settings on top of the user's."""
    settings = Configuration()
    for file in find_files():
        settings = settings.merge(_load_file(file))
    return settings


def _load_file(path: Path) -> Configuration:
    with explain_failure(path, "read"):
        # A file of another user could send documents and keys to a server of theirs.
        if hasattr(os, "getuid") and path.stat().st_uid not in {os.getuid(), 0}:
            raise InputError(f"{path} belongs to another user, so it is not used; remove it, or make it yours")
        return Configuration.from_toml(path.read_text(encoding="utf-8"), path)
