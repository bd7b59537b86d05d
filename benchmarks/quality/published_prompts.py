"""Compare what `--as-published` sends with what the benchmarks' own functions write, on the records of files.

    python benchmarks/quality/published_prompts.py OFFICIAL FILE...

OFFICIAL is a folder with checkouts: LongBench, InfiniteBench, babilong, locomo, LongMemEval, HELMET (which needs the
package datasets). FILES are in the form of these benchmarks, those of HELMET beside their files of examples. The
functions that fill a prompt are loaded from the checkouts and run as they are; LongBench's stand between other lines
and are written down here. Draws are left out: the order of LoCoMo's speakers, which of its two options comes first
where a question has no answer, and which two examples HELMET puts before answers with citations. Prints a row for each
benchmark; 1 where one differs.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from published_scorers import load_script

from bookwheel.lab.tasks.files import read_entries
from bookwheel.lab.tasks.published import PublishedSpecs

if TYPE_CHECKING:
    from bookwheel.lab.tasks import Sample

Record = Mapping[str, Any]
_load = cache(load_script)


class _Letters:
    """A tokenizer that cuts nothing: each letter is a token."""

    def encode(self, text: str, **_rest: Any) -> str:
        return text

    def decode(self, letters: str) -> str:
        return letters


def write_longbench(folder: Path, sample: Sample, record: Record) -> list[str]:
    templates = json.loads((folder / "LongBench/LongBench/config/dataset2prompt.json").read_text(encoding="utf-8"))
    return [templates[sample.task.removesuffix("_e")].format(**record)]


def write_longbench2(folder: Path, _sample: Sample, record: Record) -> list[str]:
    text = (folder / "LongBench/prompts/0shot.txt").read_text(encoding="utf-8")
    names = {"$DOC$": "context", "$Q$": "question", **{f"$C_{one}$": f"choice_{one}" for one in "ABCD"}}
    for mark, name in names.items():
        text = text.replace(mark, record[name].strip())
    return [text]


def write_infinitebench(folder: Path, sample: Sample, record: Record) -> list[str]:
    script = _load(folder / "InfiniteBench/src/eval_utils.py")
    messages, _ = script.create_msgs(_Letters(), dict(record), sample.task, "gpt4", folder)
    return [one["content"] for one in messages]


def write_babilong(folder: Path, sample: Sample, record: Record) -> list[str]:
    script = _load(folder / "babilong/babilong/prompts.py")
    named = next(text for name, text in script.DEFAULT_PROMPTS.items() if text["examples"] in _sent(sample)[0])
    return [script.get_formatted_input(record["input"], record["question"], **named)]


def write_longmemeval(folder: Path, _sample: Sample, record: Record) -> list[str]:
    script = _load(folder / "LongMemEval/src/generation/run_generation.py", ("backoff", "tiktoken", "transformers"))
    copy = json.loads(json.dumps(record))
    rest = (1000, False, "json", False, _Letters(), "openai", 10**9, "none")
    return [script.prepare_prompt(copy, "orig-session", *rest)]


def write_locomo(folder: Path, sample: Sample, record: Record) -> list[str]:
    stand_ins = ("tiktoken", "global_methods", "task_eval.rag_utils")
    script = _load(folder / "locomo/task_eval/gpt_utils.py", stand_ins)
    qa = dict(record["qa"][int(sample.id.rpartition("-")[2]) - 1])
    qa.setdefault("answer", qa.get("adversarial_answer"))
    sent: list[str] = []
    script.run_chatgpt = lambda query, **_rest: sent.append(query) or "a"
    script.tiktoken = SimpleNamespace(encoding_for_model=lambda _name: _Letters())
    script.MAX_LENGTH = {"gpt-4-32k": 10**9}
    script.random = SimpleNamespace(
        random=lambda: 0.0 if "(a) Not mentioned in the conversation" in _sent(sample)[0] else 1.0
    )
    args = SimpleNamespace(model="gpt-4-32k", use_rag=False, batch_size=1, overwrite=True)
    script.time = SimpleNamespace(sleep=lambda _seconds: None)
    script.tqdm = lambda every, **_rest: every
    one = {"conversation": record["conversation"], "qa": [qa]}
    script.get_gpt_answers(one, {"qa": [{}]}, "p", args)
    return [_sort_speakers(text, record) for text in sent]


def _sort_speakers(text: str, record: Record) -> str:
    head, mark, rest = text.partition(". The conversation takes place")
    speakers = sorted({turn["speaker"] for turn in record["conversation"]["session_1"]})
    opening = head.partition("two people: ")[0]
    return f"{opening}two people: {' and '.join(speakers)}{mark}{rest}"


# HELMET's names for its sets, by what the path of a file holds.
_HELMET_SETS = {
    "kilt/nq": "kilt_nq",
    "kilt/hotpotqa": "kilt_hotpotqa",
    "kilt/popqa": "kilt_popqa_3",
    "msmarco": "msmarco_rerank_psg",
    "json_kv": "json_kv",
    "niah_mk_2": "ruler_niah_mk_2",
    "niah_mk_3": "ruler_niah_mk_3",
    "niah_mv": "ruler_niah_mv",
    "niah_mq": "ruler_niah_mq",
    "alce/asqa": "alce_asqa_700",
    "alce/qampari": "alce_qampari_700",
}


@cache
def _load_helmet(path: Path) -> Any:
    import datasets  # noqa: F401 - it looks for torch when it is imported, and would take the stand-in for it

    stand_ins = {"torch.utils.data": {"Dataset": object}, "transformers": {"AutoTokenizer": object}}
    stand_ins |= {"torch": {}, "torch.utils": {}, "pytrec_eval": {}, "rouge_score": {"rouge_scorer": None}}
    put = [name for name in stand_ins if name not in sys.modules]
    sys.modules.update({name: SimpleNamespace(**stand_ins[name]) for name in put})  # type: ignore[misc]
    try:
        return load_script(path)
    finally:
        for name in put:
            del sys.modules[name]


@cache
def list_helmet(folder: Path, path: Path) -> frozenset[str]:
    """Return the prompts of all questions of a file."""
    script = _load_helmet(folder / "HELMET/data.py")
    name = next(name for part, name in _HELMET_SETS.items() if part in path.as_posix())
    examples = path.with_name(re.sub(r"_k\d+_dep", "_k10_dep" if "rerank" in name else "_k3_dep", path.name))
    examples = examples.with_name(examples.name.replace("-dev-", "-train-"))
    if name.startswith("alce"):
        examples = folder / f"HELMET/prompts/{name.split('_')[1]}_revised.json"
    args = SimpleNamespace(shots=2, max_test_samples=None, seed=42)
    random.sample, drawn = lambda every, count: list(every)[:count], random.sample  # the first two, as here
    try:
        data = script.load_data(args, name, str(path), str(examples))
        return frozenset(data["user_template"].format(**one) for one in data["data"])
    finally:
        random.sample = drawn


THEIRS: dict[str, Callable[[Path, Sample, Record], list[str]]] = {
    "LongBench": write_longbench,
    "LongBench v2": write_longbench2,
    "InfiniteBench": write_infinitebench,
    "BABILong": write_babilong,
    "LongMemEval": write_longmemeval,
    "LoCoMo": write_locomo,
}


def _sent(sample: Sample) -> list[str]:
    return [one.content for one in sample.published.messages] if sample.published else []


class ComparedSpecs(PublishedSpecs):
    """The published settings, which count how often they send what the benchmark does."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._checkouts = folder
        self.equal: Counter[str] = Counter()
        self.total: Counter[str] = Counter()

    def publish(self, sample: Sample, record: Record | None = None, path: Path | None = None) -> Sample:
        """Publish a sample and compare its messages."""
        asked = super().publish(sample, record, path)
        name = asked.published.benchmark if asked.published else ""
        if name == "HELMET" and path:
            self.total[name] += 1
            self.equal[name] += _sent(asked)[0] in list_helmet(self._checkouts, path)
        if name in THEIRS and record:
            ours = [_sort_speakers(one, record) for one in _sent(asked)] if name == "LoCoMo" else _sent(asked)
            self.total[name] += 1
            self.equal[name] += ours == THEIRS[name](self._checkouts, asked, record)
        return asked


def main() -> int:
    """Print how many messages are equal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("official", type=Path)
    parser.add_argument("files", type=Path, nargs="+")
    options = parser.parse_args()
    specs = ComparedSpecs(options.official)
    for path in options.files:
        with redirect_stdout(StringIO()):  # their scripts print as they write
            for _ in read_entries(path, None, specs):
                pass
    for name, total in specs.total.items():
        print(f"{name:14} {specs.equal[name]} of {total} equal")
    return int(specs.equal != specs.total)


if __name__ == "__main__":
    sys.exit(main())
