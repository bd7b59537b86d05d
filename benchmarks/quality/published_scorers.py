"""Compare our versions of published measures with the benchmarks' own code, on adversarial outputs.

    python benchmarks/quality/published_scorers.py OFFICIAL [--count 1000] [--seed 5]

OFFICIAL is a folder with checkouts: LongBench, locomo, hotpot, InfiniteBench, babilong, MemAgent, HELMET, RULER,
oolong, MMLongBench-Doc.
Their scripts are loaded from there and run as they are; packages that they import and that no string comparison needs
(models, data loaders) stand in as empty modules. Needs nltk, jieba, rouge, fuzzywuzzy, rouge-score and pytrec_eval
where the scripts do. Prints one line for each measure; --show prints the first differences. Two measures stand in their
scripts between other lines and are written down here: NoLiMa's, and LoCoMo's for questions without an answer.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import json
import random
import re
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from bookwheel.errors import InputError
from bookwheel.lab.scoring import METRICS

Case = tuple[str, tuple[str, ...]]
_TEXTS = """Ada Quill|the Harbour of Bergen|no|yes|noanswer|1904|12 May 1904|blue-eyed cat|a|the|It's O'Neill's|St. Ives
bees, boats and an old pier|running; painting|$4,200|3.5|-7|B|(b)|four hundred and two|U.S.|Mr. Voss|not mentioned
No information available|Paragraph 12|段落12|阿达住在卑尔根。|四百零二艘船|是的|北京大学，清华大学|x = foo(1)|ham|spam
return a + b  # sum|bathroom|garden|e,n|apple,milk|more common|same frequency|The cat sat on the mat. It slept."""
_FRAMES = """{}|{}.| {} |The answer is {}|The answer is: {}.|Answer: {}|answer:{}|**{}**|`{}`|"{}"
↵{}↵Because it says so.|I think it is {}, not {}|{} or {}|{}, {}|Not {}|The correct answer is ({}).
The correct answer is {}|{}↵↵{}|[{}]
Option {}: {}|# {}↵{}|<think>{}</think>{}|{} {} {}|Label: {}|User: [{}]|Final Answer: [{}, {}]
{} > {} > {}|ID3 > ID1 > {}|答案是{}。|{}→{}|is: {}|option is {}|correct option is: {}
Before the garden the apple was in the {}.
\\boxed{{}}|\\boxed{\\text{{}}}|So \\boxed{{}, {}}.|\\boxed{{{}}}
1. {} 2. {}|§{}|"""
TEXTS = [text for line in _TEXTS.split("\n") for text in line.split("|")]
# RULER's score is rounded to four digits.
_ROUNDED = 6e-5
_MARKS = str.maketrans({"↵": "\n", "→": "\t", "§": "\x07"})
FRAMES = [frame.translate(_MARKS) for line in _FRAMES.split("\n") for frame in line.split("|")]


def draw_text(rng: random.Random) -> str:
    """Return a short text: a known one, its words in another order or case, or numbers and letters."""
    text = rng.choice(TEXTS)
    turn = rng.randrange(9)
    if turn == 0:
        words = text.split()
        rng.shuffle(words)
        return " ".join(words)
    if turn == 1:
        return text.upper() if rng.random() < 0.5 else text.lower()
    if turn == 2:
        return str(rng.choice((0, 1, 7, 10, 12, 400, rng.randrange(10**7))))
    if turn == 3:
        return rng.choice("ABCD")
    if turn == 4:
        return f"{text} {rng.choice(TEXTS)}"
    return text


def draw_answer(rng: random.Random, golds: Sequence[str]) -> str:
    """Return an output: a frame around golds, pieces of them, and other texts."""
    frame = rng.choice(FRAMES)
    while "{}" in frame:
        part = rng.choice(golds) if rng.random() < 0.5 else draw_text(rng)
        if rng.random() < 0.15 and part:
            part = part[: rng.randrange(len(part)) + 1]
        frame = frame.replace("{}", part, 1)
    return frame


def draw_cases(count: int, rng: random.Random, golds: Callable[[random.Random], Sequence[str]]) -> Iterator[Case]:
    """Yield answers with their golds."""
    for _ in range(count):
        drawn = tuple(golds(rng))
        yield draw_answer(rng, drawn), drawn


