"""The prompts of benchmarks: from the record, or from a checkout of the benchmark's repository, read as data."""

import ast
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from bookwheel.errors import InputError
from bookwheel.lab.tasks.base import ANSWER, Sample
from bookwheel.lab.tasks.data_dir import load_json, read_literals, read_text
from bookwheel.types import Message


@dataclass(frozen=True, slots=True)
class AskedSample:
    """A sample with the record that it was read from, and the file."""

    sample: Sample
    record: Mapping[str, Any]
    """Empty for a sample that a task made."""
    path: Path | None

    @property
    def task(self) -> str:
        """The task's name in the benchmark's own files."""
        return self.sample.task.removesuffix("_e")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedPrompt:
    """What is sent, and what else the checkout says."""

    messages: tuple[Message, ...] = ()
    reply_tokens: int = 0
    golds: tuple[str, ...] = ()
    """In place of the sample's, where the measure needs others."""
    way: str = ""
    """Reads the sample, where there are no messages."""
    preset: str = ""
    judge: tuple[str, ...] = ()


def ask_user(text: str, *before: Message, **rest: Any) -> PublishedPrompt:
    return PublishedPrompt(messages=(*before, Message(role="user", content=text)), **rest)


@dataclass(frozen=True, slots=True)
class Checkout:
    """A checkout of a benchmark's repository: a folder, or one of that name in it."""

    folder: Path | None
    source: str

    def find(self, name: str) -> Path:
        """Return the path of a file; InputError says how to get the checkout."""
        repository = self.source.rpartition("/")[2]
        places = [self.folder / name, self.folder / repository / name] if self.folder else []
        path = next((place for place in places if place.is_file()), None)
        if path is None:
            where = f"{self.folder} has no {name}" if self.folder else "no checkout is given"
            raise InputError(
                f"the published prompts are read from {self.source}, and {where}: `git clone "
                f"https://github.com/{self.source} FOLDER/{repository}`, then --official FOLDER"
            )
        return path

    def read(self, name: str) -> str:
        return read_text(self.find(name))

    def load(self, name: str) -> dict[str, Any]:
        return dict(load_json(self.find(name)))

    def find_literal(self, name: str, variable: str, like: str = "") -> Any:
        """Return the plain value that a script gives to a name: the first whose text fits the pattern `like`."""
        for value in read_literals(self.find(name)).get(variable, ()):
            if not like or (isinstance(value, str) and re.search(like, value, re.DOTALL)):
                return value
        raise InputError(f"{name} of {self.source} gives no value of the known shape to {variable}")

    def find_text(self, name: str, like: str) -> str:
        """Return the first text in a script that fits the pattern `like`."""
        texts = [node for node in ast.walk(ast.parse(self.read(name))) if isinstance(node, ast.Constant)]
        for node in sorted(texts, key=lambda one: (one.lineno, one.col_offset)):
            if isinstance(node.value, str) and re.search(like, node.value):
                return node.value
        raise InputError(f"{name} of {self.source} holds no text of the known shape ({like})")


def ask_longbench(checkout: Checkout, asked: AskedSample) -> PublishedPrompt:
    """Fill the template of the set with the record."""
    templates, limits = (checkout.load(f"LongBench/config/dataset2{name}.json") for name in ("prompt", "maxlen"))
    return ask_user(templates[asked.task].format(**asked.record), reply_tokens=int(limits[asked.task]))


def ask_longbench2(checkout: Checkout, asked: AskedSample) -> PublishedPrompt:
    """Fill the template without examples."""
    text = checkout.read("prompts/0shot.txt")
    named = {"DOC": "context", "Q": "question", **{f"C_{one}": f"choice_{one}" for one in "ABCD"}}
    for mark, name in named.items():
        text = text.replace(f"${mark}$", str(asked.record[name]).strip())
    return ask_user(text)


_LETTERS: Final = "ABCD"
_IB_SCRIPT: Final = "src/eval_utils.py"
_IB_ROLES: Final[tuple[Literal["system", "user"], ...]] = ("system", "user", "system")


