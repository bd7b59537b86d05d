"""Long conversations as documents: LoCoMo, LongMemEval, MEME, MRCR.

Sessions and turns are written out in a layout of ours, and marked turns become evidence. The published judges of the
first two are a stemming F1 and a model; ours are named in docs/tasks.md.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from bookwheel.lab.tasks.base import MISSING, write_gold
from bookwheel.text.tokens import EstimatingTokenizer

_ABSENT: Final = "not mentioned in the conversation"
_ADVERSARIAL: Final = 5
_CATEGORIES: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", _ADVERSARIAL: "adversarial"}
_SESSION: Final = re.compile(r"session_(\d+)")
_TURN_ID: Final = re.compile(r"D\d+:\d+")
# The bins of MRCR's published table begin at 4,096 tokens.
_BIN: Final = 4096


class _Transcript:
    """A conversation as it is written out, with the place of every turn."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._length = 0
        self.turns: dict[str, dict[str, Any]] = {}
        """Evidence by the turn's name."""

    def add_turn(self, name: str, speaker: str, text: str) -> None:
        start = self._length + len(speaker) + 2
        self._append(f"{speaker}: {text}\n")
        self.turns[name] = {"start": start, "end": start + len(text), "note": f"{speaker}: {text}"}

    def add_session(self, heading: str, turns: Iterable[tuple[str, str, str]]) -> None:
        """Write a heading, and each turn's name, speaker and text below it."""
        self._append(f"[{heading}]\n")
        for turn in turns:
            self.add_turn(*turn)
        self._append("\n")

    def _append(self, text: str) -> None:
        self._texts.append(text)
        self._length += len(text)

    @property
    def text(self) -> str:
        return "".join(self._texts)


