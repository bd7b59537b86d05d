"""Make a course of a file of lessons, for reader_course.py; and an adapter for the local model of what it taught.

python benchmarks/training/reader_pack.py pack LESSONS.jsonl COURSE.npz
python benchmarks/training/reader_pack.py export OUT/adapter.npz ADAPTER.gguf
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
from reader_course import ALPHA, ASKED, CLAIMED, COPIED, JUDGED, Row

from bookwheel.environment import Environment
from bookwheel.models.gguf import PLAN_FIELD, TURNS_FIELD, TYPE_FIELD, WAY_FIELD, read_header, read_lists
from bookwheel.models.local import READER, LocalModel
from bookwheel.models.weights import find_local_weights
from bookwheel.reading.prompts import prompts_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bookwheel.plan import Plan


class RowWriter:
    """Numbers the texts that rows are made of."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.texts: dict[str, dict[str, int]] = {"passage": {}, "tail": {}, "reply": {"": 0}}
        self.rows: list[Row] = []

    def add_lesson(self, at: int, passages: Sequence[str], one: dict[str, Any], *, asked: bool) -> None:
        """Add the rows of a lesson; with `asked` the likelihood of its question after each passage, and without any."""
        question = one["question"]
        prompts = prompts_for(self.plan, question)
        stop = "." if prompts.options[0].isascii() else "。"
        says = {"Yes.": f"{prompts.options[0]}{stop}", "No.": f"{prompts.options[1]}{stop}"}
        for place in one.get("shown", ()):
            is_right = place in one["right"]
            self._add(at, JUDGED, "answers", question, passages[place], label=is_right, question=question)
            if asked:
                self._add(at, ASKED, "about", question, passages[place], reply=question, label=is_right, question="")
        if asked:
            self._add(at, ASKED, "about", question, "", reply=question, question="")
        if answer := one.get("answer"):
            source, is_polar = passages[one["right"][0]], answer in says
            self._add(
                at, COPIED, "short", question, source, reply=says.get(answer, answer), label=is_polar, question=question
            )
        for place, about, text, is_right in one.get("claims", ()):
            said = {"question": about, "memory": says.get(text, text)}
            self._add(at, CLAIMED, "supports", question, passages[place], label=is_right, **said)

    def _add(
        self,
        at: int,
        kind: int,
        turn: str,
        asked: str,
        passage: str,
        *,
        reply: str = "",
        label: int = 0,
        **said: str,
    ) -> None:
        prompts = prompts_for(self.plan, asked)
        # What looks like a mark of the prompt's own is changed in the passage.
        (message,), (short,) = (prompts.turn(turn, section=section, **said) for section in (passage, "§"))
        tail = short.content.removeprefix("§")
        shown = message.content.removesuffix(tail)
        assert shown + tail == message.content
        number = [
            self.texts[name].setdefault(text, len(self.texts[name]))
            for name, text in (("passage", shown), ("tail", tail), ("reply", reply))
        ]
        self.rows.append(Row(at, kind, *number, int(label)))

    def check(self, encode: Callable[[str], list[int]]) -> None:
        """Raise where the ids of a prompt are not those of its parts, but for a few passages that end in a blank."""
        names = {name: list(found) for name, found in self.texts.items()}
        drawn = self.rows[:: max(1, len(self.rows) // 500)]
        parts = [(names["passage"][row.passage], names["tail"][row.tail]) for row in drawn]
        joined = sum(encode(passage + tail) == [*encode(passage), *encode(tail)] for passage, tail in parts)
        assert joined >= 0.98 * len(parts), f"of {len(parts)} prompts only {joined} are their parts"


def pack(options: argparse.Namespace) -> None:
    """Write the rows of a file of lessons."""
    model = asyncio.run(LocalModel.open(threads=1, environment=Environment.load()))
    writer, encode = RowWriter(model.plan), model._tokenize
    groups = [json.loads(line) for line in options.lessons.open(encoding="utf-8")]
    lessons = [(group["passages"], one) for group in groups for one in group["lessons"]]
    if not options.asked:
        # What is read together on a processor would make steps of one document here.
        Random(0).shuffle(lessons)
    for at, (passages, one) in enumerate(lessons):
        writer.add_lesson(at, passages, one, asked=options.asked)
    writer.check(encode)
    before, _, after = model._split_template(("user",))
    arrays: dict[str, Any] = {"before": np.array(before), "after": np.array(after)}
    # Columns of differences are packed well.
    for name, column in zip(Row._fields, np.array(writer.rows, "i4").T, strict=True):
        arrays[f"row_{name}"] = column if name in ("kind", "passage", "label") else np.diff(column, prepend=0)
    for name, found in writer.texts.items():
        ids = [encode(text) if text else [] for text in found]
        arrays[f"{name}_ids"] = np.array([id_ for one in ids for id_ in one], "u2")
        arrays[f"{name}_ends"] = np.cumsum([len(one) for one in ids]).astype("i4")
    tails = writer.texts["tail"]
    arrays["is_chinese"] = np.array([any("\u4e00" <= char <= "\u9fff" for char in tail[:12]) for tail in tails])
    options_by_language = [prompts_for(model.plan, text).options for text in ("Is it?", "是吗？")]
    arrays["options"] = np.array([[encode(option)[0] for option in both] for both in options_by_language])
    fields, _ = read_lists(find_local_weights(Environment.load()), ())
    arrays["end"] = np.array(fields["tokenizer.ggml.eos_token_id"])
    np.savez_compressed(options.course, **arrays)
    kinds = Counter(row.kind for row in writer.rows)
    size = options.course.stat().st_size / 1e6
    print(f"{len(lessons)} lessons, {len(writer.rows)} rows {dict(kinds)}, {size:.1f} MB")


def export(options: argparse.Namespace) -> None:
    """Write the adapter as a file that the local model opens, with the plan and the turns of the one that ships."""
    from gguf import GGUFWriter, Keys

    header = read_header(READER)
    writer = GGUFWriter(options.adapter, "llama")
    writer.add_type(str(header[TYPE_FIELD]))
    writer.add_string(Keys.Adapter.TYPE, "lora")
    writer.add_float32(Keys.Adapter.LORA_ALPHA, float(ALPHA))
    for name in (PLAN_FIELD, WAY_FIELD, TURNS_FIELD):
        writer.add_string(name, str(header[name]))
    for name, half in np.load(options.trained).items():
        writer.add_tensor(name, half.astype("f2"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    """Pack or export."""
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    packing = commands.add_parser("pack")
    packing.add_argument("lessons", type=Path)
    packing.add_argument("course", type=Path)
    packing.add_argument("--asked", action="store_true", help="add the likelihoods of the questions, to score only")
    packing.set_defaults(run=pack)
    exporting = commands.add_parser("export")
    exporting.add_argument("trained", type=Path)
    exporting.add_argument("adapter", type=Path)
    exporting.set_defaults(run=export)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
