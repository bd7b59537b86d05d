"""A document of payments, and a model that reads them truly."""

from __future__ import annotations

import json
import re

from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan

SENTENCE = "every payment: who, amount, due date"
PLAN = Plan(chunk_tokens=120, memory_tokens=60, answer_tokens=40, question_tokens=60)
FILLER = "Gulls circle over the pier, and the keeper writes down the wind. "
RECORD = re.compile(r"(Tenant \d+|The debtor) pays (\d+ crowns) by (\d+ June 2027)\.")
NAMED = re.compile(r'(Tenant \d+) \(the "debtor"\)')


def write_document(count: int) -> str:
    """Return a text with so many payments, and near misses between them."""
    lines = [
        f"{FILLER * (n % 3)}Tenant {n} pays {100 + n} crowns by {1 + n % 28} June 2027. Tenant {n} was paid nothing.\n"
        for n in range(count)
    ]
    return "".join(lines)


def extract(messages) -> str:
    """Read truly: every payment of the section, and who the debtor is, from section or memory."""
    text = messages[0].content
    section = text.partition("<section>\n")[2].partition("\n</section>")[0]
    memory = text.partition("<memory>\n")[2].partition("\n</memory>")[0]
    debtor = (NAMED.findall(memory + section) or [""])[-1]
    rows = [
        {"who": debtor if who == "The debtor" else who, "amount": amount, "due date": due, "quote": found[0]}
        for found in RECORD.finditer(section)
        for who, amount, due in [found.groups()]
    ]
    return json.dumps({"rows": rows, "memory": f'{debtor} (the "debtor")' if debtor else "nothing open"})


def make_model(script=extract, **settings) -> ScriptedModel:
    return ScriptedModel(script, plan=PLAN, window=900, **settings)
