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

import bookwheel.lab.tasks.published_helmet as helmet
import bookwheel.lab.tasks.published_prompts as prompts
from bookwheel.errors import InputError
from bookwheel.lab.scoring import METRICS, Score
from bookwheel.lab.tasks.base import PublishedCall, Sample, take_first_line


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSpec:
    """The published settings of one benchmark, or of some of its tasks."""

    benchmark: str
    tasks: str
    """A regular expression for the names of its tasks."""
    metric: str = ""
    """The measure; empty where a model judges, which `--judge` stands for."""
    prompt: Callable[[prompts.Checkout, prompts.AskedSample], prompts.PublishedPrompt]
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

    def of(self, tasks: str, metric: str, **rest: Any) -> "PublishedSpec":
        """Return a row of the benchmark: its tasks stand where the expression has `*`."""
        return replace(self, tasks=self.tasks.replace("*", tasks), metric=metric, **rest)

    def score(self, answer: str, golds: tuple[str, ...]) -> Score:
        return METRICS[self.metric](take_first_line(answer) if self.first_line else answer, golds)


def _extract(reply: str, metric: str, golds: tuple[str, ...]) -> float | None:
    """Score what MMLongBench-Doc's judge cut out of an answer."""
    _, mark, rest = reply.partition("Answer format:")[0].partition("Extracted answer:")
    # What declines is written out as such.
    measure = METRICS["mmlongbench" if metric == "mmlongbench_none" else metric]
    return measure(rest.strip(), golds).score if mark else None


_CUT: Final = "a prompt beyond the window is not cut in the middle: the sample does not fit"


