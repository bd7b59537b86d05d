"""The forward pass of a small Llama in numpy: the log-probability of every token of a given text, in one pass.

    x  = E[ids]
    x += W_output · attention(rope(W_q h), rope(W_k h), W_v h)     h = norm(x)
    x += W_down · (silu(W_gate h) * W_up h)                        h = norm(x)
    p  = softmax(E · norm(x))

llama.cpp reports the log-probabilities of what it generates, so it has to generate, token by token, a text that we
already have. Here all tokens of a text go through each matrix at once, at the speed of the machine's BLAS.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from bookwheel.errors import NoWeights
from bookwheel.models.copying import BEAM, LONGEST, search
from bookwheel.models.gguf import load_gguf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from bookwheel.models.copying import Beginning, CopiedSpan, Opening
    from bookwheel.models.gguf import Floats, GgufFile

    Stop = Callable[[], bool]

# Tokens that go through a layer at once: attention needs memory for their products with all tokens before them.
_BLOCK: Final = 512
# Queries at once: half of the products with later tokens need not be computed then, and the rest stays in the cache.
_QUERIES: Final = 128
# The states of the last few chunks: a second question on a chunk finds it already computed.
_KEPT_BYTES: Final = 256 << 20

_T = TypeVar("_T")


class Stopped(Exception):
    """Nobody waits for the result any more."""


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """The keys and values of a text: (layer, head, token, size)."""

    keys: Floats
    values: Floats


class Llama:
    """The weights of a small Llama. An adapter counts in judgements alone."""

    def __init__(self, weights: GgufFile, adapter: GgufFile | None = None) -> None:
        fields = {name.removeprefix("llama."): value for name, value in weights.fields.items()}
        self._weights = weights.tensors
        self._adapter = _load_adapter(adapter, weights.tensors) if adapter else {}
        self._layers = int(fields["block_count"])
        self._epsilon = float(fields["attention.layer_norm_rms_epsilon"])
        heads, self._kv_heads = int(fields["attention.head_count"]), int(fields["attention.head_count_kv"])
        self._size = len(self._weights["blk.0.attn_q.weight"]) // heads
        self._frequencies = float(fields["rope.freq_base"]) ** -(np.arange(0, self._size, 2) / self._size)
        self._end = int(weights.fields.get("tokenizer.ggml.eos_token_id", 0))
        """The token that ends a reply."""
        self._known: OrderedDict[tuple[bool, tuple[int, ...]], _State] = OrderedDict()
        self._lock = threading.Lock()

    def score(self, prompt: Sequence[int], continuation: Sequence[int], stop: Stop) -> tuple[float, ...]:
        """Return the log-probability of each token of a continuation. Raise Stopped soon after `stop` is true."""
        logprobs = self._predict([*prompt, *continuation[:-1]], len(continuation), stop, is_judgement=False)
        return tuple(float(row[token]) for row, token in zip(logprobs, continuation, strict=True))

    def judge(self, prompt: Sequence[int], options: Sequence[int], stop: Stop) -> tuple[float, ...]:
        """Return the log-probability of each option as the next token, by the adapter. It stops as `score` does."""
        (logprobs,) = self._predict(prompt, 1, stop, is_judgement=True)
        return tuple(float(logprobs[option]) for option in options)

    def copy(self, prompt: Sequence[int], openings: Sequence[Opening], stop: Stop) -> list[CopiedSpan]:
        """Return the likeliest spans as the reply, by the adapter. It stops as `score` does."""
        first = self._predict(prompt, 1, stop, is_judgement=True)
        _, known = self._find_state(prompt, is_judgement=True)
        assert known is not None
        begin = len(prompt)
        shape = (self._layers, self._kv_heads, begin + BEAM * LONGEST, self._size)
        state = _State(np.empty(shape, "f4"), np.empty(shape, "f4"))
        state.keys[:, :, :begin], state.values[:, :, :begin] = known.keys[:, :, :begin], known.values[:, :, :begin]
        seen = np.ones((1, begin), bool)

        def score(beginnings: Sequence[Beginning]) -> Floats:
            nonlocal seen
            if not beginnings[0].ids:
                return first
            count, done = len(beginnings), seen.shape[1]
            # Each token sees the prompt, those of its own beginning, and itself.
            before = seen[[one.parent for one in beginnings]]
            seen = np.concatenate((before, np.eye(count, dtype=bool)), axis=1)
            ids = [one.ids[-1] for one in beginnings]
            return self._read_out(self._run(ids, done, state, stop, self._adapter, seen))

        return search(openings, score, self._end)

    def _predict(self, ids: Sequence[int], count: int, stop: Stop, *, is_judgement: bool) -> Floats:
        """Return the log-probabilities of the token after each of the last `count` ids."""
        done, known = self._find_state(ids[: len(ids) - count], is_judgement=is_judgement)
        shape = (self._layers, self._kv_heads, len(ids), self._size)
        state = _State(np.empty(shape, "f4"), np.empty(shape, "f4"))
        if known:
            state.keys[:, :, :done], state.values[:, :, :done] = known.keys[:, :, :done], known.values[:, :, :done]
        rows = [
            self._run(ids[begin : begin + _BLOCK], begin, state, stop, self._adapter if is_judgement else {})[-count:]
            for begin in range(done, len(ids), _BLOCK)
        ]
        self._keep(ids, state, is_judgement=is_judgement)
        return self._read_out(np.concatenate(rows)[-count:])

    def _read_out(self, x: Floats) -> Floats:
        """Return the log-probabilities of the token after each."""
        hidden = self._norm(x, "output_norm")
        logits = hidden @ self._weights.get("output.weight", self._weights["token_embd.weight"]).T
        logits -= logits.max(axis=-1, keepdims=True)
        return np.asarray(logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True)))

    def _run(
        self,
        ids: Sequence[int],
        begin: int,
        state: _State,
        stop: Stop,
        adapter: Mapping[str, Floats],
        seen: Floats | None = None,
    ) -> Floats:
        """Run all layers on a block of tokens after the first `begin`, whose keys and values join the state's.

        They follow each other, unless it is given which tokens each has `seen`, itself among them.
        """
        x = self._weights["token_embd.weight"][list(ids)]
        end = begin + len(ids)
        places = np.arange(begin, end) if seen is None else seen.sum(axis=1) - 1
        turns = np.exp(1j * np.outer(places, self._frequencies)).astype("c8")
        for layer in range(self._layers):
            if stop():
                raise Stopped
            block = f"blk.{layer}"
            h = self._norm(x, f"{block}.attn_norm")
            # (head, token, size) from (token, head * size)
            mixed = (self._apply(h, f"{block}.attn_{name}", adapter) for name in "qkv")
            q, k, v = (one.reshape(len(one), -1, self._size).transpose(1, 0, 2) for one in mixed)
            keys, values = state.keys[layer], state.values[layer]
            keys[:, begin:end], values[:, begin:end] = _rotate(k, turns), v
            means = _attend(_rotate(q, turns), keys[:, :end], values[:, :end], seen)
            x += self._apply(means, f"{block}.attn_output", adapter)
            h = self._norm(x, f"{block}.ffn_norm")
            gate, up = (self._apply(h, f"{block}.ffn_{name}", adapter) for name in ("gate", "up"))
            x += self._apply(_silu(gate, times=up), f"{block}.ffn_down", adapter)
        return x

    def _apply(self, x: Floats, name: str, adapter: Mapping[str, Floats]) -> Floats:
        """Multiply by a matrix, and by what the adapter adds to it."""
        y: Floats = x @ self._weights[f"{name}.weight"].T
        if (down := adapter.get(f"{name}.weight.lora_a")) is not None:
            y += (x @ down.T) @ adapter[f"{name}.weight.lora_b"].T
        return y

    def _norm(self, x: Floats, name: str) -> Floats:
        scale = np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + self._epsilon)
        return np.asarray(x / scale * self._weights[f"{name}.weight"])

    def _find_state(self, ids: Sequence[int], *, is_judgement: bool) -> tuple[int, _State | None]:
        """Return how many of the first ids were computed before, and a state that begins with them."""
        with self._lock:
            known = [(key, state) for key, state in self._known.items() if key[0] == is_judgement]
        shared = [(_count_shared(ids, key[1]), state) for key, state in known]
        return max(shared, key=lambda one: one[0], default=(0, None))

    def _keep(self, ids: Sequence[int], state: _State, *, is_judgement: bool) -> None:
        with self._lock:
            self._known[is_judgement, tuple(ids)] = state
            self._known.move_to_end((is_judgement, tuple(ids)))
            while sum(2 * one.keys.nbytes for one in self._known.values()) > _KEPT_BYTES and len(self._known) > 1:
                self._known.popitem(last=False)


def _load_adapter(adapter: GgufFile, weights: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the adapter's matrices, with its scale in the second of each pair. Raise ValueError if they do not fit."""
    halves = dict(adapter.tensors)
    for name in [name for name in halves if name.endswith(".lora_b")]:
        matrix = name.removesuffix(".lora_b")
        down, up = halves[f"{matrix}.lora_a"], halves[name]
        if matrix not in weights or (len(up), down.shape[1]) != weights[matrix].shape:
            raise ValueError(f"{name} fits no matrix of the weights")
        halves[name] = up * (float(adapter.fields["adapter.lora.alpha"]) / len(down))
    return halves


