"""Give `collect` the rows of messy documents in the manner of several families of models.

python benchmarks/quality/collect_replies.py [--local]

The rows of thirteen documents (contracts, logs, minutes, chats, invoices, registers; English and Chinese) are written
in the manner of a model that thinks aloud, of one that renames keys and talks, of one that writes Python's words and
broken JSON, and in good JSON beside inventions. Ten documents were there before faults were mended, three came after.
`--local`: the built-in model's rule, which only quotes, on the same documents.
"""

from __future__ import annotations

import argparse
import asyncio
import html
import json
import re
import tempfile
import unicodedata
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bookwheel import TextDocument
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.tables.api import acollect
from bookwheel.tables.columns import TableRequest
from bookwheel.tables.quoted import QuotedRows
from bookwheel.text.numbers import find_dates, read_amount

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Row = tuple[dict[str, Any], str]
    Family = Callable[[Sequence[Row], dict[str, Any]], str]

CASES = [json.loads(line) for line in Path(__file__).with_suffix(".jsonl").read_text("utf-8").splitlines()]
SECTION = re.compile(r"<section>\n(.*)\n</section>", re.DOTALL)
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
SMALL = (
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"],
    "零一二三四五六七八九十",
)
KEYS = {
    "who": "party",
    "what": "obligation",
    "payer": "paid_by",
    "item": "description",
    "owner": "responsible",
    "action": "task",
    "minutes down": "downtime (min)",
    "unit price": "price_per_unit",
    "付款方": "payer",
    "款项": "item",
    "金额": "amount",
    "期限": "deadline",
    "系统": "system",
    "日期": "date",
    "原因": "cause",
    "时长（分钟）": "duration_minutes",
    "负责人": "owner",
    "事项": "task",
    "截止日期": "due_date",
    "下单人": "buyer",
    "商品": "product",
    "数量": "quantity",
    "品名": "name",
    "单价": "unit_price",
    "借款人": "borrower",
    "还款日期": "due",
}


def is_chinese(case: dict[str, Any]) -> bool:
    return str(case["name"]).endswith("zh")


def think(rows: Sequence[Row], case: dict[str, Any]) -> str:
    """Thoughts with a draft in them, a fence, bare numbers, N/A, and quotes with plain signs on one line."""
    out = []
    for cells, quote in rows:
        row = {name: "N/A" if value is None else value for name, value in cells.items()}
        out.append(row | {"quote": " ".join(quote.split()).translate(str.maketrans("“”—", '""-'))})
    draft = json.dumps({"rows": [{case["columns"][0]: "Bob Example", "quote": "for example"}], "memory": ""})
    body = json.dumps({"rows": out, "memory": ""}, ensure_ascii=False, indent=2)
    return f"<think>\nThe format is {draft}. Wait.\n</think>\n\n```json\n{body}\n```\n\nDo you need {{anything}} else?"


def rename(rows: Sequence[Row], case: dict[str, Any]) -> str:
    """Prose, a bare list, other keys and spellings, a row twice, and dots in the middle of long quotes."""
    out = []
    for cells, quote in rows:
        row = {}
        for at, (name, value) in enumerate(cells.items()):
            key = KEYS.get(name, name)
            if not is_chinese(case):
                key = key.title() if at % 2 else key.replace(" ", "_")
            row[key] = _spell(value, is_zh=is_chinese(case))
        words = quote.split()
        short = " ".join([*words[:6], "...", *words[-6:]]) if len(" ".join(words)) > 90 else " ".join(words)
        out.append(row | {"原文" if is_chinese(case) else "source_quote": short})
    body = json.dumps(out + out[:1], ensure_ascii=False, indent=4)
    return f"Here are the items:\n\n```json\n{body}\n```\n\n**Note:** I left out what was not stated [see above]."


def _spell(value: Any, *, is_zh: bool) -> str:
    if value is None:
        return "未说明" if is_zh else "Not specified"
    if isinstance(value, int | float):
        return f"{value:,}"
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return str(value)
    year, month, day = map(int, value.split("-"))
    return f"{year}年{month}月{day}日" if is_zh else f"{MONTHS[month - 1]} {day}, {year}"


