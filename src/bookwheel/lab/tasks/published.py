"""Each benchmark's published settings: prompt, generation limit, temperature, extraction and measure, one row each.

`SPECS` is the one place for them. A prompt that is somebody else's text is read, as data, from a checkout of the
benchmark's repository; nothing of the checkout runs. Where a record holds its prompt, no checkout is needed.

    specs = PublishedSpecs(Path("checkouts"))        # holds LongBench, InfiniteBench, … or is one of them
    specs.publish(sample, record, path).published    # the messages, the limit and the sampling, as published
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from bookwheel.errors import InputError
from bookwheel.lab.scoring import METRICS, Score
from bookwheel.lab.tasks.base import PublishedCall, Sample
from bookwheel.lab.tasks.published_helmet import (
    ask_citations,
    ask_needles,
    ask_pairs,
    ask_passages,
    ask_ranking,
)
from bookwheel.lab.tasks.published_prompts import (
    AskedSample,
    Checkout,
    PublishedPrompt,
    ask_babilong,
    ask_graphwalks,
    ask_infinitebench,
    ask_locomo,
    ask_longbench,
    ask_longbench2,
    ask_longmemeval,
    ask_memagent,
    ask_meme,
    ask_mmlongbench,
    ask_mrcr,
    ask_nolima,
    ask_oolong,
    ask_ruler,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSpec:
    """The published settings of one benchmark, or of some of its tasks."""

    benchmark: str
    tasks: str
    """A regular expression for the names of its tasks."""
    metric: str
    """The measure; empty where a model judges, which `--judge` stands for."""
    prompt: Callable[[Checkout, AskedSample], PublishedPrompt]
    source: str = ""
    """The repository that the prompt is read from; empty where the record holds it."""
    reply_tokens: int = 0
    """The generation limit; 0 where the checkout has it for each task, or none is published and the plan's holds."""
    temperature: float | None = 0.0
    """None: left to the server, as published."""
    top_p: float | None = None
    first_line: bool = False
    """Only the answer's first line is compared."""
    own_golds: bool = False
    """The measure needs what only the prompt's recipe adds to the golds, so nothing else can be judged by it."""
    own_prompts: bool = False
    """It is read in its own words, which the user gives by --prompts."""
    verdict: Callable[[str, str, tuple[str, ...]], float | None] | None = None
    """Reads the reply of its judge, with metric and golds: a score, or None where the reply gives none."""
    differs: str = ""
    """What is known to be otherwise here."""

    def score(self, answer: str, golds: tuple[str, ...]) -> Score:
        return METRICS[self.metric](take_first_line(answer) if self.first_line else answer, golds)


def take_first_line(answer: str) -> str:
    """Return the first line, after empty ones."""
    return answer.lstrip("\n").split("\n")[0]


def _says_yes(reply: str, _metric: str, _golds: tuple[str, ...]) -> float:
    return float("yes" in reply.lower())


def _extract(reply: str, metric: str, golds: tuple[str, ...]) -> float | None:
    """Score what MMLongBench-Doc's judge cut out of an answer."""
    _, mark, rest = reply.partition("Answer format:")[0].partition("Extracted answer:")
    # What declines is written out as such.
    measure = METRICS["mmlongbench" if metric == "mmlongbench_none" else metric]
    return measure(rest.strip(), golds).score if mark else None


_CUT: Final = "a prompt beyond the window is not cut in the middle: the sample does not fit"


def _longbench(tasks: str, metric: str, *, first_line: bool = False) -> PublishedSpec:
    return PublishedSpec(
        benchmark="LongBench",
        tasks=rf"(?:{tasks})(?:_e)?",
        metric=metric,
        prompt=ask_longbench,
        source="THUDM/LongBench",
        first_line=first_line,
        differs=f"{_CUT}; a chat endpoint frames every prompt, where six sets were asked without a frame",
    )


def _infinitebench(tasks: str, metric: str) -> PublishedSpec:
    return PublishedSpec(
        benchmark="InfiniteBench",
        tasks=tasks,
        metric=metric,
        prompt=ask_infinitebench,
        source="OpenBMB/InfiniteBench",
        differs=f"{_CUT}; the prompts are those for GPT-4",
    )


def _ruler(tasks: str, metric: str, reply_tokens: int) -> PublishedSpec:
    return PublishedSpec(
        benchmark="RULER",
        tasks=rf"(?:ruler_)?(?:{tasks})",
        metric=metric,
        prompt=ask_ruler,
        reply_tokens=reply_tokens,
        top_p=1.0,
        differs="a chat endpoint frames the prompt; the published top_k of 32 changes nothing at temperature 0",
    )


