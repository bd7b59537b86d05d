"""The way to a model: its name and, behind an endpoint, where it is and which variable has the key. Never the key."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from bookwheel.errors import InputError

if TYPE_CHECKING:
    from bookwheel.models.base import Model
    from bookwheel.models.weights import DownloadProgress

BUILT_IN: Final = ("local", "scripted")
"""The models that need no server."""


def is_built_in(name: str) -> bool:
    """Return True for a model that runs in this process."""
    return name in BUILT_IN or name.endswith(".gguf")


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

    def to_json(self) -> dict[str, Any]:
        """Return what may be stored: no password and no query of the URL, and absolute paths of files."""
        name = str(Path(self.model).absolute()) if self.model and self.model.endswith(".gguf") else self.model
        return {
            "model": name,
            "url": _strip_secrets(self.url) if self.url else None,
            "key_variable": self.key_variable,
            "tokenizer": str(Path(self.tokenizer).absolute()) if self.tokenizer else None,
            "window": self.window,
        }

    def find_key(self) -> str | None:
        """Return the key from its variable; InputError when that is not set. None leaves it to OPENAI_API_KEY."""
        if self.key_variable is None:
            return None
        if key := os.environ.get(self.key_variable):
            return key
        # Not OPENAI_API_KEY instead: that key is for another server.
        raise InputError(f"{self.url} needs the key in the environment variable {self.key_variable}, which is not set")

    def complete(self, model: Model) -> Self:
        """Return the address with what opening the model has shown: the endpoint and the name found there."""
        endpoint = getattr(model, "endpoint", None)
        if endpoint is not None:
            return replace(self, model=model.name, url=endpoint.url)
        return self if self.model else replace(self, model=model.name)

    async def open(
        self,
        *,
        api_key: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - of each request, not of this call
        deadline: float | None = None,
        concurrency: int | None = None,
        threads: int | None = None,
        record_tokens: bool = False,
        progress: DownloadProgress | None = None,
    ) -> Model:
        """Open the model, with a key of the caller's or the one in the key's variable."""
        from bookwheel.models.registry import open_model

        return await open_model(
            self.model,
            base_url=self.url,
            api_key=api_key or self.find_key(),
            tokenizer=self.tokenizer,
            window=self.window,
            timeout=timeout,
            deadline=deadline,
            concurrency=concurrency,
            threads=threads,
            record_tokens=record_tokens,
            progress=progress,
        )


def _strip_secrets(url: str) -> str:
    """Return the URL without password, query and fragment, which can hold a key."""
    from urllib.parse import urlsplit, urlunsplit

    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