def ask_infinitebench(checkout: Checkout, asked: AskedSample) -> PublishedPrompt:
    """Fill the template for GPT-4, behind its system message."""
    record = asked.record
    template = checkout.find_literal("src/prompt.py", "gpt4_templates")[asked.task]
    limits = checkout.find_literal(_IB_SCRIPT, "DATA_NAME_TO_MAX_NEW_TOKENS")
    given = str(record.get("input", ""))
    call = re.search(r"func_[0-9]+\(-?[0-9]+\)", given)
    target = re.search("The .+ of", given)
    values = {
        "context": record["context"],
        "input": given,
        "question": given,
        "func_call": call[0] if call else "",
        "func": call[0].partition("(")[0] if call else "",
        "prefix": f"What is {target[0].lower()[:-3]} in the following list?" if target else "",
        **{f"OPTION_{one}": text for one, text in zip(_LETTERS, record.get("options") or (), strict=False)},
    }
    system = Message(role="system", content="You are a helpful assistant")
    if asked.task == "math_calc":  # behind an example, whose answer is a system message there
        parts = [checkout.find_text(_IB_SCRIPT, like) for like in ("^You are a calc", r"^\d+ \+ \d+ -", r"^\[\d+, \d")]
        shown = (Message(role=role, content=text) for role, text in zip(_IB_ROLES, parts, strict=True))
        return ask_user(str(record["context"]), *shown, reply_tokens=int(limits[asked.task]))
    return ask_user(template.format(**values), system, reply_tokens=int(limits[asked.task]))


def ask_babilong(checkout: Checkout, asked: AskedSample) -> PublishedPrompt:
    """Fill instruction, examples, closing words, context and question of the task, which file or folder names."""
    places = [str(asked.record.get("task", "")), *(reversed(asked.path.absolute().parts) if asked.path else ())]
    task = next((match[0] for place in places if (match := re.search(r"\bqa(?:[1-9]|1\d|20)(?![0-9])", place))), "")
    if not task:
        raise InputError("BABILong's prompts are those of a task: name the file or its folder qa1, qa2, … qa20")
    script = "babilong/prompts.py"
    frame, form = (checkout.find_literal(script, name) for name in ("TASK_TEMPLATE", "USER_TEMPLATE"))
    texts = checkout.find_literal(script, "DEFAULT_PROMPTS")[task]
    labels = checkout.find_literal("babilong/metrics.py", "TASK_LABELS")[task]
    question = str(asked.record["question"])
    context = str(asked.record["input"]).strip()
    text = f"{frame}\n\n{form}".format(**texts, context=context, question=question).strip()
    golds = (str(asked.record["target"]), *(one for one in labels if one.lower() not in question.lower()))
    return ask_user(text, golds=golds)


def ask_ruler(_checkout: Checkout, asked: AskedSample) -> PublishedPrompt:
    """Send the whole prompt with the beginning of its answer, as the record or the task has it."""
    if "input" in asked.record:
        return ask_user(f"{asked.record['input']}{asked.record.get('answer_prefix', '')}")
    parts, text = asked.sample.metadata, asked.sample.text
    if "tail" not in parts:
        raise InputError(f"only ruler_{asked.task} is RULER's own; {asked.task} has wordings of ours")
    head = "" if text.startswith(parts["head"]) else parts["head"]
    return ask_user(f"{head}{text}{parts['tail']}{parts['answer_prefix']}")


_GPT: Final = "task_eval/gpt_utils.py"
_ABSENT: Final = "Not mentioned in the conversation"


def ask_locomo(checkout: Checkout, asked: AskedSample) -> PublishedPrompt:
    """Write the sessions as its script for GPT models does, the last one first, and ask for a short answer."""
    talk = asked.record.get("conversation", asked.record)
    number = int(asked.sample.id.rpartition("-")[2])
    qa = asked.record["qa"][number - 1]
    numbers = sorted(int(match[1]) for name in talk if (match := re.fullmatch(r"session_(\d+)", name)))
    text = ""
    for session in numbers:
        turns = "".join(
            f'{turn["speaker"]} said, "{turn["text"]}"\n'
            f"{' and shared {}.'.format(turn['blip_caption']) if 'blip_caption' in turn else ''}\n"
            for turn in talk[f"session_{session}"]
        )
        text = f"DATE: {talk[f'session_{session}_date_time']}\nCONVERSATION:\n{turns}{text}\n\n"
    speakers = list(dict.fromkeys(turn["speaker"] for turn in talk[f"session_{numbers[0]}"]))
    opening = checkout.find_literal(_GPT, "CONV_START_PROMPT").format(*(speakers * 2)[:2])
    question, golds = str(qa["question"]), asked.sample.golds
    if qa["category"] == 2:  # noqa: PLR2004 - LoCoMo's number for questions of time
        question += " Use DATE of CONVERSATION to answer with an approximate date."
    if qa["category"] == 5:  # noqa: PLR2004 - and for those without an answer
        options = (_ABSENT, str(qa.get("answer", qa.get("adversarial_answer"))))
        first, second = options if number % 2 else options[::-1]
        question += f" Select the correct answer: (a) {first} (b) {second}. "
        golds = (_ABSENT.lower(), "a" if first == _ABSENT else "b")
    name = "QA_PROMPT_CAT_5" if qa["category"] == 5 else "QA_PROMPT"  # noqa: PLR2004
    return ask_user(f"{opening}{text}\n\n{checkout.find_literal(_GPT, name).format(question)}", golds=golds)