def _rotate(x: Floats, turns: Floats) -> Floats:
    """Turn each pair of numbers by its token's angles: a pair is a complex number."""
    return np.asarray((np.ascontiguousarray(x).view("c8") * turns).view("f4"))


def _silu(x: Floats, *, times: Floats) -> Floats:
    """Return silu(x) * times, in as few passes over memory as numpy allows."""
    with np.errstate(over="ignore"):  # x / inf is 0, as it should be
        bottom = np.exp(-x)
    bottom += 1
    np.divide(x, bottom, out=bottom)
    bottom *= times
    return bottom


def _attend(q: Floats, keys: Floats, values: Floats, seen: Floats | None = None) -> Floats:
    """Return each token's mean of the values at and before it, as (token, head * size). The last tokens ask.

    With `seen` it is the mean of those that a token has seen.
    """
    heads, tokens, size = q.shape
    before = keys.shape[1] - tokens
    scaled = q * size**-0.5
    parts = []
    for begin in range(0, tokens, _QUERIES):
        asked = scaled[:, begin : begin + _QUERIES]
        end = before + begin + asked.shape[1]
        is_later = np.arange(end) > np.arange(before + begin, end)[:, None]
        if seen is not None:
            is_later = ~seen[begin : begin + asked.shape[1], :end]
        # The queries of all heads that share keys are one matrix.
        scores = asked.reshape(len(keys), -1, size) @ keys[:, :end].transpose(0, 2, 1)
        by_head = scores.reshape(heads, -1, end)
        np.copyto(by_head, -np.inf, where=is_later)
        by_head -= by_head.max(axis=-1, keepdims=True)
        np.exp(by_head, out=by_head)
        by_head /= by_head.sum(axis=-1, keepdims=True)
        parts.append((scores @ values[:, :end]).reshape(heads, -1, size))
    return np.concatenate(parts, axis=1).transpose(1, 0, 2).reshape(tokens, -1)