def _locomo(tasks: str, metric: str, *, own_golds: bool = False) -> PublishedSpec:
    return PublishedSpec(
        benchmark="LoCoMo",
        tasks=f"locomo-(?:{tasks})",
        metric=metric,
        prompt=ask_locomo,
        source="snap-research/locomo",
        reply_tokens=32,
        own_golds=own_golds,
        differs="speakers and the options of adversarial questions are in a fixed order, where theirs is drawn",
    )


def _oolong(tasks: str, metric: str) -> PublishedSpec:
    return PublishedSpec(
        benchmark="OOLONG", tasks=tasks, metric=metric, prompt=ask_oolong, temperature=None, differs=_CUT
    )


def _helmet(
    tasks: str, metric: str, prompt: Callable[[Checkout, AskedSample], PublishedPrompt], reply_tokens: int, **rest: Any
) -> PublishedSpec:
    return PublishedSpec(
        benchmark="HELMET",
        tasks=f"helmet-(?:{tasks})",
        metric=metric,
        prompt=prompt,
        source="princeton-nlp/HELMET",
        reply_tokens=reply_tokens,
        top_p=1.0,
        **{"differs": f"{_CUT}; the prompts are those for chat models", **rest},
    )


_CITED: Final = (
    "the answers are judged; the citations, which a model of entailment judges there, are not. The two examples are "
    f"the first two, where theirs are drawn; {_CUT}"
)
SPECS: Final = (
    _ruler(r"niah_\w+", "string_match_all", 128),
    _ruler("vt", "string_match_all", 30),
    _ruler("cwe", "string_match_all", 120),
    _ruler("fwe", "string_match_all", 50),
    _ruler("qa_[12]", "string_match_part", 32),
    PublishedSpec(
        benchmark="MemAgent",
        tasks=r"(?:memagent_)?hqa\w*|eval_\d+",
        metric="official",
        prompt=ask_memagent,
        reply_tokens=1024,
        temperature=0.7,
        top_p=0.95,
        own_prompts=True,
        differs="it is a way of reading, here `sequential` in its words",
    ),
    _longbench("narrativeqa|qasper|multifieldqa_en|hotpotqa|2wikimqa|musique", "qa_f1"),
    _longbench("triviaqa", "qa_f1", first_line=True),
    _longbench("multifieldqa_zh", "qa_f1_zh"),
    _longbench("dureader|vcsum", "rouge_zh"),
    _longbench("gov_report|qmsum|multi_news", "rouge_l"),
    _longbench("samsum", "rouge_l", first_line=True),
    _longbench("trec|lsht", "classification", first_line=True),
    _longbench("passage_count|passage_retrieval_(?:en|zh)", "number_share"),
    _longbench("lcc|repobench-p", "code_similarity"),
    PublishedSpec(
        benchmark="LongBench v2",
        tasks="longbench-2",
        metric="letter",
        prompt=ask_longbench2,
        source="THUDM/LongBench",
        reply_tokens=128,
        temperature=0.1,
        differs=_CUT,
    ),
    PublishedSpec(
        benchmark="BABILong",
        tasks="babilong",
        metric="label",
        prompt=ask_babilong,
        source="booydar/babilong",
        reply_tokens=20,
        own_golds=True,
        differs="with instruction, examples and closing words, as its main table",
    ),
    _infinitebench("kv_retrieval|kv_retrieval_(?:prefix|both)", "ib_word"),
    _infinitebench("passkey|number_string", "ib_number"),
    _infinitebench("code_run", "ib_code_run"),
    _infinitebench("code_debug", "ib_code_debug"),
    _infinitebench("longdialogue_qa_eng", "ib_speaker"),
    _infinitebench("longbook_choice_eng", "ib_choice"),
    _infinitebench("longbook_qa_eng", "qa_f1"),
    _infinitebench("longbook_qa_chn", "ib_qa_zh"),
    _infinitebench("longbook_sum_eng", "rouge_lsum"),
    _infinitebench("math_find", "ib_math_find"),
    _infinitebench("math_calc", "ib_math_calc"),
    _locomo("multi-hop", "locomo_multi"),
    _locomo("adversarial", "locomo_absent"),
    _locomo(".+", "locomo_f1"),
    PublishedSpec(
        benchmark="LongMemEval",
        tasks="longmemeval-.+",
        metric="",
        prompt=ask_longmemeval,
        source="xiaowu0162/LongMemEval",
        reply_tokens=500,
        verdict=_says_yes,
        differs="its judge is a model: --judge MODEL is asked in its words; sessions as JSON, all of them",
    ),
    PublishedSpec(
        benchmark="MEME",
        tasks="meme-.+",
        metric="",
        prompt=ask_meme,
        differs="it measures memory systems, here the way `memory`; its judge is a model: --judge MODEL, by rules of "
        "ours",
    ),
    PublishedSpec(benchmark="MRCR", tasks="mrcr.*", metric="verbatim", prompt=ask_mrcr, temperature=None, differs=_CUT),
    PublishedSpec(
        benchmark="GraphWalks",
        tasks="graphwalks-.*",
        metric="graphwalks",
        prompt=ask_graphwalks,
        temperature=None,
    ),
    _oolong("oolong-real.*", "oolong_real"),
    _oolong("oolong-.*-number", "oolong_number"),
    _oolong("oolong-.*-date", "oolong_date"),
    _oolong("oolong-.*", "oolong"),
    PublishedSpec(
        benchmark="NoLiMa",
        tasks="nolima.*",
        metric="holds",
        prompt=ask_nolima,
        source="adobe-research/NoLiMa",
        reply_tokens=192,
        top_p=1.0,
        differs="`bookwheel data nolima` makes the samples; sets with distractors are not made; tokens that a model "
        "puts before a text are not counted",
    ),
    PublishedSpec(
        benchmark="MMLongBench-Doc",
        tasks="mmlongbench.*",
        metric="",
        prompt=ask_mmlongbench,
        source="mayubo2333/MMLongBench-Doc",
        reply_tokens=1024,
        verdict=_extract,
        differs="its pages are read by the way `whole`, as text and pictures in words of ours, where theirs are "
        "pictures alone; --judge MODEL cuts the answer out of the reply, in its words, and its share is the published "
        "score",
    ),
    _helmet("rerank", "ranking", ask_ranking, 200, first_line=True),
    _helmet("niah", "string_match_all", ask_needles, 50),
    _helmet("json-kv", "helmet_match", ask_pairs, 100),
    _helmet("rag", "helmet_match", ask_passages, 20, first_line=True),
    _helmet("cite-asqa", "alce_asqa", ask_citations, 300, differs=_CITED),
    _helmet("cite-qampari", "alce_qampari", ask_citations, 300, differs=_CITED),
)
"""The rows; the first whose tasks fit counts."""


