"""Teach the reader's adapter on one GPU in minutes: lessons as rows of ids, and a plain Llama.

    python benchmarks/training/reader_course.py train WEIGHTS.gguf COURSE.npz OUT      needs torch, numpy, gguf
    python benchmarks/training/reader_course.py score WEIGHTS.gguf COURSE.npz OUT      by the adapter in OUT

`reader_pack.py` makes a course of a file of lessons, and an adapter for the local model of what was taught. The loss is
that of `bookwheel.lab.training.warmstart`, for all lessons of a step at once. A row is a passage and what follows it in
the prompt, whose ids are joined: passages and tails are kept once, so that a course of a million rows is a file of a
few megabytes. The weights are those of the file, in eight bits as the reader computes with them; in training they are
bfloat16, with the adapter in float32.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

JUDGED, COPIED, CLAIMED, ASKED = range(4)
"""Kinds of rows: does the passage answer, its short answer, is a claim borne out, the likelihood of the question."""
ANSWER_WEIGHT, POLAR_WEIGHT = 0.3, 1.0
RANK, ALPHA = 32, 64
LENGTHS = 4
"""Groups of rows of about the same length in a step."""


class Row(NamedTuple):
    """A prompt: its passage, its tail, and what is said after it."""

    lesson: int
    kind: int
    passage: int
    tail: int
    reply: int
    label: int


class Course:
    """The rows of a packed file."""

    def __init__(self, path: Path) -> None:
        self.parts = dict(np.load(path))
        columns = {name: self.parts[f"row_{name}"] for name in Row._fields}
        for name in ("lesson", "tail", "reply"):
            columns[name] = np.cumsum(columns[name])
        self.rows = np.stack(list(columns.values()), axis=1)
        self.firsts = np.searchsorted(self.rows[:, 0], np.arange(self.rows[:, 0].max() + 2))

    def part(self, name: str, at: int) -> Any:
        """Return the ids of one passage, tail or reply."""
        ends = self.parts[f"{name}_ends"]
        return self.parts[f"{name}_ids"][ends[at - 1] if at else 0 : ends[at]]

    def ids(self, row: Any) -> tuple[Any, int]:
        """Return the ids of a row, and how many of them are its reply."""
        reply = self.part("reply", row[4])
        if row[1] == COPIED:
            reply = np.append(reply, self.parts["end"])
        prompt = (self.parts["before"], self.part("passage", row[2]), self.part("tail", row[3]), self.parts["after"])
        return np.concatenate((*prompt, reply)).astype("i4"), len(reply)

    def batch(self, rows: Any) -> Iterator[dict[str, Any]]:
        """Yield rows of about the same length together, padded at their ends."""
        made = [self.ids(row) for row in rows]
        order = np.argsort([len(ids) for ids, _ in made], kind="stable")
        for some in np.array_split(order, min(LENGTHS, len(order))):
            ids = np.zeros((len(some), max(len(made[at][0]) for at in some)), "i4")
            for place, at in enumerate(some):
                ids[place, : len(made[at][0])] = made[at][0]
            ends = np.array([len(made[at][0]) for at in some])
            replies = np.array([made[at][1] for at in some])
            yield {"order": some, "ids": ids, "ends": ends, "replies": replies}


class Llama:
    """The weights of a small Llama in torch, and an adapter on all of its matrices."""

    def __init__(self, path: Path, device: str, *, dtype: Any) -> None:
        import gguf
        import torch

        self.torch, self.device, self.dtype = torch, device, dtype
        reader = gguf.GGUFReader(path)

        def value(name: str) -> float:
            return float(reader.fields[f"llama.{name}"].contents())

        self.layers, self.epsilon = int(value("block_count")), value("attention.layer_norm_rms_epsilon")
        self.heads, self.kv_heads = int(value("attention.head_count")), int(value("attention.head_count_kv"))
        eight = gguf.GGMLQuantizationType.Q8_0
        self.weights: dict[str, Tensor] = {}
        for tensor in reader.tensors:
            whole = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype("f4")
            if tensor.tensor_type not in (eight, gguf.GGMLQuantizationType.F32):
                # As `bookwheel models --fetch` keeps them.
                whole = gguf.quants.dequantize(gguf.quants.quantize(whole, eight), eight)
            self.weights[tensor.name] = torch.tensor(whole, device=device, dtype=dtype if whole.ndim > 1 else None)
        size = len(self.weights["blk.0.attn_q.weight"]) // self.heads
        self.size = size
        self.frequencies = value("rope.freq_base") ** -(torch.arange(0, size, 2, device=device) / size)
        self.adapter: dict[str, Tensor] = {}

    def begin_adapter(self, seed: int) -> None:
        """Add a fresh adapter: its second matrices are zero."""
        generator = self.torch.Generator().manual_seed(seed)
        for name, weight in self.weights.items():
            if name.startswith("blk.") and weight.ndim > 1:
                down = self.torch.randn((RANK, weight.shape[1]), generator=generator) / weight.shape[1] ** 0.5
                up = self.torch.zeros((weight.shape[0], RANK))
                for side, half in (("a", down), ("b", up)):
                    self.adapter[f"{name}.lora_{side}"] = half.to(self.device).requires_grad_()

    def apply(self, x: Tensor, name: str) -> Tensor:
        """Multiply by a matrix, and by what the adapter adds to it."""
        name = f"{name}.weight"
        y = x @ self.weights[name].T
        if self.adapter:
            down, up = self.adapter[f"{name}.lora_a"], self.adapter[f"{name}.lora_b"]
            y = y + (x @ down.T.to(self.dtype)) @ (up.T * (ALPHA / RANK)).to(self.dtype)
        return y

    def norm(self, x: Tensor, name: str) -> Tensor:
        """Scale to a mean square of one."""
        return self.torch.nn.functional.rms_norm(
            x, (x.shape[-1],), self.weights[f"{name}.weight"].to(x.dtype), self.epsilon
        )

    def rotate(self, x: Tensor, turns: Tensor) -> Tensor:
        """Turn pairs of neighbours by the angle of their token."""
        pairs = self.torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
        return self.torch.view_as_real(pairs * turns).flatten(-2).to(x.dtype)

    def layer(self, x: Tensor, turns: Tensor, at: int) -> Tensor:
        """Run one layer."""
        attend = self.torch.nn.functional.scaled_dot_product_attention
        block = f"blk.{at}"
        h = self.norm(x, f"{block}.attn_norm")
        q, k, v = (
            self.apply(h, f"{block}.attn_{name}").unflatten(-1, (-1, self.size)).transpose(1, 2) for name in "qkv"
        )
        q, k = self.rotate(q, turns), self.rotate(k, turns)
        share = self.heads // self.kv_heads
        k, v = k.repeat_interleave(share, 1), v.repeat_interleave(share, 1)
        mixed = attend(q, k, v, is_causal=True).transpose(1, 2).flatten(-2)
        x = x + self.apply(mixed, f"{block}.attn_output")
        h = self.norm(x, f"{block}.ffn_norm")
        gate = self.torch.nn.functional.silu(self.apply(h, f"{block}.ffn_gate"))
        return x + self.apply(gate * self.apply(h, f"{block}.ffn_up"), f"{block}.ffn_down")

    def states(self, ids: Tensor) -> Tensor:
        """Return the last states of each token."""
        x = self.weights["token_embd.weight"][ids]
        places = self.torch.arange(ids.shape[1], device=self.device)
        angles = self.torch.outer(places, self.frequencies)
        turns = self.torch.polar(self.torch.ones_like(angles), angles)
        for at in range(self.layers):
            x = self.layer(x, turns, at)
        return self.norm(x, "output_norm")

    def score(self, course: Course, rows: Any) -> Tensor:
        """Return of each row the log-odds of yes, or the log-probability of its reply."""
        torch = self.torch
        found = torch.zeros(len(rows), device=self.device)
        head = self.weights["token_embd.weight"]
        options = torch.tensor(course.parts["options"], device=self.device)
        parts, orders = [], []
        for batch in course.batch(rows):
            some = rows[batch["order"]]
            states = self.states(torch.tensor(batch["ids"], device=self.device))
            ends, replies = batch["ends"], batch["replies"]
            judged = np.isin(some[:, 1], (JUDGED, CLAIMED))
            chinese = torch.tensor(course.parts["is_chinese"][some[:, 3]].astype(int), device=self.device)
            if judged.any():
                at = np.flatnonzero(judged)
                last = states[at, ends[at] - 1].float()
                pair = head[options[chinese[at]]].float()
                parts.append((last * (pair[:, 0] - pair[:, 1])).sum(-1))
                orders.append(batch["order"][at])
            if not judged.all():
                at = np.flatnonzero(~judged)
                row = np.repeat(at, replies[at])
                place = np.concatenate([np.arange(ends[one] - replies[one], ends[one]) for one in at])
                logits = (states[row, place - 1] @ head.T).float()
                targets = torch.tensor(batch["ids"][row, place], device=self.device).long()
                tokens = -torch.nn.functional.cross_entropy(logits, targets, reduction="none")
                owner = torch.tensor(np.repeat(np.arange(len(at)), replies[at]), device=self.device)
                parts.append(tokens.new_zeros(len(at)).index_add(0, owner, tokens))
                orders.append(batch["order"][at])
        return found.index_copy(0, torch.tensor(np.concatenate(orders), device=self.device), torch.cat(parts))


def measure_loss(torch: Any, scores: Tensor, rows: Any) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the mean loss of the lessons of some rows, and its parts; warmstart.py says what it is."""
    softplus = torch.nn.functional.softplus
    names, lesson = np.unique(rows[:, 0], return_inverse=True)
    count = len(names)
    owner = torch.tensor(lesson, device=scores.device)
    label = torch.tensor(rows[:, 5], device=scores.device).bool()
    kind = torch.tensor(rows[:, 1], device=scores.device)

    def mean_by_lesson(values: Tensor, chosen: Tensor) -> Tensor:
        total = values.new_zeros(count).index_add(0, owner[chosen], values[chosen])
        return total / values.new_zeros(count).index_add(0, owner[chosen], values.new_ones(int(chosen.sum()))).clamp(1)

    judged = kind == JUDGED
    right, wrong = judged & label, judged & ~label
    has_right = (
        torch.zeros(count, device=scores.device).index_add(0, owner[right], scores.new_ones(int(right.sum()))) > 0
    )
    # Scores are small numbers: their exponentials need no shift.
    powers = scores.clamp(-30, 30).exp()
    all_powers = powers.new_zeros(count).index_add(0, owner[judged], powers[judged])
    right_powers = powers.new_zeros(count).index_add(0, owner[right], powers[right])
    choice = torch.where(has_right, (all_powers + 1e-20).log() - (right_powers + 1e-20).log(), all_powers * 0)
    meaning = (mean_by_lesson(softplus(-scores), right) + mean_by_lesson(softplus(scores), wrong)) / 2
    copied = kind == COPIED
    weights = torch.where(label, POLAR_WEIGHT, ANSWER_WEIGHT)
    copies = -(scores * weights * copied).sum() / count
    claimed = kind == CLAIMED
    claims = mean_by_lesson(softplus(torch.where(label, -scores, scores)), claimed).mean()
    parts = {"choice": choice.mean(), "meaning": meaning.mean(), "copies": copies, "claims": claims}
    return sum(parts.values()), parts


