"""llama.cpp inside this process: token ids in, token ids out. Nothing here knows prompts or plans.

The engine is llama.cpp's own server, which batches several slots. We call it over a loopback socket with a key that
only this process has. A direct call would save the socket but cannot be cancelled; over the socket, cancelling closes
the connection and the server drops the work.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import weakref
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import BadReply, MissingExtra, NoWeights, Rejected, ServerFault, WindowExceeded
from bookwheel.models.completion import as_list, as_mapping, parse_number
from bookwheel.text.tokens import replace_surrogates
from bookwheel.types import Finish

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import httpx2

    from bookwheel.plan import Sampling

_TOO_LONG: Final = "exceed_context_size_error"
# Prompts of the last few chunks: a second question on a chunk finds it already computed.
_CACHE_MIB: Final = 256
# llama.cpp lists this many of the likeliest next tokens.
_LISTED: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineCompletion:
    """The tokens that the engine generated for a prompt."""

    text: str
    ids: tuple[int, ...]
    """All sampled ids, including the one that ended the reply; empty where the reply was watched."""
    tokens: int
    """The number of sampled ids."""
    logprobs: tuple[float, ...] | None
    """One for each id, under the sampling distribution; None unless they were requested and are complete."""
    finish: Finish
    timings: Mapping[str, float]
    """llama.cpp's own: `prompt_n`, `prompt_per_second`, `predicted_n`, `predicted_per_second` and more."""


def choose_thread_count() -> int:
    """Return the number of idle cores, at least 1."""
    # One thread too many costs more than one too few: at every layer all threads wait for the slowest.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return max(1, min(cores, round(cores - load)))