def slur(rows: Sequence[Row], case: dict[str, Any]) -> str:
    """Python's None, raw line ends, commas too many, wide commas, comments, numbers in words and in objects."""
    lines = []
    for at, (cells, quote) in enumerate(rows):
        parts = []
        for name, value in cells.items():
            word = json.dumps(value, ensure_ascii=False) if value is not None else ("None" if at % 2 else "null")
            if isinstance(value, int | float) and at % 3 == 0:
                word = f'{{"value": {value}, "unit": ""}}'
            elif isinstance(value, int) and value <= 10:
                word = f'"{SMALL[is_chinese(case)][value]}"'
            parts.append(f'"{name}": {word}')
        raw = quote.replace("\\", "\\\\").replace('"', '\\"')
        parts.append(f'"quote": ["{raw}"]' if at % 2 else f'"quote": "{raw}"')
        lines.append(f"    {{{', '.join(parts)}{'，' if is_chinese(case) and at == 1 else ','}}},  // row {at + 1}")
    return '{\n  "rows": [\n' + "\n".join(lines) + '\n  ],\n  "memory": "",\n}\n<|im_end|>'


def lie(rows: Sequence[Row], case: dict[str, Any]) -> str:
    """Good JSON; beside the rows a name from nowhere, a quote from nowhere, and a number from nowhere."""
    out = [
        {**{name: None if one is None else str(one) for name, one in cells.items()}, "quote": q} for cells, q in rows
    ]
    if out:
        *_, wrong = (name for name in case["columns"] if out[-1].get(name))
        false = [{**out[0], case["columns"][0]: "Zebulon Quarry"}, {**out[0], "quote": "Zebulon shall pay 77,777"}]
        out += [*false, {**out[-1], wrong: "31337"}]
    return json.dumps({"rows": out, "memory": ""}, ensure_ascii=False)


def is_same(gold: Any, record: dict[str, Any], name: str) -> bool:
    """Return whether a cell says what the gold says, whichever way it is written."""
    cell = record.get(name)
    if gold is None or cell is None:
        return gold == cell
    if isinstance(gold, int | float):
        return bool(read_amount(str(cell)) == gold)
    return _fold(gold) == _fold(cell) or find_dates(str(cell)) == [gold]


def _fold(text: str) -> str:
    return re.sub(r"[\W_]+", " ", unicodedata.normalize("NFKC", str(text)).casefold()).strip()


def count_found(case: dict[str, Any], records: Sequence[dict[str, Any]]) -> int:
    left, found = list(records), 0
    for cells, _ in case["rows"]:
        hit = next((one for one in left if all(is_same(gold, one, name) for name, gold in cells.items())), None)
        if hit is not None:
            left.remove(hit)
            found += 1
    return found


async def collect_case(case: dict[str, Any], family: Family) -> Counter[str]:
    def reply(messages: Any) -> str:
        shown = SECTION.search(messages[0].content)
        section = html.unescape(shown[1]) if shown else ""
        return family([(cells, quote) for cells, quote in case["rows"] if quote in section], case)

    with tempfile.TemporaryDirectory() as folder:
        model, plan = ScriptedModel(reply, window=8192), Plan(chunk_tokens=1500, memory_tokens=256)
        made = {"model": model, "journal": Path(folder) / "j.sqlite", "plan": plan}
        table = await acollect(TextDocument(case["text"]), case["ask"], **made)
    records = list(table.list_records())
    proven = [one for one in records if one["proven"]]
    return Counter(
        gold=len(case["rows"]),
        rows=len(records),
        proven=len(proven),
        found=count_found(case, records),
        **{"found and proven": count_found(case, proven)},
    )


def quote_case(case: dict[str, Any]) -> Counter[str]:
    """Count the gold rows whose quote shares a row of the rule without a writer, and its rows that hold a gold one."""
    words = [
        _fold(row.quote) for row in QuotedRows.find(TextDocument(case["text"]), TableRequest.parse(case["ask"])).rows
    ]
    golds = [_fold(quote) for _, quote in case["rows"]]
    touches = lambda one, other: one in other or other in one  # noqa: E731
    return Counter(
        gold=len(golds),
        rows=len(words),
        found=sum(any(touches(gold, row) for row in words) for gold in golds),
        right=sum(any(touches(gold, row) for gold in golds) for row in words),
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--local", action="store_true")
    given = options.parse_args()
    for name in ("mended on", "unseen"):
        cases = [case for case in CASES if case["set"] == name]
        if given.local:
            print(name, dict(sum((quote_case(case) for case in cases), Counter())))
        for family in () if given.local else (think, rename, slur, lie):
            total = sum((asyncio.run(collect_case(case, family)) for case in cases), Counter[str]())
            print(name, len(cases), family.__name__, dict(total), flush=True)


if __name__ == "__main__":
    main()