class _Stub(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Stub(name)

    def __call__(self, *_args: Any, **_named: Any) -> _Stub:
        return self


def load_script(path: Path, stand_ins: Sequence[str] = ()) -> Any:
    """Return a script as a module; `stand_ins` are packages that it imports and does not need here."""
    for name in stand_ins:
        if name.partition(".")[0] not in sys.modules and importlib.util.find_spec(name.partition(".")[0]) is None:
            sys.modules[name] = _Stub(name)
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(f"official_{path.stem}_{len(sys.modules)}", path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} is no script")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path.pop(0)
    return module


Golds = Callable[[random.Random], Sequence[str]]
Comparison = tuple[str, str, Golds, Callable[[str, tuple[str, ...]], float]]


def _some(rng: random.Random) -> list[str]:
    return [draw_text(rng) for _ in range(rng.choice((1, 1, 2, 3)))]


def _one(rng: random.Random) -> list[str]:
    return [draw_text(rng)]


def _option(rng: random.Random) -> list[str]:
    return [rng.choice("ABCD"), rng.choice(("get_name", "load", "The pier", "B flat"))]


def compare_longbench(folder: Path) -> Iterator[Comparison]:
    """Yield LongBench's measures, both versions."""
    metrics = load_script(folder / "LongBench/LongBench/metrics.py")

    def over(name: str, **named: Any) -> Callable[[str, tuple[str, ...]], float]:
        return lambda answer, golds: max(getattr(metrics, name)(answer, gold, **named) for gold in golds)

    yield "LongBench", "qa_f1", _some, over("qa_f1_score")
    yield "LongBench", "qa_f1_zh", _some, over("qa_f1_zh_score")
    yield "LongBench", "rouge_l", _some, over("rouge_score")
    yield "LongBench", "rouge_zh", _some, over("rouge_zh_score")
    yield "LongBench", "code_similarity", _one, over("code_sim_score")
    yield (
        "LongBench",
        "classification",
        lambda rng: rng.sample(["ham", "spam", "sp", "am", "Ada Quill", "Ada", "more common", "common"], 4),
        lambda answer, golds: metrics.classification_score(answer, golds[0], all_classes=list(golds)),
    )
    yield "LongBench", "number_share", lambda rng: [str(rng.choice((0, 1, 7, 12, 400)))], over("count_score")
    paragraphs = ("Paragraph 1", "Paragraph 12", "Paragraph 7")
    yield "LongBench", "number_share", lambda rng: [rng.choice(paragraphs)], over("retrieval_score")
    yield "LongBench", "number_share", lambda rng: [f"段落{rng.choice((1, 7, 12))}"], over("retrieval_zh_score")
    script = (folder / "LongBench/pred.py").read_text(encoding="utf-8")
    start = script.index("def extract_answer")
    space: dict[str, Any] = {"re": re}
    exec(script[start : script.index("def get_pred")], space)
    yield "LongBench v2", "letter", _option, lambda answer, golds: space["extract_answer"](answer.strip()) == golds[0]


def compare_questions(folder: Path) -> Iterator[Comparison]:
    """Yield the measures of HotpotQA, LoCoMo and MemAgent."""
    hotpot = load_script(folder / "hotpot/hotpot_evaluate_v1.py", ("ujson",))
    yield "HotpotQA", "hotpot_em", _one, lambda answer, golds: hotpot.exact_match_score(answer, golds[0])
    yield "HotpotQA", "hotpot_f1", _one, lambda answer, golds: hotpot.f1_score(answer, golds[0])[0]
    locomo = load_script(folder / "locomo/task_eval/evaluation.py", ("bert_score",))
    yield "LoCoMo", "locomo_f1", _one, lambda answer, golds: locomo.f1_score(answer, golds[0])
    yield "LoCoMo", "locomo_multi", _one, lambda answer, golds: locomo.f1(answer, golds[0])
    said = ("no information available", "not mentioned")
    yield "LoCoMo", "locomo_absent", _one, lambda answer, _golds: any(one in answer.lower() for one in said)
    script = (folder / "MemAgent/taskutils/memory_eval/utils/__init__.py").read_text(encoding="utf-8")
    space: dict[str, Any] = {}
    exec(script, space)

    def match(answer: str, golds: tuple[str, ...]) -> float:
        # Their script skips an answer without a character before it compares.
        return bool(answer) and space["sub_exact_match_score"](answer, golds[0])

    yield "MemAgent", "official", _some, match


def compare_infinitebench(folder: Path) -> Iterator[Comparison]:
    """Yield InfiniteBench's measures by task."""
    script = folder / "InfiniteBench/src/compute_scores.py"
    official = load_script(script, ("evaluate", "args"))

    def by(task: str, label: Callable[[tuple[str, ...]], Any]) -> Callable[[str, tuple[str, ...]], float]:
        return lambda answer, golds: official.get_score_one(answer, label(golds), task, "gpt4")

    def number(rng: random.Random) -> list[str]:
        return [str(rng.choice((0, 1, 7, 10, 12, 400)))]

    yield "InfiniteBench", "ib_word", _one, by("kv_retrieval", lambda golds: golds[0])
    yield "InfiniteBench", "ib_number", number, by("passkey", lambda golds: golds[0])
    yield "InfiniteBench", "ib_code_run", number, by("code_run", lambda golds: int(golds[0]))
    yield "InfiniteBench", "ib_code_debug", _option, by("code_debug", lambda golds: [golds[1], golds[0]])
    speakers = ("ADA", "VOSS", "BILL")
    yield "InfiniteBench", "ib_speaker", lambda rng: [rng.choice(speakers)], by("longdialogue_qa_eng", list)
    yield "InfiniteBench", "ib_choice", _option, by("longbook_choice_eng", lambda golds: [golds[1], golds[0]])
    yield "InfiniteBench", "qa_f1", _some, by("longbook_qa_eng", list)
    yield "InfiniteBench", "ib_qa_zh", _some, by("longbook_qa_chn", list)
    yield "InfiniteBench", "ib_math_find", number, by("math_find", lambda golds: int(golds[0]))
    points = ("3.5", "7.0", "0.25")
    yield "InfiniteBench", "ib_math_find", lambda rng: [rng.choice(points)], by("math_find", lambda g: float(g[0]))
    values = ["1", "3", "7", "12"]
    yield "InfiniteBench", "ib_math_calc", lambda _rng: values, by("math_calc", lambda golds: [int(x) for x in golds])


def compare_others(folder: Path) -> Iterator[Comparison]:
    """Yield the measures of BABILong, NoLiMa, RULER and HELMET."""
    babilong = load_script(folder / "babilong/babilong/metrics.py")

    def labels(rng: random.Random) -> list[str]:
        named = babilong.TASK_LABELS[rng.choice(("qa1", "qa5", "qa7", "qa8", "qa10", "qa19"))]
        return [rng.choice([*named, "apple,milk"]), *named]

    yield (
        "BABILong",
        "label",
        labels,
        lambda answer, golds: babilong.compare_answers(golds[0], answer, "", list(golds[1:])),
    )
    yield "NoLiMa", "holds", _some, lambda answer, golds: any(gold in answer for gold in golds)
    ruler = load_script(folder / "RULER/scripts/eval/synthetic/constants.py")

    def clean(text: str) -> str:
        return re.sub(r"[\x00-\x1f]", "\n", text.strip()).strip()

    yield "RULER", "string_match_all", _some, lambda a, golds: ruler.string_match_all([clean(a)], [golds]) / 100
    yield "RULER", "string_match_part", _some, lambda a, golds: ruler.string_match_part([clean(a)], [golds]) / 100
    helmet = load_script(folder / "HELMET/utils.py", ("torch", "pytrec_eval"))

    def match(answer: str, golds: tuple[str, ...]) -> float:
        parsed = helmet.parse_output(answer)
        given = [answer] if parsed is None else [answer, parsed]
        check = helmet.substring_exact_match_score
        return max(helmet.drqa_metric_max_over_ground_truths(check, one, list(golds)) for one in given)

    yield "HELMET", "helmet_match", _some, match
    if not isinstance(sys.modules.get("pytrec_eval"), _Stub):

        def rank(answer: str, golds: tuple[str, ...]) -> float:
            relevance = {name: int(value) for name, _, value in (gold.rpartition("=") for gold in golds)}
            found = helmet.calculate_retrieval_metrics({"q": helmet.parse_rankings(answer)}, {"q": relevance}, [1, 10])
            return float(found["NDCG@10"])

        graded = [f"{number}={number % 4}" for number in (1, 2, 3, 7, 10, 12, 400)]
        yield "HELMET", "ranking", lambda _rng: graded, rank


def compare_lists(folder: Path) -> Iterator[Comparison]:
    """Yield OOLONG's measures, and those of HELMET's answers with citations."""
    oolong = load_script(
        folder / "oolong/src/eval/eval_helpers.py",
        ("litellm", "datasets", "jsonlines", "tiktoken", "transformers"),
    )
    import dateutil.parser  # noqa: F401 - their script takes it to be loaded

    names = dict.fromkeys(("id", "context_window_id", "dataset"), "")

    def ask(kind: str, write: Callable[[str], str]) -> Callable[[str, tuple[str, ...]], float]:
        def judge(answer: str, golds: tuple[str, ...]) -> float:
            point = {**names, "answer": write(golds[0]), "answer_type": f"ANSWER_TYPE.{kind}"}
            return float(oolong.synth_process_response(point, answer, "")["score"])

        return judge

    compared = ["more common than", "less common than", "same frequency as", "ham", "Ada Quill"]
    yield "OOLONG", "oolong", lambda rng: [rng.choice([*compared, draw_text(rng)])], ask("LABEL", lambda g: repr([g]))
    number = ask("NUMERIC", lambda gold: repr([int(gold)]))
    yield "OOLONG", "oolong_number", lambda rng: [str(rng.randrange(20))], number
    days = ["1904-05-12", "2024-01-31", "1999-12-01"]
    date = ask("DATE", lambda gold: "[datetime.date({}, {}, {})]".format(*map(int, gold.split("-"))))
    yield "OOLONG", "oolong_date", lambda rng: [rng.choice(days)], date
    real = ["7", "12", "Fireball", "Fireball, Shield, Mage Hand", "Vex, Vax", "Scanlan", "19, 20"]

    def count(answer: str, golds: tuple[str, ...]) -> float:
        return float(oolong.dnd_process_response({**names, "answer": golds[0]}, answer, "")["score"])

    yield "OOLONG", "oolong_real", lambda rng: [rng.choice(real)], count
    stand_ins = ("torch", "nltk", "numpy", "rouge_score", "pytrec_eval", "transformers", "tqdm", "model_utils")
    alce = load_script(folder / "HELMET/eval_alce.py", stand_ins)

    def clean(answer: str) -> str:
        return str(alce.remove_citations(re.sub(r"\n+", " ", answer).replace("<|im_end|>", "")))

    def groups(rng: random.Random) -> list[str]:
        return [json.dumps([rng.choice(TEXTS), draw_text(rng)]) for _ in range(rng.choice((1, 2, 3, 6)))]

    def presence(answer: str, golds: tuple[str, ...]) -> float:
        pairs = [{"short_answers": json.loads(gold)} for gold in golds]
        return float(alce.compute_str_em([{"qa_pairs": pairs, "output": clean(answer)}])[0]) / 100

    def listed(answer: str, golds: tuple[str, ...]) -> float:
        item = {"answers": [json.loads(gold) for gold in golds], "output": clean(answer)}
        return float(alce.compute_qampari_f1([item])["qampari_rec_top5"]) / 100

    yield "HELMET", "alce_asqa", groups, presence
    yield "HELMET", "alce_qampari", groups, listed


def compare_pages(folder: Path) -> Iterator[Comparison]:
    """Yield MMLongBench-Doc's measures by the format of the answer."""
    official = load_script(folder / "MMLongBench-Doc/eval/eval_score.py")

    def by(kind: str) -> Callable[[str, tuple[str, ...]], float]:
        def judge(answer: str, golds: tuple[str, ...]) -> float:
            if kind == "List" and answer.startswith("["):
                ast.literal_eval(answer)  # theirs runs the reply as Python; ours takes a list and nothing else
            with redirect_stdout(StringIO()):  # their script prints as it counts
                return float(official.eval_score(golds[0], answer, kind))

        return judge

    texts = [*TEXTS, "page 12", "https://a.org", "10 a.m.", "2024-01-31", "415-2200", "a@b.org", "main.py", "5 miles"]
    yield "MMLongBench", "mmlongbench", lambda rng: [rng.choice(texts)], by("Str")
    yield "MMLongBench", "mmlongbench_int", lambda rng: [str(rng.choice((0, 1, 7, 12, 400)))], by("Int")
    points = ("3.5", "7.0", "0.25", "12%", "$4.25", "400", "'8.1'", "25 (of 100)")
    yield "MMLongBench", "mmlongbench_float", lambda rng: [rng.choice(points)], by("Float")
    lists = ("['ham', 'spam']", "[7, 12]", "['Ada Quill']", "['page 1', 'page 7']", "['3.5', '7']", "ham", "[]")
    yield "MMLongBench", "mmlongbench_list", lambda rng: [rng.choice(lists)], by("List")


def main() -> int:
    """Print a row for each measure; return 1 when one differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("official", type=Path)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--only", default="", help="a benchmark")
    options = parser.parse_args()
    differs = False
    for family in (
        compare_longbench,
        compare_questions,
        compare_infinitebench,
        compare_others,
        compare_lists,
        compare_pages,
    ):
        try:
            comparisons = list(family(options.official))
        except (OSError, ImportError) as error:
            print(f"{family.__name__}: left out: {error}")
            continue
        for benchmark, metric, golds, judge in comparisons:
            if options.only not in {"", benchmark}:
                continue
            wrong, errors, above = [], 0, 0
            for answer, drawn in draw_cases(options.count, random.Random(options.seed), golds):
                ours = METRICS[metric](answer, drawn).score
                try:
                    theirs = float(judge(answer, drawn))
                except (ValueError, IndexError, ZeroDivisionError, RecursionError, NameError, SyntaxError, TypeError):
                    # Their script stops here; ours gives a score.
                    errors += 1
                    continue
                above += theirs > 0
                if abs(ours - theirs) > _ROUNDED:
                    wrong.append((answer, drawn, ours, theirs))
            differs |= bool(wrong)
            told = f", {errors} on which theirs stops" if errors else ""
            print(
                f"{benchmark:14} {metric:18} {options.count} outputs, {above} above 0: {len(wrong)} differ{told}",
                flush=True,
            )
            for one in wrong[: options.show]:
                print("   ", *map(repr, one))
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