def _count_shared(ids: Sequence[int], others: Sequence[int]) -> int:
    """Return the number of ids with which both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(ids, others, strict=False)))


class ForwardScorer:
    """A small Llama and an adapter that judges: in a thread, with as many cores as it may use, and cancellable.

    The first score loads them, which takes half a second.
    """

    def __init__(self, weights: Path, adapter: Path, *, threads: int) -> None:
        self._weights = weights
        self._adapter = adapter
        self._threads = threads
        # One pass at a time, as each uses all the cores it may: two at once would wait for each other at every matrix.
        self._turn = asyncio.Semaphore(1)
        self._llama: Llama | None = None

    async def score(self, prompt: Sequence[int], pieces: Sequence[tuple[int, bool]]) -> tuple[float, ...]:
        """Return the log-probability of each token of a prompt's continuation, without the adapter."""
        continuation = [id_ for id_, _ in pieces]
        return await self._run(lambda llama, stop: llama.score(prompt, continuation, stop))

    async def judge(self, prompt: Sequence[int], options: Sequence[int]) -> tuple[float, ...]:
        """Return the log-probability of each option as the next token, with the adapter."""
        return await self._run(lambda llama, stop: llama.judge(prompt, options, stop))

    async def copy(self, prompt: Sequence[int], openings: Sequence[Opening]) -> list[CopiedSpan]:
        """Return the likeliest spans as the reply, with the adapter."""
        return await self._run(lambda llama, stop: llama.copy(prompt, openings, stop))

    async def _run(self, compute: Callable[[Llama, Stop], _T]) -> _T:
        cancelled = threading.Event()
        async with self._turn:
            try:
                return await asyncio.to_thread(lambda: compute(self._load(), cancelled.is_set))
            except asyncio.CancelledError:
                cancelled.set()
                raise

    def _load(self) -> Llama:
        if self._llama is None:
            from threadpoolctl import threadpool_limits

            # For the whole process and for good: numpy has one setting.
            threadpool_limits(self._threads, "blas")
            try:
                self._llama = Llama(load_gguf(self._weights), load_gguf(self._adapter))
            except (KeyError, ValueError) as error:
                raise NoWeights(
                    f"the adapter {self._adapter} does not fit {self._weights}: it is made for the weights that "
                    f"`bookwheel models --fetch` downloads; unset BOOKWHEEL_WEIGHTS"
                ) from error
        return self._llama