class Engine:
    """One loaded file of weights. `start` loads it; `aclose`, or the end of the process, frees it."""

    def __init__(self, server: Any, key: str) -> None:
        import httpx2

        headers = {"Authorization": f"Bearer {key}"}
        address = server.listening_address
        self._calls = httpx2.Client(base_url=address, headers=headers, trust_env=False, timeout=None)
        self._replies = httpx2.AsyncClient(base_url=address, headers=headers, trust_env=False, timeout=None)
        self._stop = weakref.finalize(self, list.clear, [server])
        self.window: int = int(_parse_response(self._calls.get("/props"))["default_generation_settings"]["n_ctx"])

    @classmethod
    def start(cls, weights: Path, *, threads: int, slots: int, window: int, adapter: Path | None = None) -> Engine:
        """Load the weights. Up to `slots` replies are generated at a time, each with a window of its own."""
        try:
            import xllamacpp
        except ImportError as error:
            raise MissingExtra("the local model", "local") from error
        key = secrets.token_hex(16)
        params = xllamacpp.CommonParams()
        params.model.path = str(weights)
        params.n_ctx, params.n_parallel, params.kv_unified = window * slots, slots, False
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.verbosity, params.warmup, params.fit_params = -1, False, False
        params.cache_ram_mib, params.ui, params.endpoint_slots, params.api_keys = _CACHE_MIB, False, False, [key]
        if adapter:
            params.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(str(adapter), 1.0)]
        try:
            return cls(xllamacpp.Server(params), key)
        except RuntimeError as error:
            raise NoWeights(_load_failure(weights, adapter)) from error

    def tokenize(self, text: str, *, special: bool = False, first: bool = False) -> list[int]:
        """Tokenize a text. `special` parses special tokens in it; `first` adds those that open a prompt."""
        return [int(token) for token in self._tokenize(text, parse_special=special, add_special=first)]

    def piece_lengths(self, text: str) -> list[int]:
        """Return the number of UTF-8 bytes of each token of the text."""
        tokens = self._tokenize(text, parse_special=False, add_special=False, with_pieces=True)
        return [len(piece.encode() if isinstance(piece := token["piece"], str) else piece) for token in tokens]

    def apply_template(self, messages: Sequence[Mapping[str, str]]) -> str:
        """Render the messages with the weights' chat template, up to where the reply begins."""
        return str(self._post("/apply-template", {"messages": list(messages)})["prompt"])

    async def complete(
        self,
        prompt: Sequence[int],
        *,
        limit: int,
        sampling: Sampling,
        logprobs: bool = False,
        watch: Callable[[str], None] | None = None,
    ) -> EngineCompletion:
        """Complete a prompt. Sampling is exactly what the plan says: no top-k, no min-p.

        `watch` is called with the text so far at each token.
        """
        request = {
            "prompt": list(prompt),
            "n_predict": limit,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": sampling.seed,
            "repeat_penalty": sampling.repeat_penalty,
            "top_k": 0,
            "min_p": 0,
            # A prompt that is computed in other pieces has other last digits, and a reading could not be repeated.
            "cache_prompt": False,
            "return_tokens": True,
            "json_schema": json.loads(sampling.schema) if sampling.schema else None,
            **({"n_probs": 1, "post_sampling_probs": True} if logprobs else {}),
        }
        body = {name: value for name, value in request.items() if value is not None}
        if watch is not None:
            return _parse_completion(await self._stream(body, watch))
        return _parse_completion(_parse_response(await self._replies.post("/completion", json=body)))

    async def _stream(self, request: Mapping[str, Any], watch: Callable[[str], None]) -> dict[str, Any]:
        """Return the body of a streamed reply: the last event, with the text of all."""
        text, rest = "", b""
        async with self._replies.stream("POST", "/completion", json={**request, "stream": True}) as response:
            if not response.is_success:
                await response.aread()
                return _parse_response(response)
            async for block in response.aiter_bytes():
                # Only \n ends a line: a reply may hold the other line ends that text decoders know.
                *lines, rest = (rest + block).split(b"\n")
                # The others are empty or keep the connection alive.
                for event in (_parse_event(line) for line in lines if line.startswith((b"data:", b"error:"))):
                    text += str(event.get("content", ""))
                    if event.get("stop"):
                        # The ids of a stream lack those within a character.
                        return {**event, "content": text, "tokens": []}
                    watch(text)
        raise ServerFault("llama.cpp stopped in mid-reply; report this with the prompt")

    async def judge(self, prompt: Sequence[int], options: Sequence[int]) -> tuple[float, ...]:
        """Return the log-probability of each option as the next token.

        An option that is not among the likeliest 256 gets the last one's, which is an upper bound.
        """
        body = await self._score(prompt, {"n_predict": 1, "n_probs": _LISTED})
        listed = {entry["id"]: float(entry["logprob"]) for entry in body["completion_probabilities"][0]["top_logprobs"]}
        least = min(listed.values())
        return tuple(listed.get(option, least) for option in options)

    def split_pieces(self, text: str) -> list[tuple[int, bool]]:
        """Return the id of each token of the text, and whether it is made of whole characters."""
        tokens = self._tokenize(text, parse_special=False, add_special=False, with_pieces=True)
        return [(int(token["id"]), isinstance(token["piece"], str)) for token in tokens]

    async def score(self, prompt: Sequence[int], pieces: Sequence[tuple[int, bool]]) -> tuple[float, ...]:
        """Return the model's own log-probability of each token of a continuation, given as `split_pieces` returns it.

        Tokens that are parts of a character are read and not scored: llama.cpp neither forces nor reports them. Most
        Chinese characters have several.
        """
        ids = [id_ for id_, _ in pieces]
        logprobs: list[float] = []
        for start, end in find_runs([is_whole for _, is_whole in pieces]):
            body = await self._score([*prompt, *ids[:start]], force_tokens(ids[start:end]))
            logprobs += parse_forced_tokens(body, ids[start:end])
        return tuple(logprobs)

    async def _score(self, prompt: Sequence[int], options: Mapping[str, Any]) -> dict[str, Any]:
        # The cache serves the prefix that the next text to be scored shares with this one.
        request = {"prompt": list(prompt), "temperature": 0, "cache_prompt": True, "return_tokens": True, **options}
        return _parse_response(await self._replies.post("/completion", json=request))

    async def aclose(self) -> None:
        """Stop the server and free the weights."""
        await self._replies.aclose()
        self._calls.close()
        self._stop()

    def _tokenize(self, text: str, **options: bool) -> list[Any]:
        return list(self._post("/tokenize", {"content": replace_surrogates(text), **options})["tokens"])

    def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return _parse_response(self._calls.post(path, json=body))


