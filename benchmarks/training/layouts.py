"""What a model from nothing learns of a layout, and by what: the warm start of `tiny-cpu`, taken apart.

    python benchmarks/training/layouts.py --layout section-first --steps 1000
    python benchmarks/training/layouts.py --layout memory-first --sight section --start runs/tiny/warm-0 --steps 0

Samples, ideal conversations, model and rate are the preset's, in a loop of its own so that the attention can be
changed. Of each of a step's 16 samples it trains on the section with the fact, one without, and the answer. Every
hundred steps, on 512 held-out samples whose ideal memory is given, the share of right greedy tokens in per cent:

    find    the section has the fact: the reply's first word is the key, not "same"
    value   the same conversation, with "KEY has" given: the value
    guess   the same: the value of any record in the section; the share of `value` that guessing among them gives is 50
    keep    the section has no fact: the first word is "same"
    answer  the last conversation: the value that stands in the memory
    first   the same: the value of the record that the first question names, which is another one with `--mislead`
    lines   for facts in line 1, 2, 3, 4: how often the value of the record in each line is chosen, where there is one

`--sight` changes what the section's tokens attend to: `causal` is all that stands before; `section` the section alone,
as if the question came later; `question` the words of the first question too, wherever they stand.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

import torch
import transformers
from train_tiny import load_best

from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.launch import build_policy
from bookwheel.lab.training.rows import build_row
from bookwheel.lab.training.sharing import pad
from bookwheel.lab.training.step import schedule
from bookwheel.lab.training.toys import KEYS, toy_samples
from bookwheel.plan import Layout
from bookwheel.reading.prompts import prompts_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.lab.tasks import Sample
    from bookwheel.lab.training.rows import Row

SIGHTS: Final = ("causal", "section", "question")
HELD_OUT: Final = 7919
LINE: Final = 4
PARTS: Final = ("find", "value", "guess", "first", "keep", "answer")


class Probe:
    """One model, one layout, one kind of sight."""

    def __init__(self, given: argparse.Namespace) -> None:
        config = replace(TrainConfig.load("tiny-cpu"), seed=given.seed)
        self.config = replace(config, plan=replace(config.plan, layout=given.layout))
        if given.bias:
            transformers.LlamaConfig, transformers.LlamaForCausalLM = (
                transformers.Qwen2Config,
                transformers.Qwen2ForCausalLM,
            )
        self.policy = build_policy(self.config)
        if given.start:
            load_best(self.policy, given.start)
        self.prompts, self.given = prompts_for(config.plan, ""), given
        self.encode = self.policy.tokenizer.convert_tokens_to_ids
        self.section, self.question = self.encode("section"), self.encode("question")
        self.keys = set(self.encode(list(KEYS)))
        self.held_out = self.rows(self.samples(512, HELD_OUT))

    def samples(self, count: int, seed: int) -> list[Sample]:
        return toy_samples(tokens=self.config.task.tokens, count=count, seed=seed)

    def rows(self, samples: Sequence[Sample]) -> list[Row]:
        """Return of each sample's ideal reading the section with the fact, one without, and the answer."""
        rows, size = [], self.config.plan.chunk_tokens
        for one in samples:
            words, note = one.text.split(), [*one.question.split(), one.golds[0]]
            sections = [words[start : start + size] for start in range(0, len(words), size)]
            lines = [section[n : n + 3] for section in sections for n in range(0, size, LINE)]
            at = lines.index(note) // (size // LINE)
            other = Random(one.id).choice([n for n in range(len(sections)) if n != at])
            keys = [line[0] for line in lines[at * size // LINE :][: size // LINE] if line[0] in KEYS]
            asked = [key for key in keys if key != note[0]] if self.given.mislead else [note[0]]
            rows += [
                *(self.row(one, [self.prompts.blank], sections[at], note, key) for key in asked[:1]),
                self.row(one, note if other > at else [self.prompts.blank], sections[other], [self.prompts.unchanged]),
                self.row(one, note, [], [one.golds[0]]),
            ]
        return rows

    def row(self, sample: Sample, memory: list[str], section: list[str], reply: list[str], asked: str = "") -> Row:
        """Return a conversation as a row; its first question may have a key of its own."""
        parts = {"{question}": sample.question.split(), "{memory}": memory, "{section}": section}
        template = self.prompts.updates[self.given.layout] if section else self.prompts.answer_template
        prompt = ["<|user|>", *(word for part in template.split() for word in parts.get(part, [part])), "<|reply|>"]
        if asked:
            prompt[prompt.index("question") + 1] = asked
        ids = self.encode([*prompt, *reply, "<|end|>"])
        return build_row(tuple(ids[: len(prompt)]), tuple(ids[len(prompt) :]), sample.id)

    def logits(self, rows: Sequence[Row]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits before every trained token, and those tokens; all rows have a section, or none."""
        ids, _ = pad([row.ids for row in rows])
        inputs: dict[str, Any] = {"input_ids": ids}
        if self.given.sight != "causal" and self.section in rows[0].ids:
            inputs["attention_mask"] = self.mask(ids)
        hidden = self.policy.model.model(**inputs, use_cache=False).last_hidden_state
        places = [(r, t - 1) for r, row in enumerate(rows) for t, trained in enumerate(row.trained) if trained]
        at = torch.tensor(places).T
        return self.policy.model.lm_head(hidden[at[0], at[1]]), ids[at[0], at[1] + 1]

    def mask(self, ids: torch.Tensor) -> torch.Tensor:
        """Return what each token attends to, as zeros and the smallest number."""
        count, length = ids.shape
        seen = torch.tril(torch.ones(length, length, dtype=torch.bool)).repeat(count, 1, 1)
        for row, line in enumerate(ids.tolist()):
            start, first = line.index(self.section), line.index(self.question)
            end = start + 1 + self.config.plan.chunk_tokens
            if self.given.sight == "section":
                seen[row, start:end, :start] = False
            else:
                seen[row, start:end, first : first + 3] = True
        return torch.zeros(seen.shape).masked_fill(~seen, torch.finfo(torch.float32).min)[:, None]

    @torch.no_grad()
    def measure(self) -> dict[str, Any]:
        hits: dict[str, list[bool]] = {name: [] for name in PARTS}
        chosen = [[[] for _ in range(4)] for _ in range(4)]
        for part in self.split(self.held_out):
            said = iter(self.logits(part)[0].argmax(-1).tolist())
            for row in part:
                self.count(row, [next(said) for _ in range(row.tokens)], hits, chosen)
        lines = [[share(cell) for cell in line] for line in chosen]
        return {name: share(one) for name, one in hits.items()} | {"lines": lines}

    def split(self, rows: Sequence[Row]) -> list[list[Row]]:
        """Return the rows without a section and those with one: padding is work."""
        without = [row for row in rows if self.section not in row.ids]
        return [without, [row for row in rows if self.section in row.ids]]

    def count(self, row: Row, said: list[int], hits: dict[str, list[bool]], chosen: list[list[list[bool]]]) -> None:
        gold = row.ids[-row.tokens :]
        if self.section not in row.ids:
            hits["answer"].append(said[0] == gold[0])
        elif gold[0] not in self.keys:
            hits["keep"].append(said[0] == gold[0])
        else:
            start = row.ids.index(self.section) + 1
            lines = [row.ids[start + n : start + n + 3] for n in range(0, self.config.plan.chunk_tokens, LINE)]
            records = {n: line[2] for n, line in enumerate(lines) if line[0] in self.keys}
            at = next(n for n, line in enumerate(lines) if line == gold[:3])
            hits["find"].append(said[0] == gold[0])
            hits["value"].append(said[2] == gold[2])
            hits["guess"].append(said[2] in records.values())
            asked = row.ids[row.ids.index(self.question) + 1]
            hits["first"].append(any(line[0] == asked and line[2] == said[2] for line in lines))
            for n, value in records.items():
                # Two records may have one value; the fact's own counts first.
                chosen[at][n].append(said[2] == value and (n == at or value != gold[2]))

    def train(self) -> None:
        weights, warm = list(self.policy.model.parameters()), self.config.warm_start
        optimizer = torch.optim.AdamW(weights, betas=(0.9, self.given.beta), weight_decay=self.config.weight_decay)
        rate = schedule(warm.learning_rate, warm.warmup_steps)
        began, losses = time.process_time(), []
        for step in range(self.given.steps):
            scored = [self.logits(part) for part in self.split(self.rows(self.draw(step)))]
            loss = torch.nn.functional.cross_entropy(*(torch.cat(parts) for parts in zip(*scored, strict=True)))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(weights, self.config.clip_norm)
            for group in optimizer.param_groups:
                group["lr"] = rate(step)
            optimizer.step()
            losses.append(loss.item())
            if (step + 1) % 100 == 0:
                mean, seconds = sum(losses) / len(losses), round(time.process_time() - began)
                print(json.dumps({"step": step + 1, "loss": mean, "processor": seconds, **self.measure()}), flush=True)
                losses.clear()

    def draw(self, step: int) -> list[Sample]:
        return self.samples(self.config.warm_start.samples, (self.given.seed + 1) * 100_000 + step)


def share(hits: Sequence[bool]) -> float:
    return round(100 * sum(hits) / len(hits), 1)


def main() -> None:
    """Measure what the model can before the first step, and while it learns."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--layout", type=Layout, required=True)
    parser.add_argument("--sight", choices=SIGHTS, default="causal")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--start", type=Path, help="a run of train_tiny.py whose best weights it begins with")
    parser.add_argument("--bias", action="store_true", help="queries, keys and values with biases, as in Qwen2")
    parser.add_argument("--mislead", action="store_true", help="let the first question ask for another record, if any")
    parser.add_argument("--beta", type=float, default=0.999, help="AdamW's second")
    torch.set_num_threads(1)
    probe = Probe(parser.parse_args())
    print(json.dumps({"step": 0, **probe.measure()}), flush=True)
    probe.train()


if __name__ == "__main__":
    main()