def train(options: argparse.Namespace) -> None:
    """Teach for so many minutes; the rate falls with the time that is left."""
    import torch

    torch.manual_seed(options.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    options.out.mkdir(parents=True, exist_ok=True)
    course = Course(options.course)
    model = Llama(options.weights, device, dtype=torch.bfloat16 if device == "cuda" else torch.float32)
    model.begin_adapter(options.seed)
    matrices = list(model.adapter.values())
    optimizer = torch.optim.AdamW(matrices, lr=options.rate, weight_decay=0.01, betas=(0.9, 0.98))
    lessons, at, step, began = len(course.firsts) - 1, 0, 0, time.time()
    seconds = 60 * options.minutes
    with (options.out / "metrics.jsonl").open("w") as log:
        while (share := (time.time() - began) / seconds) < 1:
            if options.once and at >= lessons:
                break
            places = [number % lessons for number in range(at, at + options.lessons)]
            rows = np.concatenate([course.rows[course.firsts[one] : course.firsts[one + 1]] for one in places])
            if options.once:
                share = max(share, at / lessons)
            rate = options.rate * min(1.0, (step + 1) / 30) * (1 - 0.95 * share)
            for group in optimizer.param_groups:
                group["lr"] = rate
            loss, parts = measure_loss(torch, model.score(course, rows), rows)
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(matrices, 1.0)
            optimizer.step()
            optimizer.zero_grad()
            at, step = at + options.lessons, step + 1
            if step % 10 == 1:
                told = {name: round(float(part.detach()), 4) for name, part in parts.items()}
                told |= {
                    "step": step,
                    "lessons": at,
                    "seconds": round(time.time() - began, 1),
                    "norm": round(float(norm), 3),
                }
                log.write(json.dumps(told) + "\n")
                log.flush()
                if step % 100 == 1:
                    print(told, flush=True)
    save(model, options.out / "adapter.npz")
    print(f"{step} steps, {at} lessons of {lessons}, {time.time() - began:.0f} s", flush=True)


def save(model: Llama, path: Path) -> None:
    """Write the adapter in sixteen bits."""
    np.savez(path, **{name: half.detach().cpu().numpy().astype("f2") for name, half in model.adapter.items()})


def score(options: argparse.Namespace) -> None:
    """Write the score of every row, with the adapter; the likelihood of a question without it."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = True
    course = Course(options.course)
    model = Llama(options.weights, device, dtype=torch.float32)
    adapter = {
        name: torch.tensor(half, device=device).float() for name, half in np.load(options.out / "adapter.npz").items()
    }
    rows, scores = course.rows, np.zeros(len(course.rows), "f4")
    with torch.no_grad():
        for plain in (False, True):
            model.adapter = {} if plain else adapter
            chosen = np.flatnonzero((rows[:, 1] == ASKED) == plain)
            for some in np.array_split(chosen, max(1, len(chosen) // 256)):
                if len(some):
                    scores[some] = model.score(course, rows[some]).cpu().numpy()
    np.savez_compressed(options.out / f"{options.course.stem}-scores.npz", scores=scores)
    print(f"{len(rows)} rows of {options.course.name} scored")


def main() -> None:
    """Train or score."""
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    training = commands.add_parser("train")
    training.add_argument("weights", type=Path)
    training.add_argument("course", type=Path)
    training.add_argument("out", type=Path)
    training.add_argument("--minutes", type=float, default=8)
    training.add_argument("--once", action="store_true", help="end after each lesson was taken once")
    training.add_argument("--lessons", type=int, default=48, help="lessons of a step")
    training.add_argument("--rate", type=float, default=4e-4)
    training.add_argument("--seed", type=int, default=0)
    training.set_defaults(run=train)
    scoring = commands.add_parser("score")
    scoring.add_argument("weights", type=Path)
    scoring.add_argument("course", type=Path)
    scoring.add_argument("out", type=Path)
    scoring.set_defaults(run=score)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