def find_runs(are_whole: Sequence[bool]) -> list[tuple[int, int]]:
    """Return the begin and end of each run of true values."""
    edges = [at for at, (before, now) in enumerate(pairwise([False, *are_whole, False])) if before != now]
    return list(zip(edges[::2], edges[1::2], strict=True))


def force_tokens(ids: Sequence[int]) -> dict[str, Any]:
    """Return the settings by which llama.cpp generates exactly these tokens and reports their log-probabilities.

    llama.cpp has no route that scores a given text. A grammar of one sentence leaves it no choice, and the
    log-probabilities that it reports are those before the grammar.
    """
    return {"n_predict": len(ids), "n_probs": 1, "grammar": "root ::= " + " ".join(f"<[{id_}]>" for id_ in ids)}


def parse_forced_tokens(body: Mapping[str, Any], ids: Sequence[int]) -> tuple[float, ...]:
    """Return the log-probabilities in the reply to a request with `force_tokens`; Rejected if they are not there."""
    entries = [as_mapping(entry) for entry in as_list(body.get("completion_probabilities"))]
    logprobs = [parse_number(entry.get("logprob")) for entry in entries]
    if [entry.get("id") for entry in entries] != list(ids) or None in logprobs:
        raise Rejected("llama.cpp did not generate the tokens that were to be scored: update it, or use another --way")
    return tuple(logprob for logprob in logprobs if logprob is not None)


def _load_failure(weights: Path, adapter: Path | None) -> str:
    if adapter:
        return (
            f"llama.cpp cannot apply the adapter {adapter} to {weights}: it is damaged, or made for another model; "
            f"BOOKWHEEL_WEIGHTS names the weights that adapters are applied to"
        )
    return (
        f"llama.cpp cannot load {weights}: the file is damaged, too large for this machine's memory or of an "
        f"unknown kind. Delete it to download it again, or name another .gguf file."
    )


def _parse_response(response: httpx2.Response) -> dict[str, Any]:
    """Return the server's JSON. Raise its error as one of ours."""
    try:
        body = response.json()
    except ValueError as error:
        raise BadReply(
            f"llama.cpp sent no JSON (status {response.status_code}); report this with the prompt"
        ) from error
    if response.is_success:
        return dict(body)
    fault = body.get("error", {})
    if fault.get("type") == _TOO_LONG:
        raise WindowExceeded(
            f"the prompt has {fault.get('n_prompt_tokens')} tokens and the window holds {fault.get('n_ctx')}: "
            f"lower --chunk-tokens or --memory-tokens"
        )
    # Not a ServerFault, which is tried again: in this process the same request would fail in the same way.
    raise Rejected(f"llama.cpp refused the call (status {response.status_code}): {fault.get('message', body)}")


def _parse_event(line: bytes) -> dict[str, Any]:
    """Return the JSON of one line of a stream. Raise its error as one of ours."""
    name, _, content = line.partition(b":")
    try:
        event = json.loads(content)
    except ValueError as error:
        raise BadReply(f"llama.cpp sent no JSON in mid-reply: {line[:80]!r}; report this with the prompt") from error
    if fault := (event if name == b"error" else event.get("error")):
        raise ServerFault(f"llama.cpp failed in mid-reply: {fault.get('message', fault)}")
    return dict(event)


def _parse_completion(body: Mapping[str, Any]) -> EngineCompletion:
    ids = tuple(int(token) for token in body["tokens"])
    probabilities = [entry["prob"] for entry in body.get("completion_probabilities", ())]
    has_all = bool(probabilities) and len(probabilities) == len(ids) and min(probabilities) > 0
    return EngineCompletion(
        text=str(body["content"]),
        ids=ids,
        tokens=int(body.get("tokens_predicted", len(ids))),
        logprobs=tuple(math.log(p) for p in probabilities) if has_all else None,
        finish=Finish.LENGTH if body.get("stop_type") == "limit" else Finish.STOP,
        timings=dict(body.get("timings", {})),
    )
