"""Models by name: the embedded one, the scripted one, one of another package, or one behind a URL.

Another package registers a model through the entry point group `bookwheel.models`: a function without arguments, plain
or async, that returns the model.
"""

from __future__ import annotations

import os
from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from bookwheel.errors import InputError, UnknownModel
from bookwheel.models.address import BUILT_IN, is_built_in
from bookwheel.plugins import list_plugins, load_plugin, require_extra

if TYPE_CHECKING:
    from bookwheel.models.base import Model
    from bookwheel.models.openai import EndpointSettings
    from bookwheel.models.weights import DownloadProgress

GROUP: Final = "bookwheel.models"


async def open_model(
    name: str | None,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    tokenizer: Path | str | None = None,
    window: int | None = None,
    threads: int | None = None,
    timeout: float | None = None,  # noqa: ASYNC109 - of each request, not of this call
    deadline: float | None = None,
    concurrency: int | None = None,
    record_tokens: bool = False,
    progress: DownloadProgress | None = None,
) -> Model:
    """Open the model of this name. Without a name, open the endpoint's only model, or `local` without an endpoint.

    `progress` is called with the bytes while the local model's weights are fetched.
    """
    url = base_url or os.environ.get("OPENAI_BASE_URL")
    if name and base_url and is_built_in(name):
        raise InputError(
            f"the model {name!r} runs in this process and the base URL {base_url!r} is a server's: leave out one of "
            f"--model and --base-url"
        )
    if name == "scripted":
        from bookwheel.models.scripted import ScriptedModel, keyword_judge, keyword_likelihood, keyword_reader

        return ScriptedModel(keyword_reader, judge=keyword_judge, likelihood=keyword_likelihood)
    file = Path(name) if name and name.endswith(".gguf") else None
    if file or name == "local" or not (name or url):
        # Before any download: without the engine the weights are of no use.
        require_extra("the local model", "local", "xllamacpp", "gguf")
        from bookwheel.models.local import LocalModel

        return await LocalModel.open(file, threads=threads, progress=progress, record_tokens=record_tokens)
    # An address on the command line outranks a plug-in; one in the environment does not.
    if name and not base_url and (factory := load_plugin(GROUP, name)):
        model = factory()
        return cast("Model", await model if isawaitable(model) else model)
    if not url:
        names = (*BUILT_IN, *list_plugins(GROUP))
        raise UnknownModel(
            f"no model {name!r} here: {' and '.join(names)} need no server; any other needs its server's address, "
            f"--base-url http://localhost:8000/v1 or OPENAI_BASE_URL (OpenAI's own is https://api.openai.com/v1)"
        )
    from bookwheel.models.openai import OpenAIModel

    settings: EndpointSettings = {"base_url": url, "api_key": api_key, "window": window, "record_tokens": record_tokens}
    if timeout is not None:
        settings["timeout"] = timeout
    if deadline is not None:
        settings["deadline"] = deadline
    if concurrency is not None:
        settings["concurrency"] = concurrency
    return await OpenAIModel.connect(name or await _find_only_name(url, api_key), tokenizer=tokenizer, **settings)


async def _find_only_name(url: str, api_key: str | None) -> str:
    from bookwheel.models.endpoint import Endpoint
    from bookwheel.models.server_models import find_only_model

    return await find_only_model(Endpoint.resolve(url, api_key))
