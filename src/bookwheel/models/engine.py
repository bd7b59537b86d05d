"""llama.cpp inside this process: token ids in, token ids out. It knows nothing of prompts or plans.

The engine is llama.cpp's own server, with its batching over several slots, spoken to over a loopback socket behind
a key that only this process has. Its direct calls would spare the socket and cannot be stopped once begun; over the
socket a call that is given up is a closed connection, upon which the server drops the work.
"""

from __future__ import annotations

import math
import os
import secrets
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import BadReply, MissingExtra, NoWeights, ServerFault, WindowExceeded
from bookwheel.text.tokens import replace_surrogates
from bookwheel.types import Finish

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import httpx2

    from bookwheel.plan import Sampling

_TOO_LONG: Final = "exceed_context_size_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineCompletion:
    """What the engine wrote after a prompt."""

    text: str
    ids: tuple[int, ...]
    """All sampled ids, the one that ended the reply too."""
    logprobs: tuple[float, ...] | None
    """Of those ids under the sampling distribution; None when they were not asked for or not given for each."""
    finish: Finish
    timings: Mapping[str, float]
    """llama.cpp's own: `prompt_n`, `prompt_per_second`, `predicted_n`, `predicted_per_second` and more."""


def choose_thread_count() -> int:
    """As many threads as there are idle cores, one at least.

    A thread more than that is dearer than one less: all of them wait for the slowest at every layer.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return max(1, min(cores, round(cores - busy)))


class Engine:
    """One loaded file of weights. `start` loads it; `aclose`, or the end of the process, lets go of it."""

    def __init__(self, server: Any, key: str) -> None:
        import httpx2

        head = {"Authorization": f"Bearer {key}"}
        address = server.listening_address
        self._calls = httpx2.Client(base_url=address, headers=head, trust_env=False, timeout=None)
        self._replies = httpx2.AsyncClient(base_url=address, headers=head, trust_env=False, timeout=None)
        self._stop = weakref.finalize(self, list.clear, [server])
        self.window: int = int(self._get("/props")["default_generation_settings"]["n_ctx"])

    @classmethod
    def start(cls, weights: Path, *, threads: int, slots: int, window: int, adapter: Path | None = None) -> Engine:
        """Load the weights; each of `slots` replies at a time has a window of its own."""
        try:
            import xllamacpp
        except ImportError as error:
            raise MissingExtra("the local model", "local") from error
        key = secrets.token_hex(16)
        wish = xllamacpp.CommonParams()
        wish.model.path = str(weights)
        wish.n_ctx, wish.n_parallel, wish.kv_unified = window * slots, slots, False
        wish.cpuparams.n_threads = wish.cpuparams_batch.n_threads = threads
        wish.verbosity, wish.warmup, wish.fit_params = -1, False, False
        wish.cache_ram_mib, wish.ui, wish.endpoint_slots, wish.api_keys = 0, False, False, [key]
        if adapter:
            wish.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(str(adapter), 1.0)]
        try:
            return cls(xllamacpp.Server(wish), key)
        except RuntimeError as error:
            raise NoWeights(_load_failure(weights, adapter)) from error

    def tokens(self, text: str, *, special: bool = False, first: bool = False) -> list[int]:
        """The text's ids; `special` reads special tokens in it, `first` puts those in front that open a prompt."""
        return [int(token) for token in self._tokenize(text, parse_special=special, add_special=first)]

    def piece_lengths(self, text: str) -> list[int]:
        """How many bytes of UTF-8 each token of the text stands for."""
        tokens = self._tokenize(text, parse_special=False, add_special=False, with_pieces=True)
        return [len(piece.encode() if isinstance(piece := token["piece"], str) else piece) for token in tokens]

    def templated(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The messages in the chat template that came with the weights, up to where the model is to speak."""
        return str(self._post("/apply-template", {"messages": list(messages)})["prompt"])

    async def complete(
        self, prompt: Sequence[int], *, limit: int, sampling: Sampling, logprobs: bool = False, reuse: bool = False
    ) -> EngineCompletion:
        """Write on from a prompt. Sampling is what the plan says and nothing besides: no top-k, no min-p."""
        wish = {
            "prompt": list(prompt),
            "n_predict": limit,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": sampling.seed,
            "repeat_penalty": sampling.repeat_penalty,
            "top_k": 0,
            "min_p": 0,
            "cache_prompt": reuse,
            "return_tokens": True,
            **({"n_probs": 1, "post_sampling_probs": True} if logprobs else {}),
        }
        body = {name: value for name, value in wish.items() if value is not None}
        return _parse_completion(_parse_response(await self._replies.post("/completion", json=body)))

    async def aclose(self) -> None:
        """Stop the server and free the weights."""
        await self._replies.aclose()
        self._calls.close()
        self._stop()

    def _tokenize(self, text: str, **how: bool) -> list[Any]:
        return list(self._post("/tokenize", {"content": replace_surrogates(text), **how})["tokens"])

    def _get(self, path: str) -> dict[str, Any]:
        return _parse_response(self._calls.get(path))

    def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return _parse_response(self._calls.post(path, json=body))


def _load_failure(weights: Path, adapter: Path | None) -> str:
    if adapter:
        return (
            f"llama.cpp cannot lay the adapter {adapter} over {weights}: it is damaged, or was made for another model; "
            f"BOOKWHEEL_WEIGHTS names the weights that adapters are laid over"
        )
    return (
        f"llama.cpp cannot load {weights}: the file is damaged, too large for this machine's memory or of a kind it "
        f"does not know. Delete it to have it fetched anew, or name another .gguf file."
    )


def _parse_response(response: httpx2.Response) -> dict[str, Any]:
    """The server's JSON, or its complaint as one of our errors."""
    try:
        body = response.json()
    except ValueError as error:
        raise BadReply(
            f"llama.cpp gave no JSON (status {response.status_code}); report this with the prompt"
        ) from error
    if response.is_success:
        return dict(body)
    fault = body.get("error", {})
    if fault.get("type") == _TOO_LONG:
        raise WindowExceeded(
            f"the prompt has {fault.get('n_prompt_tokens')} tokens and the window holds {fault.get('n_ctx')}: "
            f"lower --chunk-tokens or --memory-tokens"
        )
    raise ServerFault(f"llama.cpp refused the call (status {response.status_code}): {fault.get('message', body)}")


def _parse_completion(body: Mapping[str, Any]) -> EngineCompletion:
    ids = tuple(int(token) for token in body["tokens"])
    likely = [entry["prob"] for entry in body.get("completion_probabilities", ())]
    return EngineCompletion(
        text=str(body["content"]),
        ids=ids,
        logprobs=tuple(math.log(p) for p in likely) if likely and len(likely) == len(ids) and min(likely) > 0 else None,
        finish=Finish.LENGTH if body.get("stop_type") == "limit" else Finish.STOP,
        timings=dict(body.get("timings", {})),
    )
