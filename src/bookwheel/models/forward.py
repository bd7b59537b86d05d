"""The forward pass of a small Llama: the log-probability of every token of a given text, in one pass.

    x  = E[ids]
    x += W_output · attention(rope(W_q h), rope(W_k h), W_v h)     h = norm(x)
    x += W_down · (silu(W_gate h) * W_up h)                        h = norm(x)
    p  = softmax(E · norm(x))

llama.cpp reports the log-probabilities of what it generates, so it has to generate, token by token, a text that we
already have. Here all tokens of a text go through each matrix at once. They meet in attention alone, which numpy
computes; the rest of a layer is two graphs with products of integers, which onnxruntime runs token by token.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from bookwheel.errors import NoWeights
from bookwheel.models.copying import BEAM, LONGEST, search
from bookwheel.models.gguf import load_gguf
from bookwheel.models.onnx_graph import OnnxGraph

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from bookwheel.models.copying import Beginning, CopiedSpan, Opening
    from bookwheel.models.gguf import Floats, GgufFile
    from bookwheel.models.onnx_graph import Run

    Stop = Callable[[], bool]

# Tokens that go through a layer at once: attention needs memory for their products with all tokens before them.
_BLOCK: Final = 512
# Queries at once: half of the products with later tokens need not be computed then, and the rest stays in the cache.
_QUERIES: Final = 128
# Fewer tokens than this are not worth another thread.
_PART: Final = 32
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


@dataclass(frozen=True, slots=True)
class _Layer:
    """A layer before its attention and behind it."""

    project: Run
    """The queries, keys and values of tokens, beside each other."""
    finish: Run
    """The tokens after the layer, from those before it and what attention gave them."""


class Llama:
    """The weights of a small Llama. An adapter counts in judgements alone."""

    def __init__(self, weights: GgufFile, adapter: GgufFile | None = None, *, threads: int = 1) -> None:
        fields = {name.removeprefix("llama."): value for name, value in weights.fields.items()}
        heads, self._kv_heads = int(fields["attention.head_count"]), int(fields["attention.head_count_kv"])
        self._size = len(weights.tensors["blk.0.attn_q.weight"]) // heads
        self._frequencies = float(fields["rope.freq_base"]) ** -(np.arange(0, self._size, 2) / self._size)
        self._end = int(weights.fields.get("tokenizer.ggml.eos_token_id", 0))
        """The token that ends a reply."""
        epsilon = float(fields["attention.layer_norm_rms_epsilon"])
        # The largest matrix first: while it is rounded, memory holds nothing else.
        graph = OnnxGraph("x")
        h = graph.norm("x", weights.tensors["output_norm.weight"], epsilon)
        name = "output.weight" if "output.weight" in weights.tensors else "token_embd.weight"
        self._read = graph.compile(graph.multiply(h, weights.tensors[name]))
        self._embedding = weights.tensors["token_embd.weight"].astype("f2")
        blocks = [f"blk.{layer}." for layer in range(int(fields["block_count"]))]
        adapted = _list_adapted(adapter, weights) if adapter else []
        taught = [block for block in blocks if any(name.startswith(block) for name in adapted)]
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads)
        self._layers = [*self._pool.map(lambda block: _build_layer(block, epsilon, weights), blocks)]
        judging = self._pool.map(lambda block: _build_layer(block, epsilon, weights, adapter), taught)
        layers = dict(zip(blocks, self._layers, strict=True)) | dict(zip(taught, judging, strict=True))
        self._judging = [*layers.values()]
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
        shape = (len(self._layers), self._kv_heads, begin + BEAM * LONGEST, self._size)
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
            return self._read_out(self._run(ids, done, state, stop, self._judging, seen))

        return search(openings, score, self._end)

    def _predict(self, ids: Sequence[int], count: int, stop: Stop, *, is_judgement: bool) -> Floats:
        """Return the log-probabilities of the token after each of the last `count` ids."""
        done, known = self._find_state(ids[: len(ids) - count], is_judgement=is_judgement)
        shape = (len(self._layers), self._kv_heads, len(ids), self._size)
        state = _State(np.empty(shape, "f4"), np.empty(shape, "f4"))
        if known:
            state.keys[:, :, :done], state.values[:, :, :done] = known.keys[:, :, :done], known.values[:, :, :done]
        layers = self._judging if is_judgement else self._layers
        rows = [
            self._run(ids[begin : begin + _BLOCK], begin, state, stop, layers)[-count:]
            for begin in range(done, len(ids), _BLOCK)
        ]
        self._keep(ids, state, is_judgement=is_judgement)
        return self._read_out(np.concatenate(rows)[-count:])

    def _read_out(self, x: Floats) -> Floats:
        """Return the log-probabilities of the token after each."""
        logits = self._read(x)
        logits -= logits.max(axis=-1, keepdims=True)
        return np.asarray(logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True)))

    def _run(
        self,
        ids: Sequence[int],
        begin: int,
        state: _State,
        stop: Stop,
        layers: Sequence[_Layer],
        seen: Floats | None = None,
    ) -> Floats:
        """Run all layers on a block of tokens after the first `begin`, whose keys and values join the state's.

        They follow each other, unless it is given which tokens each has `seen`, itself among them.
        """
        x = self._embedding[list(ids)].astype("f4")
        end = begin + len(ids)
        places = np.arange(begin, end) if seen is None else seen.sum(axis=1) - 1
        turns = np.exp(1j * np.outer(places, self._frequencies)).astype("c8")
        for at, layer in enumerate(layers):
            if stop():
                raise Stopped
            # (head, token, size) from (token, head * size)
            mixed = self._run_parts(layer.project, x).reshape(len(x), -1, self._size).transpose(1, 0, 2)
            q, k, v = np.split(mixed, [-2 * self._kv_heads, -self._kv_heads])
            keys, values = state.keys[at], state.values[at]
            keys[:, begin:end], values[:, begin:end] = _rotate(k, turns), v
            x = self._run_parts(layer.finish, x, _attend(_rotate(q, turns), keys[:, :end], values[:, :end], seen))
        return x

    def _run_parts(self, run: Run, *rows: Floats) -> Floats:
        """Run a graph on rows, some in each thread."""
        parts = min(self._threads, len(rows[0]) // _PART)
        if parts <= 1:
            return run(*rows)
        return np.concatenate(list(self._pool.map(run, *(np.array_split(one, parts) for one in rows))))

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


def _build_layer(block: str, epsilon: float, weights: GgufFile, adapter: GgufFile | None = None) -> _Layer:
    def load(name: str) -> Floats:
        return _load_weight(f"{block}{name}.weight", weights, adapter)

    graph = OnnxGraph("x")
    h = graph.norm("x", load("attn_norm"), epsilon)
    project = graph.compile(graph.multiply(h, np.concatenate([load(f"attn_{name}") for name in "qkv"])))
    graph = OnnxGraph("x", "means")
    x = graph.add("Add", "x", graph.multiply("means", load("attn_output")))
    h = graph.norm(x, load("ffn_norm"), epsilon)
    gate, up = (graph.multiply(h, load(f"ffn_{name}")) for name in ("gate", "up"))
    silu = graph.add("Mul", gate, graph.add("Sigmoid", gate))
    x = graph.add("Add", x, graph.multiply(graph.add("Mul", silu, up), load("ffn_down")))
    return _Layer(project, graph.compile(x))


def _load_weight(name: str, weights: GgufFile, adapter: GgufFile | None) -> Floats:
    """Return a matrix with what the adapter adds to it. Raise ValueError if it does not fit."""
    matrix = weights.tensors[name]
    if adapter is None or f"{name}.lora_b" not in adapter.tensors:
        return matrix
    down, up = (adapter.tensors[f"{name}.lora_{half}"] for half in "ab")
    return np.asarray(matrix + up @ down * (float(adapter.fields["adapter.lora.alpha"]) / len(down)))


def _list_adapted(adapter: GgufFile, weights: GgufFile) -> list[str]:
    """Return the matrices that an adapter adds to. Raise ValueError if one is not among the weights."""
    names = [name.removesuffix(".lora_b") for name in adapter.tensors if name.endswith(".lora_b")]
    if unknown := [name for name in names if name not in weights.tensors]:
        raise ValueError(f"{unknown[0]} is no matrix of the weights")
    return names


def _rotate(x: Floats, turns: Floats) -> Floats:
    """Turn each pair of numbers by its token's angles: a pair is a complex number."""
    return np.asarray((np.ascontiguousarray(x).view("c8") * turns).view("f4"))


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
        if seen is None:
            # Of the tokens before, all are seen.
            hidden = np.triu(np.ones((asked.shape[1], asked.shape[1]), bool), 1)
        else:
            hidden = ~seen[begin : begin + asked.shape[1], :end]
        # The queries of all heads that share keys are one matrix.
        scores = asked.reshape(len(keys), -1, size) @ keys[:, :end].transpose(0, 2, 1)
        by_head = scores.reshape(heads, -1, end)
        np.copyto(by_head[..., end - hidden.shape[1] :], -np.inf, where=hidden)
        by_head -= by_head.max(axis=-1, keepdims=True)
        np.exp(by_head, out=by_head)
        sums = by_head.sum(axis=-1, keepdims=True)
        parts.append((scores @ values[:, :end]).reshape(heads, -1, size) / sums)
    return np.concatenate(parts, axis=1).transpose(1, 0, 2).reshape(tokens, -1)


def _count_shared(ids: Sequence[int], others: Sequence[int]) -> int:
    """Return the number of ids with which both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(ids, others, strict=False)))


class ForwardScorer:
    """A small Llama and an adapter that judges: in a thread, with as many cores as it may use, and cancellable.

    The first score loads them, which takes two seconds.
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
                self._llama = Llama(load_gguf(self._weights), load_gguf(self._adapter), threads=self._threads)
            except (KeyError, ValueError) as error:
                raise NoWeights(
                    f"the adapter {self._adapter} does not fit {self._weights}: it is made for the weights that "
                    f"`bookwheel models --fetch` downloads; unset BOOKWHEEL_WEIGHTS"
                ) from error
        return self._llama
