"""What dense and hybrid retrieval find of the evidence, by embeddings of several models, with and without overlap.

    python benchmarks/quality/dense_recall.py --data DATA --minilm FOLDER --glove FOLDER [--tasks hqa qa_1] [--count 10]

--minilm names a folder of all-MiniLM-L6-v2 (model.safetensors, tokenizer.json, config.json), --glove one of GloVe 6B as
`glove_6B_50d_emb.npy` and `glove_6B_index.parquet`. Without them, the local model's input layer and BM25 are measured.
The figure is the share of the evidence in the best passages, an eighth of the document in all, as `dense` and `hybrid`
take them.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bookwheel.environment import Environment
from bookwheel.lab.baselines.one_call import PASSAGE_TOKENS, fuse_ranks, join_neighbours
from bookwheel.lab.tasks import make_samples
from bookwheel.models.local import LocalModel
from bookwheel.text.chunks import split
from bookwheel.text.ranking import score_texts
from bookwheel.text.tokens import WordTokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bookwheel.lab.tasks import Sample
    from bookwheel.types import Chunk

    Embed = Callable[[Sequence[str]], Any]
    """Texts to a matrix with a row of length 1 for each."""

WORDS = WordTokenizer()
# The smoothing of SIF for words of running text, as published.
SMOOTHING = 1e-3


def load_minilm(folder: Path) -> Embed:
    """Return the mean of the last layer's vectors, as sentence-transformers takes it."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    torch.set_num_threads(1)
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()

    def embed(texts: Sequence[str]) -> Any:
        rows = []
        for start in range(0, len(texts), 16):
            batch = tokenizer(
                list(texts[start : start + 16]), padding=True, truncation=True, max_length=256, return_tensors="pt"
            )
            with torch.inference_mode():
                states = model(**batch).last_hidden_state
            mask = batch["attention_mask"].unsqueeze(-1)
            rows.append(torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=1))
        return torch.cat(rows).numpy()

    return embed


def load_glove(folder: Path) -> Embed:
    """Return the mean of the words' vectors, rare words weighing more; the file lists words by frequency."""
    import numpy as np
    from pyarrow import parquet

    vectors = np.load(folder / "glove_6B_50d_emb.npy").astype("float32")
    words = [str(word) for word in parquet.read_table(folder / "glove_6B_index.parquet").column(0).to_pylist()]
    ranks = {word: rank for rank, word in enumerate(words)}
    norm = float(np.log(len(words)))
    mean = vectors[:50_000].mean(axis=0)

    def embed(texts: Sequence[str]) -> Any:
        rows = np.zeros((len(texts), vectors.shape[1]), dtype="float32")
        for at, text in enumerate(texts):
            for word in re.findall(r"\w+", text.lower()):
                if (rank := ranks.get(word)) is not None:
                    share = 1 / ((rank + 1) * norm)
                    rows[at] += SMOOTHING / (SMOOTHING + share) * (vectors[rank] - mean)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)

    return embed


async def load_local() -> tuple[LocalModel, Embed]:
    """Return the input layer of the local model, as the product uses it."""
    import numpy as np

    model = await LocalModel.open(None, threads=1, environment=Environment.load())
    await model.embed(["warm"])

    def embed(texts: Sequence[str]) -> Any:
        return np.array([model._embedder.embed(text) for text in texts])

    return model, embed


def cut(sample: Sample, *, overlap: bool) -> tuple[list[str], list[list[Chunk]]]:
    """Return the passages' texts, and the pieces that each takes with it."""
    if not overlap:
        pieces = list(split(sample.document, WORDS, PASSAGE_TOKENS))
        return [one.text for one in pieces], [[one] for one in pieces]
    pieces = list(split(sample.document, WORDS, PASSAGE_TOKENS // 2))
    return join_neighbours(pieces), [pieces[at : at + 2] for at in range(max(1, len(pieces) - 1))]


def find_share(sample: Sample, order: Sequence[int], pieces: Sequence[Sequence[Chunk]]) -> float:
    """Return the share of the evidence in the first passages of an order, an eighth of the document."""
    taken: dict[int, Chunk] = {}
    tokens = 0
    for place in order:
        fresh = [one for one in pieces[place] if one.start not in taken]
        tokens += sum(one.tokens for one in fresh)
        if tokens > sample.length // 8:
            break
        taken |= {one.start: one for one in fresh}
    found = sum(
        max(0, min(place.end, one.end) - max(place.start, one.start))
        for place in sample.evidence
        for one in taken.values()
    )
    return found / sum(place.end - place.start for place in sample.evidence)


def measure(sample: Sample, embedders: dict[str, Embed], costs: dict[str, float]) -> dict[str, float]:
    """Return the share that each search finds."""
    shares: dict[str, float] = {}
    for overlap in (True, False):
        texts, pieces = cut(sample, overlap=overlap)
        name = "overlapping" if overlap else "side by side"
        matches = score_texts(texts, sample.question)
        by_words = sorted((at for at in range(len(texts)) if matches[at] > 0), key=lambda at: -matches[at])
        shares[f"bm25, {name}"] = find_share(sample, by_words, pieces)
        for label, embed in embedders.items():
            began = time.process_time()
            near = embed(texts) @ embed([sample.question])[0]
            costs[label] = costs.get(label, 0.0) + time.process_time() - began
            order = sorted(range(len(texts)), key=lambda at: -near[at])
            shares[f"{label}, {name}"] = find_share(sample, order, pieces)
            shares[f"{label} + bm25, {name}"] = find_share(sample, fuse_ranks([order, by_words]), pieces)
    return shares


async def main() -> None:
    """Print a table for each task."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--minilm", type=Path)
    parser.add_argument("--glove", type=Path)
    parser.add_argument("--tasks", nargs="+", default=["hqa", "qa_1", "association"])
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--tokens", type=int, default=8192)
    parser.add_argument("--seed", type=int, default=15)
    given = parser.parse_args()
    local, embed_local = await load_local()
    embedders = {"input layer": embed_local}
    if given.glove:
        embedders["glove"] = load_glove(given.glove)
    if given.minilm:
        embedders["minilm"] = load_minilm(given.minilm)
    for task in given.tasks:
        costs: dict[str, float] = {}
        samples = make_samples(
            task, tokens=given.tokens, count=given.count, seed=given.seed, tokenizer=WORDS, data=given.data
        )
        rows = []
        for sample in samples:
            rows.append(measure(sample, embedders, costs))
            print(f"{len(rows)} of {given.count}", rows[-1], file=sys.stderr, flush=True)
        print(
            f"{task}, n = {len(rows)}, CPU seconds a document:",
            {k: round(v / 2 / len(rows), 2) for k, v in costs.items()},
        )
        for name in rows[0]:
            shares = [row[name] for row in rows]
            whole = sum(share > 0.999 for share in shares)
            print(f"  {name:34} {sum(shares) / len(shares):6.1%}   whole {whole}", flush=True)
    await local.aclose()


if __name__ == "__main__":
    asyncio.run(main())
