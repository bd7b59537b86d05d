"""Models by name: the embedded one, the scripted one, one of another package, or one behind a URL.

Another package registers a model through the entry point group `bookwheel.models`: a function without arguments, plain
or async, that returns the model. A `ModelAddress` is what opens the same model again; it never holds the key. What a
reading uses beside its model (a threshold, the small judge of `cascade`, embeddings) are its companions: whoever opens
a model hands them in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, cast

from bookwheel.environment import Environment
from bookwheel.errors import InputError, MissingExtra, UnknownModel
from bookwheel.models.base import find_endpoint
from bookwheel.models.endpoint import Endpoint, strip_secrets
from bookwheel.plan import Plan
from bookwheel.plugins import list_plugins, load_plugin, require_extra
from bookwheel.text.tokens import FileTokenizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from bookwheel.models.base import Model
    from bookwheel.models.weights import DownloadProgress

GROUP: Final = "bookwheel.models"
FOLDERS: Final = "bookwheel.model_folders"
"""The entry point `transformers` opens a folder of weights, in the form that training exports."""
BUILT_IN: Final = ("local", "scripted")
"""The models that need no server."""


def is_built_in(name: str) -> bool:
    """Return True for a model that runs in this process."""
    return name in BUILT_IN or name.endswith(".gguf") or is_folder(name)


def is_folder(name: str) -> bool:
    """Return True for a folder of weights in transformers' form, such as a run's `policy`."""
    return Path(name, "config.json").is_file() and Path(name, "tokenizer.json").is_file()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAddress:
    """Everything that opens the same model again, except the key.

    >>> ModelAddress(model="m", url="https://me:secret@host/v1?key=secret").to_json()["url"]
    'https://host/v1'
    """

    model: str | None = None
    """As `open_model` takes it; None is the endpoint's only model, or `local` without an endpoint."""
    url: str | None = None
    key_variable: str | None = None
    """None is `OPENAI_API_KEY`."""
    tokenizer: str | None = None
    window: int | None = None
    vision: str | None = None
    """By which rule pictures are counted that it is sent; None sends none."""

    def to_json(self) -> dict[str, Any]:
        """Return what may be stored: no password and no query of the URL, and absolute paths of files."""
        is_place = self.model and (self.model.endswith(".gguf") or is_folder(self.model))
        name = str(Path(self.model).absolute()) if self.model and is_place else self.model
        return {
            "model": name,
            "url": strip_secrets(self.url) if self.url else None,
            "key_variable": self.key_variable,
            "tokenizer": str(Path(self.tokenizer).absolute()) if self.tokenizer else None,
            "window": self.window,
            **({"vision": self.vision} if self.vision else {}),
        }

    def find_key(self, environment: Environment) -> str | None:
        """Return the key from its variable; InputError when that is not set, or None for OPENAI_API_KEY."""
        key = environment.find_key(self.key_variable)
        if key is None and self.key_variable:
            # Not OPENAI_API_KEY instead: that key is for another server.
            raise InputError(
                f"{self.url} needs the key in the environment variable {self.key_variable}, which is not set"
            )
        return key

    def complete(self, model: Model) -> Self:
        """Return the address with what opening the model has shown: the endpoint and the name found there."""
        if endpoint := find_endpoint(model):
            return replace(self, model=model.name, url=endpoint.url)
        return self if self.model else replace(self, model=model.name)

    async def open(self, *, api_key: str | None = None, **opening: Any) -> Model:
        """Open the model as `open_model` does, with a key of the caller's or the one in the key's variable."""
        environment = Environment.load()
        return await open_model(
            self.model,
            base_url=self.url,
            api_key=api_key or self.find_key(environment),
            tokenizer=self.tokenizer,
            window=self.window,
            vision=self.vision,
            environment=environment,
            **opening,
        )


def _find_factory(name: str) -> Callable[[], Any] | None:
    """Return what opens a folder of weights, or a model of another package by its name."""
    if not is_folder(name):
        factory: Callable[[], Any] | None = load_plugin(GROUP, name)
        return factory
    import asyncio

    opener = load_plugin(FOLDERS, "transformers")
    if opener is None:
        raise MissingExtra(f"the folder of weights {name!r}", "train")
    return partial(asyncio.to_thread, opener, Path(name))


async def open_model(
    name: str | None,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    tokenizer: Path | str | None = None,
    window: int | None = None,
    vision: str | None = None,
    threads: int | None = None,
    timeout: float | None = None,  # noqa: ASYNC109 - of each request, not of this call
    deadline: float | None = None,
    concurrency: int | None = None,
    record_tokens: bool = False,
    may_be_away: bool = False,
    progress: DownloadProgress | None = None,
    environment: Environment | None = None,
) -> Model:
    """Open the model of this name. Without a name, open the endpoint's only model, or `local` without an endpoint.

    A server that `may_be_away` is opened without an answer, if the name is given (`OpenAIModel.connect`).
    `progress` is called with the bytes while the local model's weights are fetched. What is not given here is taken
    from `environment`, by default this process's.
    """
    environment = environment or Environment.load()
    url, api_key = base_url or environment.base_url, api_key or environment.find_key()
    if name and base_url and is_built_in(name):
        raise InputError(
            f"the model {name!r} runs in this process and the base URL {base_url!r} is a server's: leave out one of "
            f"--model and --base-url"
        )
    if name == "scripted":
        from bookwheel.models.scripted import ScriptedModel, keyword_judge, keyword_likelihood, keyword_reader

        plan = Plan().within(window)
        return ScriptedModel(
            keyword_reader, plan=plan, judge=keyword_judge, likelihood=keyword_likelihood, window=window
        )
    file = Path(name) if name and name.endswith(".gguf") else None
    if file or name == "local" or not (name or url):
        # Before any download: without the engine the weights are of no use.
        require_extra("the local model", "local", "xllamacpp", "gguf")
        from bookwheel.models.local import LocalModel

        return await LocalModel.open(
            file, threads=threads, progress=progress, record_tokens=record_tokens, environment=environment
        )
    # An address on the command line outranks a plug-in; one in the environment does not.
    if name and not base_url and (factory := _find_factory(name)):
        model = factory()
        return cast("Model", await model if isawaitable(model) else model)
    if not url:
        names = (*BUILT_IN, *list_plugins(GROUP))
        raise UnknownModel(
            f"no model {name!r} here: {' and '.join(names)} need no server; any other needs its server's address, "
            f"--base-url http://localhost:8000/v1 or OPENAI_BASE_URL (OpenAI's own is https://api.openai.com/v1)"
        )
    from bookwheel.models.openai import OpenAIModel
    from bookwheel.models.server_models import find_only_model

    model = OpenAIModel(
        name=name or await find_only_model(Endpoint.resolve(url, api_key, account=environment.account)),
        base_url=url,
        api_key=api_key,
        account=environment.account,
        timeout=timeout,
        deadline=deadline,
        concurrency=concurrency,
        tokenizer=FileTokenizer(Path(tokenizer)) if tokenizer else None,
        window=window,
        vision=vision,
        record_tokens=record_tokens,
    )
    return await model.connect(may_be_away=may_be_away)