@cache
def find_spec(task: str) -> PublishedSpec | None:
    """Return the row of a task; None where nothing is published for it."""
    return next((spec for spec in SPECS if re.fullmatch(spec.tasks, task)), None)


def score_as_published(task: str, answer: str, golds: tuple[str, ...]) -> Score | None:
    """Score by the measure that was published for the task; None where there is none that compares strings."""
    spec = find_spec(task)
    if spec is None or not spec.metric or spec.own_golds:
        return None
    try:
        return spec.score(answer, golds)
    except InputError:  # a package that the measure needs is missing: the report says how many were judged
        return None


class PublishedSpecs:
    """The rows with the checkouts that prompts are read from."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def publish(self, sample: Sample, record: Mapping[str, Any] | None = None, path: Path | None = None) -> Sample:
        """Return the sample as it was asked and is judged as published; InputError says what that needs."""
        spec = find_spec(sample.task)
        if spec is None:
            raise InputError(f"nothing is published for the task {sample.task!r}; leave out --as-published")
        asked = spec.prompt(Checkout(self._folder, spec.source), AskedSample(sample, record or {}, path))
        call = PublishedCall(
            benchmark=spec.benchmark,
            messages=asked.messages,
            reply_tokens=asked.reply_tokens or spec.reply_tokens,
            temperature=spec.temperature,
            top_p=spec.top_p,
            first_line=spec.first_line,
            way=asked.way,
            preset=asked.preset,
            judge=asked.judge,
        )
        return replace(sample, published=call, metric=spec.metric or sample.metric, golds=asked.golds or sample.golds)


def describe_spec(spec: PublishedSpec) -> dict[str, Any]:
    """Return a row as plain values, for a manifest and for the docs."""
    names = ("benchmark", "tasks", "metric", "source", "reply_tokens", "temperature", "top_p", "first_line", "differs")
    return json.loads(json.dumps({name: getattr(spec, name) for name in names}))  # type: ignore[no-any-return]
