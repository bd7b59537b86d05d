"""The forward pass: a text's scores are those of its tokens one by one, whatever was computed before."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("onnxruntime")
gguf = pytest.importorskip("gguf")

from bookwheel.errors import NoWeights  # noqa: E402
from bookwheel.models import forward  # noqa: E402
from bookwheel.models.forward import (  # noqa: E402
    ForwardScorer,
    Llama,
    Stopped,
)
from bookwheel.models.gguf import (  # noqa: E402
    GgufFile,
    load_gguf,
    write_gguf,
)

WORDS, SIZE, HIDDEN, HEADS, KV_HEADS = 50, 32, 64, 4, 2
MATRICES = {
    "attn_q": (SIZE, SIZE),
    "attn_k": (SIZE // 2, SIZE),
    "attn_v": (SIZE // 2, SIZE),
    "attn_output": (SIZE, SIZE),
    "ffn_gate": (HIDDEN, SIZE),
    "ffn_up": (HIDDEN, SIZE),
    "ffn_down": (SIZE, HIDDEN),
}
PROMPT = [int(one) for one in np.random.default_rng(7).integers(0, WORDS, 40)]
CONTINUATION = [3, 14, 15, 9, 26]


def never() -> bool:
    return False


def make_weights(layers: int = 2) -> GgufFile:
    random = np.random.default_rng(0)
    tensors = {"token_embd.weight": random.normal(size=(WORDS, SIZE)), "output_norm.weight": np.ones(SIZE)}
    for layer in range(layers):
        for name, shape in MATRICES.items():
            tensors[f"blk.{layer}.{name}.weight"] = random.normal(size=shape) / 4
        for name in ("attn_norm", "ffn_norm"):
            tensors[f"blk.{layer}.{name}.weight"] = random.uniform(0.5, 1.5, SIZE)
    fields = {
        "llama.block_count": layers,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": KV_HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.freq_base": 10_000.0,
    }
    return GgufFile(fields=fields, tensors={name: one.astype("f4") for name, one in tensors.items()})


def make_adapter() -> GgufFile:
    random = np.random.default_rng(1)
    tensors = {}
    for name, (rows, columns) in MATRICES.items():
        tensors[f"blk.1.{name}.weight.lora_a"] = random.normal(size=(4, columns)).astype("f4")
        tensors[f"blk.1.{name}.weight.lora_b"] = random.normal(size=(rows, 4)).astype("f4") / 8
    return GgufFile(fields={"adapter.lora.alpha": 8.0}, tensors=tensors)


def one_by_one(weights: GgufFile) -> list[float]:
    """Score each token with everything computed anew."""
    return [
        Llama(weights).judge([*PROMPT, *CONTINUATION[:at]], [token], never)[0] for at, token in enumerate(CONTINUATION)
    ]


def test_a_text_is_scored_at_once_as_token_by_token():
    weights = make_weights()
    assert Llama(weights).score(PROMPT, CONTINUATION, never) == pytest.approx(one_by_one(weights), abs=1e-4)


def score_in_float32(weights: GgufFile, ids: list[int]) -> list[float]:
    """Score the continuation by the formula, without a rounded number, a block or a state."""
    tensors, fields = weights.tensors, weights.fields

    def norm(x, name):
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5) * tensors[f"{name}.weight"]

    def rotate(x):
        turns = np.exp(1j * np.outer(np.arange(len(x)), 10_000.0 ** -(np.arange(0, 8, 2) / 8)))[:, None]
        pairs = x.reshape(len(x), -1, 4, 2)
        turned = (pairs[..., 0] + 1j * pairs[..., 1]) * turns
        return np.stack((turned.real, turned.imag), axis=-1).reshape(x.shape)

    x = tensors["token_embd.weight"][ids].astype("f8")
    later = np.triu(np.ones((len(ids), len(ids)), bool), 1)
    for layer in range(fields["llama.block_count"]):
        block = f"blk.{layer}"
        h = norm(x, f"{block}.attn_norm")
        q, k, v = ((h @ tensors[f"{block}.attn_{one}.weight"].T).reshape(len(ids), -1, SIZE // HEADS) for one in "qkv")
        k, v = (one.repeat(HEADS // KV_HEADS, axis=1) for one in (rotate(k), v))
        scores = np.einsum("ihd,jhd->hij", rotate(q), k) / np.sqrt(SIZE // HEADS)
        shares = np.exp(np.where(later, -np.inf, scores))
        means = np.einsum("hij,jhd->ihd", shares / shares.sum(axis=-1, keepdims=True), v).reshape(len(ids), -1)
        x += means @ tensors[f"{block}.attn_output.weight"].T
        h = norm(x, f"{block}.ffn_norm")
        gate, up = (h @ tensors[f"{block}.ffn_{one}.weight"].T for one in ("gate", "up"))
        x += (gate / (1 + np.exp(-gate)) * up) @ tensors[f"{block}.ffn_down.weight"].T
    logits = norm(x, "output_norm") @ tensors["token_embd.weight"].T
    logprobs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    return [logprobs[len(PROMPT) - 1 + at, token] for at, token in enumerate(CONTINUATION)]


def test_scores_in_integers_are_nearly_those_of_the_formula():
    weights = make_weights()
    expected = score_in_float32(weights, [*PROMPT, *CONTINUATION])
    assert Llama(weights).score(PROMPT, CONTINUATION, never) == pytest.approx(expected, abs=0.4)
    # The tolerance is far below what the scores are apart.
    assert max(expected) - min(expected) > 2


def test_threads_change_nothing():
    weights, prompt = make_weights(), PROMPT * 5
    expected = Llama(weights).score(prompt, CONTINUATION, never)
    assert Llama(weights, threads=3).score(prompt, CONTINUATION, never) == pytest.approx(expected, abs=1e-5)


def test_log_probabilities_are_those_of_a_distribution():
    everything = Llama(make_weights()).judge(PROMPT, range(WORDS), never)
    assert sum(np.exp(everything)) == pytest.approx(1.0, abs=1e-5)
    assert max(everything) - min(everything) > 1


def test_an_earlier_token_sees_none_of_the_later_ones():
    model = Llama(make_weights())
    (first, *_) = model.score(PROMPT, CONTINUATION, never)
    assert Llama(make_weights()).score(PROMPT, [CONTINUATION[0], 49, 48], never)[0] == pytest.approx(first, abs=1e-4)


@pytest.mark.parametrize("block", [1, 7, 64])
def test_blocks_of_any_size_give_the_same_scores(monkeypatch, block):
    expected = Llama(make_weights()).score(PROMPT, CONTINUATION, never)
    monkeypatch.setattr(forward, "_BLOCK", block)
    monkeypatch.setattr(forward, "_QUERIES", max(1, block // 3))
    assert Llama(make_weights()).score(PROMPT, CONTINUATION, never) == pytest.approx(expected, abs=1e-4)


def test_what_was_computed_before_changes_nothing():
    model = Llama(make_weights(), make_adapter())
    fresh = Llama(make_weights()).score(PROMPT, CONTINUATION, never)
    for prompt in (PROMPT[:20], [*PROMPT, 1, 2, 3], [*PROMPT[:30], 49, *PROMPT[31:]], PROMPT):
        model.score(prompt, CONTINUATION, never)
        model.judge(prompt, [1], never)
    assert model.score(PROMPT, CONTINUATION, never) == pytest.approx(fresh, abs=1e-4)


def test_a_known_beginning_is_not_computed_again(monkeypatch):
    model, sizes = Llama(make_weights()), []
    run = Llama._run
    monkeypatch.setattr(Llama, "_run", lambda self, ids, *rest: sizes.append(len(ids)) or run(self, ids, *rest))
    model.score(PROMPT, CONTINUATION, never)
    model.score(PROMPT, [5, 6], never)
    model.score([*PROMPT[:-1], 49], [5, 6], never)
    # The last token of a prompt says what comes next, so it is computed each time.
    assert sizes == [len(PROMPT) + len(CONTINUATION) - 1, 2, 2]


def test_states_beyond_the_kept_bytes_are_dropped(monkeypatch):
    model = Llama(make_weights())
    monkeypatch.setattr(forward, "_KEPT_BYTES", 3 * 2 * 2 * 2 * len(PROMPT) * 8 * 4)
    for last in range(6):
        model.judge([*PROMPT[:-1], last], [1], never)
    assert [ids[-1] for _, ids in model._known] == [3, 4, 5]


def test_an_adapter_counts_in_judgements_alone():
    weights, adapter = make_weights(), make_adapter()
    merged = dict(weights.tensors)
    for name in MATRICES:
        a, b = (adapter.tensors[f"blk.1.{name}.weight.lora_{half}"] for half in "ab")
        merged[f"blk.1.{name}.weight"] = merged[f"blk.1.{name}.weight"] + 8.0 / 4 * b @ a
    with_adapter = Llama(weights, adapter)
    expected = Llama(GgufFile(fields=weights.fields, tensors=merged)).judge(PROMPT, CONTINUATION, never)
    assert with_adapter.judge(PROMPT, CONTINUATION, never) == pytest.approx(expected, abs=1e-3)
    assert with_adapter.judge(PROMPT, CONTINUATION, never) != pytest.approx(
        Llama(weights).judge(PROMPT, CONTINUATION, never), abs=0.1
    )
    plain = Llama(weights).score(PROMPT, CONTINUATION, never)
    assert with_adapter.score(PROMPT, CONTINUATION, never) == pytest.approx(plain, abs=1e-4)


def test_it_stops_between_two_layers():
    asked = iter([False, True])
    with pytest.raises(Stopped):
        Llama(make_weights()).score(PROMPT, CONTINUATION, lambda: next(asked))


def write_weights(path: Path, file: GgufFile, *, kind: str = "F32") -> Path:
    """Write a file with the gguf package."""
    writer = gguf.GGUFWriter(path, "llama")
    for name, value in file.fields.items():
        (writer.add_uint32 if isinstance(value, int) else writer.add_float32)(name, value)
    writer.add_array("tokenizer.ggml.tokens", [f"token {at}" for at in range(9)])
    writer.add_array("tokenizer.ggml.token_type", [1, 2, 3])
    for name, tensor in file.tensors.items():
        if tensor.ndim == 1:
            writer.add_tensor(name, tensor)
        else:
            quantised = gguf.GGMLQuantizationType[kind]
            writer.add_tensor(name, gguf.quantize(tensor, quantised), raw_dtype=quantised)
    write_gguf(writer)
    return path


@pytest.mark.parametrize(("kind", "error"), [("F32", 0), ("F16", 2e-3), ("Q8_0", 0.02)])
def test_tensors_are_loaded_as_the_gguf_package_loads_them(tmp_path, kind, error):
    weights = make_weights()
    path = write_weights(tmp_path / "weights.gguf", weights, kind=kind)
    loaded = load_gguf(path)
    for tensor in gguf.GGUFReader(path).tensors:
        values = gguf.dequantize(tensor.data, tensor.tensor_type).reshape(tensor.shape[::-1])
        assert np.array_equal(loaded.tensors[tensor.name], values)
        assert np.abs(values - weights.tensors[tensor.name]).max() <= error
    assert loaded.fields["llama.block_count"] == 2
    assert loaded.fields["general.architecture"] == "llama"


def test_a_file_that_cannot_be_loaded_says_so(tmp_path):
    path = write_weights(tmp_path / "weights.gguf", make_weights(), kind="Q4_1")
    with pytest.raises(NoWeights, match="cannot be loaded: it has tensors of type 3, and F32"):
        load_gguf(path)
    whole = write_weights(tmp_path / "whole.gguf", make_weights()).read_bytes()
    for length, what in (
        (0, "not a GGUF"),
        (3, "not a GGUF"),
        (60, "it is damaged"),
        (len(whole) // 2, "it is damaged"),
    ):
        cut = tmp_path / "cut.gguf"
        cut.write_bytes(whole[:length])
        with pytest.raises(NoWeights, match=what):
            load_gguf(cut)
    with pytest.raises(NoWeights, match="cannot be read"):
        load_gguf(tmp_path / "none.gguf")


def test_a_cancelled_score_stops_and_the_next_one_is_right(tmp_path, monkeypatch):
    weights = make_weights(layers=40)
    path = write_weights(tmp_path / "weights.gguf", weights)
    adapter = write_weights(tmp_path / "adapter.gguf", make_adapter())
    scorer = ForwardScorer(path, adapter, threads=1)
    begun, ended = threading.Event(), threading.Event()
    attend = forward._attend

    def slowly(*args):
        begun.set()
        time.sleep(0.02)
        return attend(*args)

    monkeypatch.setattr(forward, "_attend", slowly)
    run = Llama._predict

    def watched(self, *args, **options):
        try:
            return run(self, *args, **options)
        finally:
            ended.set()

    monkeypatch.setattr(Llama, "_predict", watched)
    pieces = [(one, True) for one in CONTINUATION]

    async def work():
        task = asyncio.create_task(scorer.score(PROMPT, pieces))
        assert await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # The 40 layers take 0.8 s.
        assert await asyncio.to_thread(ended.wait, 0.5)
        monkeypatch.undo()
        return await scorer.score(PROMPT, pieces)

    assert asyncio.run(work()) == pytest.approx(Llama(weights).score(PROMPT, CONTINUATION, never), abs=1e-4)


def test_an_adapter_for_other_weights_is_a_clear_error(tmp_path):
    path = write_weights(tmp_path / "weights.gguf", make_weights())
    halves = {
        f"blk.0.attn_q.weight.lora_{half}": np.ones(shape, "f4") for half, shape in (("a", (4, 8)), ("b", (8, 4)))
    }
    other = GgufFile(fields={"adapter.lora.alpha": 8.0}, tensors=halves)
    scorer = ForwardScorer(path, write_weights(tmp_path / "adapter.gguf", other), threads=1)
    with pytest.raises(NoWeights, match="does not fit"):
        asyncio.run(scorer.judge(PROMPT, [1]))


def test_gates_far_below_0_are_closed_without_a_warning():
    weights = make_weights()
    for name in weights.tensors:
        if "ffn_gate" in name:
            weights.tensors[name] *= 1000
    assert np.isfinite(Llama(weights).score(PROMPT, CONTINUATION, never)).all()
