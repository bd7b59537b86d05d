"""A model that collects payments truly and writes reports of them, now and then with inventions."""

from __future__ import annotations

import json
import re
from itertools import count

from table_model import extract

from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan

PLAN = Plan(chunk_tokens=200, memory_tokens=60, answer_tokens=600, question_tokens=200)
ROW = re.compile(r"\[(\d+)\] who: (Tenant \d+); amount: (\d+) crowns; due date: (\d+ June 2027)")
INVENTIONS = (
    "{who} pays {more} crowns by {due} [{n}].",
    "{who} pays {amount} crowns by 29 July 2031 [{n}].",
    "Agent Mallory pays {amount} crowns by {due} [{n}].",
    "{who} does not pay {amount} crowns by {due} [{n}].",
    "{who} never pays {amount} crowns by {due} [{n}].",
    "{who} pays {amount} crowns by {due}, out of sheer greed [{n}].",
    "{who} pays {amount} crowns by {due}.",
    "{who} pays {amount} crowns by {due} [9999].",
    "The payments are outrageous [{n}].",
    "{who} was imprisoned in Este for fraud [{n}].",
)


def write(messages, *, invents: int, numbers) -> str:
    """Write a true sentence for each row; every `invents`-th is an invention."""
    text, sentences = messages[0].content, []
    for found in ROW.finditer(text.partition("<section>")[2]):
        n, who, amount, due = found.groups()
        at = next(numbers)
        values = {"n": n, "who": who, "amount": amount, "due": due, "more": int(amount) + 1}
        if invents and at % invents == invents - 1:
            sentences.append(INVENTIONS[(at // invents) % len(INVENTIONS)].format(**values))
        else:
            sentences.append(f"{who} pays {amount} crowns by {due} [{n}].")
    return " ".join(sentences)


def make_report_model(*, invents: int = 0, outline: object = None, sql: str = "", **settings) -> ScriptedModel:
    numbers = count()

    def reply(messages) -> str:
        text = messages[0].content
        if "section of a report. The brief" in text:
            return write(messages, invents=invents, numbers=numbers)
        if "A report will be written" in text:
            return json.dumps(
                outline or {"sections": [{"title": "Payments", "rows": "every payment: who, amount, due date"}]}
            )
        if "SQLite" in text:
            return json.dumps({"sql": sql})
        return extract(messages)

    return ScriptedModel(reply, plan=PLAN, window=2400, **settings)
