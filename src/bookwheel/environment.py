"""What the environment says about models. Whoever opens one loads this and hands it in.

Models read no variables themselves; their HTTP client, httpx2, reads its own (proxies, certificates).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

# OpenAI's own names for the account that pays, which its SDK reads too.
_ACCOUNT: Final = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The variables of a process, by what they mean."""

    variables: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def load(cls) -> Self:
        return cls(variables=dict(os.environ))

    @property
    def base_url(self) -> str | None:
        """The endpoint where none is named."""
        return self.variables.get("OPENAI_BASE_URL") or None

    @property
    def weights(self) -> Path | None:
        """A .gguf file in place of the local model's own."""
        named = self.variables.get("BOOKWHEEL_WEIGHTS")
        return Path(named).expanduser() if named else None

    @property
    def cache(self) -> Path:
        """The folder of downloaded weights."""
        cache = self.variables.get("XDG_CACHE_HOME")
        return (Path(cache) if cache else Path.home() / ".cache") / "bookwheel"

    @property
    def hub(self) -> str:
        """The address of the model hub, or of a mirror."""
        return (self.variables.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")

    @property
    def account(self) -> dict[str, str]:
        """The headers that tell a server which account pays."""
        return {header: value for header, name in _ACCOUNT.items() if (value := self.variables.get(name))}

    def find_key(self, name: str | None = None) -> str | None:
        """Return an endpoint's key from the variable of this name, or from the usual one."""
        return self.variables.get(name or "OPENAI_API_KEY") or None