def adapt_locomo(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield each question about a conversation of LoCoMo."""
    script = _write_locomo(values.get("conversation", values))
    document = script.text
    identity = values.get("sample_id", "conversation")
    if not isinstance(values["qa"], list):
        raise TypeError("'qa' must be a list of questions")
    for number, asked in enumerate(values["qa"], start=1):
        category = asked.get("category")
        is_absent = category == _ADVERSARIAL
        is_known = category in _CATEGORIES
        if not is_known or (not is_absent and asked.get("answer") is None):
            reason = "'answer' is missing" if is_known else f"'category' must be one of 1 to 5, not {category!r}"
            yield {MISSING: reason, "id": f"{identity}-{number}", "task": "locomo"}
            continue
        golds = _ABSENT if is_absent else str(asked["answer"])
        marked = [name for one in asked.get("evidence", ()) for name in _TURN_ID.findall(str(one))]
        yield {
            "id": f"{identity}-{number}",
            "task": f"locomo-{_CATEGORIES[category]}",
            "document": document,
            "question": asked["question"],
            # An open-domain answer is followed by its reason.
            "golds": [golds.split(";")[0].strip() if _CATEGORIES[category] == "open-domain" else golds],
            "metric": "unanswerable" if is_absent else "f1",
            "evidence": [] if is_absent else _list_evidence(script, marked),
        }


def _write_locomo(conversation: Mapping[str, Any]) -> _Transcript:
    script = _Transcript()
    sessions = [(int(match[1]), value) for name, value in conversation.items() if (match := _SESSION.fullmatch(name))]
    for number, turns in sorted(sessions, key=lambda one: one[0]):
        shown = (f" (shows a picture: {one['blip_caption']})" if one.get("blip_caption") else "" for one in turns)
        written = [
            (str(one["dia_id"]), str(one["speaker"]), f"{one['text']}{picture}")
            for one, picture in zip(turns, shown, strict=True)
        ]
        script.add_session(f"Session {number}, {conversation.get(f'session_{number}_date_time', 'no date')}", written)
    return script


def _list_evidence(script: _Transcript, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the places of the named turns in the document's order. A few of LoCoMo's names point nowhere."""
    places = [script.turns[name] for name in dict.fromkeys(names) if name in script.turns]
    return sorted(places, key=lambda place: int(place["start"]))


def adapt_longmemeval(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a question of LongMemEval with its sessions in the order of their dates."""
    sessions, dates = values["haystack_sessions"], values["haystack_dates"]
    if len(sessions) != len(dates):
        raise ValueError(f"there are {len(sessions)} haystack_sessions and {len(dates)} haystack_dates")
    script = _Transcript()
    marked: list[str] = []
    order = sorted(range(len(sessions)), key=lambda at: str(dates[at]))
    for number, at in enumerate(order, start=1):
        script.add_session(f"Session {number}, {dates[at]}", _list_turns(number, sessions[at]))
        marked += [f"{number}:{place}" for place, turn in enumerate(sessions[at]) if turn.get("has_answer")]
    identity = str(values["question_id"])
    is_absent = "_abs" in identity
    kind = "abstention" if is_absent else str(values["question_type"])
    yield {
        "id": identity,
        "task": f"longmemeval-{kind}",
        "document": script.text,
        "question": f"{values['question']} (Asked on {values['question_date']}.)",
        "golds": [write_gold(values["answer"])],
        "metric": "unanswerable" if is_absent else "f1" if kind == "single-session-preference" else "contains",
        "evidence": [] if is_absent else _list_evidence(script, marked),
    }


def _list_turns(session: int, turns: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    for place, turn in enumerate(turns):
        yield f"{session}:{place}", str(turn["role"]), str(turn["content"]).strip()


_MEME: Final = {
    "ER": "exact-recall",
    "Agg": "aggregation",
    "Tr": "tracking",
    "Del": "deletion",
    "Cas": "cascade",
    "Abs": "absence",
}


def adapt_meme(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield each question about an episode of MEME, with the sessions that came before it."""
    identity = str(values["episode_id"])
    for moment in ("before", "after"):
        asked = values.get(f"{moment}_questions") or {}
        script = _Transcript()
        for number, session in enumerate(values["sessions"][: int(asked.get("position_after_session", -1)) + 1], 1):
            turns = _list_turns(number, session["conversation"])
            script.add_session(f"Session {number}, {session['timestamp']}", turns)
        for number, one in enumerate(asked.get("questions", ()), start=1):
            kind, gold = _MEME.get(str(one.get("task_type"))), one.get("gold_answer", one.get("expected_answer"))
            name = f"{identity}-{moment}-{number}"
            if kind is None or gold is None:
                reason = "'gold_answer' is missing" if kind else f"'task_type' must be one of {', '.join(_MEME)}"
                yield {MISSING: reason, "id": name, "task": "meme"}
                continue
            yield {
                "id": name,
                "task": f"meme-{kind}{'-before' if moment == 'before' else ''}",
                "document": script.text,
                "question": f"{one['question']} (Asked on {asked['timestamp']}.)",
                "golds": [str(gold)],
                "metric": "f1",
            }


def adapt_mrcr(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a conversation of MRCR; its last message is the question."""
    messages = json.loads(values["prompt"]) if isinstance(values["prompt"], str) else values["prompt"]
    if not isinstance(messages, list) or not messages or messages[-1].get("role") != "user":
        raise ValueError("'prompt' must be a list of messages that ends with one of the user")
    if not all(isinstance(message.get("content"), str) for message in messages):
        raise ValueError("'content' of each message of 'prompt' must be a text")
    script = _Transcript()
    for number, message in enumerate(messages[:-1]):
        script.add_turn(str(number), str(message["role"]), str(message["content"]))
    prefix, answer = str(values["random_string_to_prepend"]), write_gold(values["answer"])
    text = answer.removeprefix(prefix)
    wanted = values.get("desired_msg_index")
    needles = values.get("n_needles")
    tokens = EstimatingTokenizer().count(script.text)
    length = _BIN
    while length < tokens:
        length *= 2
    yield {
        "task": f"mrcr-{needles}-needles" if needles else "mrcr",
        "document": script.text,
        "question": str(messages[-1]["content"]),
        "golds": [text, prefix] if prefix else [text],
        "metric": "verbatim",
        "length": length,
        "tokens": tokens,
        "evidence": _list_evidence(script, [str(wanted)]) if isinstance(wanted, int) else [],
    }
