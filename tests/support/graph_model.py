"""A document of plain facts, and a model that writes all of those that a section states."""

from __future__ import annotations

import json
import re

from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan

PLAN = Plan(chunk_tokens=120, memory_tokens=120, answer_tokens=140, question_tokens=400)
FILLER = "Gulls circle over the pier, and the keeper writes down the wind. "
FACTS = (
    "From 1911 Ada Quill worked for the Harbour Office.",
    "From 1920 Ada Quill worked for Lloyd Brothers.",
    "Ada Quill is also known as the Heron.",
    "The Harbour Office stands in Este.",
    "The Heron owns the brig Mercy.",
    "Este lies in Lowmark.",
)
_PATTERN = re.compile(
    r"(?:From (?P<since>\d{4}) )?(?P<s>(?:The |the )?[A-Z]\w+(?: [A-Z]\w+)*) "
    r"(?P<r>worked for|is also known as|stands in|owns|lies in) (?P<o>(?:the )?(?:brig )?[A-Z]\w+(?: [A-Z]\w+)*)\."
)


def write_facts() -> str:
    return "".join(f"{fact} {FILLER * 4}\n" for fact in FACTS)


def extract_facts(messages) -> str:
    text = messages[-1].content
    if "<section>" not in text:
        return f"\\boxed{{{text.partition('<memory>')[2].partition('</memory>')[0]}}}"
    section = text.partition("<section>\n")[2].partition("\n</section>")[0]
    rows = [
        {
            "subject": found["s"],
            "relation": found["r"].replace("is also", "also"),
            "object": found["o"],
            "since": found["since"],
            "quote": found[0],
        }
        for found in _PATTERN.finditer(section)
    ]
    return json.dumps({"rows": rows, "memory": "nothing open"})


def make_graph_model(script=extract_facts, **settings) -> ScriptedModel:
    return ScriptedModel(script, plan=PLAN, window=1200, **settings)