_HISTORY: Final = r"^I will give you several history chats.*relevant chat history\.\n.*\nAnswer:$"


def ask_longmemeval(checkout: Checkout, asked: AskedSample) -> PublishedPrompt:
    """Write all sessions by date, as JSON, and ask with the day of the question."""
    record = asked.record
    template = checkout.find_literal("src/generation/run_generation.py", "answer_prompt_template", _HISTORY)
    sessions = sorted(zip(record["haystack_dates"], record["haystack_sessions"], strict=True), key=lambda one: one[0])
    history = ""
    for number, (date, turns) in enumerate(sessions, start=1):
        bare = [{name: value for name, value in turn.items() if name != "has_answer"} for turn in turns]
        history += f"\n### Session {number}:\nSession Date: {date}\nSession Content:\n\n{json.dumps(bare)}\n"
    kind = "abstention" if "_abs" in str(record["question_id"]) else str(record["question_type"])
    rule = checkout.find_literal("src/evaluation/evaluate_qa.py", "template", _RULES.get(kind, _PLAIN_RULE))
    judge = (rule.format(record["question"], record["answer"], ANSWER),)
    return ask_user(template.format(history, record["question_date"], record["question"]), judge=judge)


# What tells LongMemEval's rules for its judge from each other.
_PLAIN_RULE: Final = r"subset of the information required by the answer, answer no\. \n\nQuestion"
_RULES: Final = {
    "abstention": "an unanswerable question",
    "temporal-reasoning": "off-by-one",
    "knowledge-update": "previous information along with an updated answer",
    "single-session-preference": "a rubric",
}


def ask_memagent(_checkout: Checkout, _asked: AskedSample) -> PublishedPrompt:
    """Read chunk by chunk, with the plan of the paper's table."""
    return PublishedPrompt(way="sequential", preset="paper-table")


def ask_meme(_checkout: Checkout, _asked: AskedSample) -> PublishedPrompt:
    """Read session by session into a lasting memory, and ask it."""
    return PublishedPrompt(way="memory")


def ask_mmlongbench(checkout: Checkout, asked: AskedSample) -> PublishedPrompt:
    """Ask over the whole document; the judge cuts the answer out of the reply."""
    prompt = checkout.read("eval/prompt_for_answer_extraction.md")
    return PublishedPrompt(way="whole", judge=(prompt, f"\n\nQuestion:{asked.record['question']}\nAnalysis:{ANSWER}\n"))


def ask_mrcr(_checkout: Checkout, asked: AskedSample) -> PublishedPrompt:
    given = asked.record["prompt"]
    messages = json.loads(given) if isinstance(given, str) else given
    return PublishedPrompt(messages=tuple(Message(role=one["role"], content=one["content"]) for one in messages))


def ask_graphwalks(_checkout: Checkout, asked: AskedSample) -> PublishedPrompt:
    return ask_user(str(asked.record["prompt"]))


def ask_oolong(_checkout: Checkout, asked: AskedSample) -> PublishedPrompt:
    """Send the context as the second part of the system message, as servers join parts, and the question."""
    system = f"You are a helpful assistant.\n{asked.record['context_window_text']}"
    return ask_user(str(asked.record["question"]), Message(role="system", content=system))


def ask_nolima(checkout: Checkout, asked: AskedSample) -> PublishedPrompt:
    """Fill the template with the book and the question."""
    own = asked.sample.metadata.get("task_template")
    template = own or checkout.find_literal("evaluation/run_tests.py", "DEFAULT_TASK_TEMPLATE")
    system = str(asked.sample.metadata.get("system_prompt", ""))
    before = [Message(role="system", content=system)] if system else []
    return ask_user(template.format(haystack=asked.sample.text, question=asked.sample.question), *before)
