"""Draw docs/architecture.svg: the floors of the house, from the contract that import-linter checks.

python benchmarks/code/floors.py            write the drawing
python benchmarks/code/floors.py --check    fail where it is not the house of today
"""

from __future__ import annotations

import re
import sys
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DRAWING = ROOT / "docs" / "architecture.svg"
WORDS = {
    "lab": "tasks, scoring, baselines · evaluation · training · commands, desk, verifiers",
    "cli": "ask, memory …",
    "notebook": "HTML",
    "integrations": "LangChain …",
    "api": "read, Memory, collect",
    "serve": "HTTP, the page, OpenAI's API and others, MCP",
    "reports": "every sentence has a source",
    "graph": "facts, and what joins them",
    "tables": "collect: rows with their quotes",
    "batch": "many documents",
    "memory": "goes on: append, ask, correct, forget",
    "session": "the one way in: opens, plans, prepares, resumes",
    "arguments": "what the Python API is given",
    "companions": "embedder, judge, cheaper reader beside a model",
    "configuration": "files, options, connections",
    "journal": "SQLite",
    "views": "diffs, timelines",
    "record": "JSON",
    "reading": "the loop, prompts, guards, budgets, ways",
    "verdict": "do the document's words bear it out, and does it answer",
    "models": "endpoints, embedded",
    "documents": "files, pages, the web",
    "text": "tokens, chunks, sentences, ranking, what is asked",
    "types": "Reading, Step, Memory, Answer",
    "claims": "Claim, Verdict",
    "flags": "of steps",
    "picture": "Picture",
    "preset": "plans with a name",
    "plan": "Plan, Budget",
    "schema": "values and JSON",
    "plugins": "entry points",
    "environment": "BOOKWHEEL_…",
    "background": "tasks",
    "errors": "what to do",
    "bounds": "of numbers",
    "patterns": "compiled when they are used",
    "packaged": "files that come along",
}
WIDTH, LEFT, HEIGHT, GAP, TOP = 720, 52, 46, 6, 12
LAB, CORE = ("#fbf3e6", "#b5803f"), ("#eef1fb", "#4051b5")
FRAME = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="t d" \
font-family="system-ui, sans-serif">
<title id="t">The floors of bookwheel</title>
<desc id="d">{count} floors, each with its rooms; imports go down only. From the top: {names}.</desc>
<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>
<path d="M40 20 V{end} m-6 -12 l6 12 l6 -12" fill="none" stroke="#5a6270" stroke-width="2"/>
<text transform="translate(26 {middle}) rotate(-90)" text-anchor="middle" font-size="16" fill="#5a6270">\
imports go down only</text>
{rooms}
</svg>
"""
ROOM = """\
<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{height}" rx="6" fill="{fill}" stroke="{stroke}"/>
<text x="{middle:.0f}" y="{first}" text-anchor="middle" font-size="16" font-weight="600" fill="#1c2230">{name}</text>
<text x="{middle:.0f}" y="{second}" text-anchor="middle" font-size="13" fill="#3c4454">{words}</text>"""


def read_floors() -> list[list[str]]:
    """Return the rooms of each floor, the highest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["name"].startswith("Floors"))
    return [re.findall(r"\w+", layer) for layer in layers]


def draw(floors: list[list[str]]) -> str:
    """Return the drawing; a room without a word here is an error."""
    height = 2 * TOP + len(floors) * (HEIGHT + GAP) - GAP
    rooms = "\n".join(draw_room(room, floors[floor], floor) for floor in range(len(floors)) for room in floors[floor])
    names = escape("; ".join(", ".join(one) for one in floors))
    return FRAME.format(
        width=WIDTH, height=height, end=height - 18, middle=height / 2, count=len(floors), names=names, rooms=rooms
    )


def draw_room(room: str, beside: list[str], floor: int) -> str:
    """Return one room, as wide as its floor leaves it."""
    width = (WIDTH - LEFT - TOP - GAP * (len(beside) - 1)) / len(beside)
    x, y = LEFT + beside.index(room) * (width + GAP), TOP + floor * (HEIGHT + GAP)
    fill, stroke = LAB if room == "lab" else CORE
    places = {"x": x, "y": y, "middle": x + width / 2, "first": y + 19, "second": y + 37}
    words = escape(WORDS[room])
    return ROOM.format(**places, width=width, height=HEIGHT, fill=fill, stroke=stroke, name=room, words=words)


def main() -> None:
    """Write the drawing, or compare it."""
    drawing = draw(read_floors())
    if "--check" not in sys.argv:
        DRAWING.write_text(drawing, encoding="utf-8")
    elif DRAWING.read_text(encoding="utf-8") != drawing:
        sys.exit("docs/architecture.svg is not the house of today: run python benchmarks/code/floors.py")


if __name__ == "__main__":
    main()