_MEMAGENT: Final = PublishedSpec(
    benchmark="MemAgent",
    tasks="*",
    prompt=prompts.ask_memagent,
    reply_tokens=1024,
    temperature=0.7,
    top_p=0.95,
    own_prompts=True,
    differs="it is a way of reading, here `sequential` in its words",
)
_LONGBENCH: Final = PublishedSpec(
    benchmark="LongBench",
    tasks="(?:*)(?:_e)?",
    prompt=prompts.ask_longbench,
    source="THUDM/LongBench",
    differs=f"{_CUT}; a chat endpoint frames every prompt, where six sets were asked without a frame",
)
_INFINITEBENCH: Final = PublishedSpec(
    benchmark="InfiniteBench",
    tasks="*",
    prompt=prompts.ask_infinitebench,
    source="OpenBMB/InfiniteBench",
    differs=f"{_CUT}; the prompts are those for GPT-4",
)
_RULER: Final = PublishedSpec(
    benchmark="RULER",
    tasks="(?:ruler_)?(?:*)",
    prompt=prompts.ask_ruler,
    top_p=1.0,
    differs="a chat endpoint frames the prompt; the published top_k of 32 changes nothing at temperature 0",
)
_LOCOMO: Final = PublishedSpec(
    benchmark="LoCoMo",
    tasks="locomo-(?:*)",
    prompt=prompts.ask_locomo,
    source="snap-research/locomo",
    reply_tokens=32,
    differs="speakers and the options of adversarial questions are in a fixed order, where theirs is drawn",
)
_OOLONG: Final = PublishedSpec(
    benchmark="OOLONG",
    tasks="oolong-*",
    prompt=prompts.ask_oolong,
    temperature=None,
    differs=f"the two parts of the system message are one text, with a line end between them; {_CUT}",
)
_HELMET: Final = PublishedSpec(
    benchmark="HELMET",
    tasks="helmet-(?:*)",
    prompt=helmet.ask_passages,
    source="princeton-nlp/HELMET",
    top_p=1.0,
    differs=f"{_CUT}; the prompts are those for chat models",
)
_CITED: Final = (
    "the answers are judged; the citations, which a model of entailment judges there, are not. The two examples are "
    f"the first two, where theirs are drawn; {_CUT}"
)
SPECS: Final = (
    _RULER.of(r"niah_\w+", "string_match_all", reply_tokens=128),
    _RULER.of("vt", "string_match_all", reply_tokens=30),
    _RULER.of("cwe", "string_match_all", reply_tokens=120),
    _RULER.of("fwe", "string_match_all", reply_tokens=50),
    _RULER.of("qa_[12]", "string_match_part", reply_tokens=32),
    _MEMAGENT.of(r"(?:memagent_)?hqa\w*|eval_(?:qa_[12]_)?\d+", "official"),
    _MEMAGENT.of(r"eval_(?:niah_\w+|vt|cwe|fwe)_\d+", "string_match_all"),
    _LONGBENCH.of("narrativeqa|qasper|multifieldqa_en|hotpotqa|2wikimqa|musique", "qa_f1"),
    _LONGBENCH.of("triviaqa", "qa_f1", first_line=True),
    _LONGBENCH.of("multifieldqa_zh", "qa_f1_zh"),
    _LONGBENCH.of("dureader|vcsum", "rouge_zh"),
    _LONGBENCH.of("gov_report|qmsum|multi_news", "rouge_l"),
    _LONGBENCH.of("samsum", "rouge_l", first_line=True),
    _LONGBENCH.of("trec|lsht", "classification", first_line=True),
    _LONGBENCH.of("passage_count|passage_retrieval_(?:en|zh)", "number_share"),
    _LONGBENCH.of("lcc|repobench-p", "code_similarity"),
    PublishedSpec(
        benchmark="LongBench v2",
        tasks="longbench-2",
        metric="letter",
        prompt=prompts.ask_longbench2,
        source="THUDM/LongBench",
        reply_tokens=128,
        temperature=0.1,
        differs=_CUT,
    ),
    PublishedSpec(
        benchmark="BABILong",
        tasks="babilong",
        metric="label",
        prompt=prompts.ask_babilong,
        source="booydar/babilong",
        reply_tokens=20,
        own_golds=True,
        differs="with instruction, examples and closing words, as its main table",
    ),
    _INFINITEBENCH.of("kv_retrieval|kv_retrieval_(?:prefix|both)", "ib_word"),
    _INFINITEBENCH.of("passkey|number_string", "ib_number"),
    _INFINITEBENCH.of("code_run", "ib_code_run"),
    _INFINITEBENCH.of("code_debug", "ib_code_debug"),
    _INFINITEBENCH.of("longdialogue_qa_eng", "ib_speaker"),
    _INFINITEBENCH.of("longbook_choice_eng", "ib_choice"),
    _INFINITEBENCH.of("longbook_qa_eng", "qa_f1"),
    _INFINITEBENCH.of("longbook_qa_chn", "ib_qa_zh"),
    _INFINITEBENCH.of("longbook_sum_eng", "rouge_lsum"),
    _INFINITEBENCH.of("math_find", "ib_math_find"),
    _INFINITEBENCH.of("math_calc", "ib_math_calc"),
    _LOCOMO.of("multi-hop", "locomo_multi"),
    _LOCOMO.of("adversarial", "locomo_absent"),
    _LOCOMO.of(".+", "locomo_f1"),
    PublishedSpec(
        benchmark="LongMemEval",
        tasks="longmemeval-.+",
        prompt=prompts.ask_longmemeval,
        source="xiaowu0162/LongMemEval",
        reply_tokens=500,
        verdict=lambda reply, _metric, _golds: float("yes" in reply.lower()),
        differs="its judge is a model: --judge MODEL is asked in its words; sessions as JSON, all of them",
    ),
    PublishedSpec(
        benchmark="MEME",
        tasks="meme-.+",
        prompt=prompts.ask_meme,
        differs="it measures memory systems, here the way `memory`; its judge is a model: --judge MODEL, by rules of "
        "ours",
    ),
    PublishedSpec(
        benchmark="MRCR", tasks="mrcr.*", metric="verbatim", prompt=prompts.ask_mrcr, temperature=None, differs=_CUT
    ),
    PublishedSpec(
        benchmark="GraphWalks",
        tasks="graphwalks-.*",
        metric="graphwalks",
        prompt=prompts.ask_graphwalks,
        temperature=None,
    ),
    _OOLONG.of("real.*", "oolong_real"),
    _OOLONG.of(".*-number", "oolong_number"),
    _OOLONG.of(".*-date", "oolong_date"),
    _OOLONG.of(".*", "oolong"),
    PublishedSpec(
        benchmark="NoLiMa",
        tasks="nolima.*",
        metric="holds",
        prompt=prompts.ask_nolima,
        source="adobe-research/NoLiMa",
        reply_tokens=192,
        top_p=1.0,
        differs="`bookwheel data nolima` makes the samples; sets with distractors are not made; tokens that a model "
        "puts before a text are not counted",
    ),
    PublishedSpec(
        benchmark="MMLongBench-Doc",
        tasks="mmlongbench.*",
        prompt=prompts.ask_mmlongbench,
        source="mayubo2333/MMLongBench-Doc",
        reply_tokens=1024,
        verdict=_extract,
        differs="its pages are read by the way `whole`, as text and pictures in words of ours, where theirs are "
        "pictures alone; --judge MODEL cuts the answer out of the reply, in its words, and its share is the published "
        "score",
    ),
    _HELMET.of("rerank", "ranking", prompt=helmet.ask_ranking, reply_tokens=200, first_line=True),
    _HELMET.of("niah", "string_match_all", prompt=helmet.ask_needles, reply_tokens=50),
    _HELMET.of("json-kv", "helmet_match", prompt=helmet.ask_pairs, reply_tokens=100),
    _HELMET.of("rag", "helmet_match", reply_tokens=20, first_line=True),
    _HELMET.of("cite-asqa", "alce_asqa", prompt=helmet.ask_citations, reply_tokens=300, differs=_CITED),
    _HELMET.of("cite-qampari", "alce_qampari", prompt=helmet.ask_citations, reply_tokens=300, differs=_CITED),
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
            named = ", ".join(dict.fromkeys(spec.benchmark for spec in SPECS))
            raise InputError(
                f"nothing is published for the task {sample.task!r}, which the record or the name of its file says: "
                f"give a file of {named} the name that it was downloaded under, or leave out --as-published"
            )
        asked = spec.prompt(
            prompts.Checkout(self._folder, spec.source), prompts.AskedSample(sample, record or {}, path)
        )
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
