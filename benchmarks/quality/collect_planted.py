"""Records planted in contracts, logs, minutes and novels: what `collect` finds of them, and other ways with one model.

python benchmarks/quality/collect_planted.py [--words 7000 50000] [--records 50] [--seeds 3]

Beside plain records there are near misses, repeats, other names ("Tenant 7" of somebody who is named at the beginning),
records whose date stands in the next sentence, some of them behind a chunk's end, and contradictions. The model is
scripted and the same for all ways: it writes every record that its text states, keeps other names and open records in
its memory, and forgets nothing that there is room for. `isolated` reads chunks without a memory, as LangExtract does;
`bm25` reads the passages that share most words with the question, as paper-qa does. Recall and precision are of
distinct records.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from bookwheel import TextDocument, acollect, aread
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bookwheel.types import Message

PLAN = Plan(chunk_tokens=2000, memory_tokens=1024, answer_tokens=1024, question_tokens=200)
WINDOW = 8192
WAYS = ("sequential", "map-reduce", "bm25")
SENTENCES = {"en": "every payment: who, amount, due date", "zh": "每一笔付款：付款人，金额，到期日期"}
COLUMNS = {"en": ("who", "amount", "due date"), "zh": ("付款人", "金额", "到期日期")}
TEMPLATES = {
    "contract": "{n}. {who} pays {amount} crowns by {due}.",
    "log": "2027-01-{day:02d}T08:{n:02d} INFO ledger: {who} pays {amount} crowns by {due}.",
    "minutes": "It was agreed that {who} pays {amount} crowns by {due}.",
    "novel": "“You know,” said the clerk, “that {who} pays {amount} crowns by {due}. So be it.”",
    "zh": "第{n}条 {who}应于{due}前支付{amount}克朗。",
}
OPEN = {"en": "{who} owes {amount} crowns.\nThis falls due on {due}.", "zh": "{who}欠{amount}克朗。\n此款于{due}到期。"}
NAMED = {"en": "{name} is called {who} from here on.", "zh": "{name}以下称为{who}。"}
MISSES = {
    "en": ("{who} was asked for {amount} crowns and owes none.", "By {due} nobody had paid {amount} crowns."),
    "zh": ("{who}被要求支付{amount}克朗，但分文不欠。", "到{due}为止没有人付过{amount}克朗。"),
}
FILLER = {
    "en": ("The wind rose from the west and the boats stayed in.", "Nobody was paid on that day.", "The lamp was lit."),
    "zh": ("西风渐起，船只都留在港内。", "那一天没有人领到钱。", "灯被点亮了。"),
}
RECORD = re.compile(
    r"((?:Tenant|Ada Quill|Odo Farr) \d+) pays (\d+) crowns by (\d+ June 2027)\."
    r"|((?:租户|陈一|李二)\d+号)应于(2027年6月\d+日)前支付(\d+)克朗。"
)
OWES = re.compile(r"(Tenant \d+) owes (\d+) crowns\.|(租户\d+号)欠(\d+)克朗。")
DUE = re.compile(r"This falls due on (\d+ June 2027)\.|此款于(2027年6月\d+日)到期。")
CALLED = re.compile(
    r"((?:Ada Quill|Odo Farr) \d+) is called (Tenant \d+) from|((?:陈一|李二)\d+号)以下称为(租户\d+号)。"
)
ANY = re.compile(
    "|".join(f"(?P<{name}>{one.pattern})" for name, one in (("r", RECORD), ("o", OWES), ("d", DUE), ("c", CALLED)))
)


@dataclass
class Known:
    """What a reader carries: other names, and the record that waits for its date."""

    names: dict[str, str] = field(default_factory=dict)
    waiting: tuple[str, str] | None = None

    def to_text(self) -> str:
        lines = [f"{name} is called {who} from" for who, name in self.names.items()]
        return "\n".join([*lines, f"open: {self.waiting[0]} / {self.waiting[1]}" if self.waiting else "nothing open"])

    @classmethod
    def parse(cls, text: str) -> Known:
        names = dict(reversed(one) for one in re.findall(r"(.+) is called (.+) from", text))
        waiting = re.findall(r"open: (.+) / (\d+)", text)
        return cls(names=names, waiting=waiting[-1] if waiting else None)


def list_records(text: str, known: Known) -> list[tuple[str, str, str, str]]:
    """Return who, amount, due date and quote of every record of a text, and bring what is known up to date."""
    found = []
    for match in ANY.finditer(text):
        values = [value for value in match.groups() if value and value != match[0]]
        if match["c"]:
            known.names[values[1]] = values[0]
        elif match["o"]:
            known.waiting = (values[0], values[1])
        elif match["r"]:
            who, amount, due = values if "crowns" in match[0] else (values[0], values[2], values[1])
            found.append((known.names.get(who, who), amount, due, match[0]))
        elif known.waiting:
            who, amount = known.waiting
            found.append((known.names.get(who, who), amount, values[0], match[0]))
            known.waiting = None
    return found


def write_document(genre: str, records: int, words: int, seed: int) -> tuple[str, set[tuple[str, str, str]]]:
    """Return a text with the records at random places, and the records with the names that their people have."""
    rng, language = random.Random(f"{genre}{seed}"), "zh" if genre == "zh" else "en"
    golds, lines, named = set(), [], []
    for n in range(records):
        who, person = (
            (f"租户{n}号", f"{rng.choice(('陈一', '李二'))}{n}号")
            if language == "zh"
            else (f"Tenant {n}", f"{rng.choice(('Ada Quill', 'Odo Farr'))} {n}")
        )
        day, amount = rng.randrange(1, 29), str(rng.randrange(10, 10_000))
        values = {"n": n, "day": day, "who": who, "name": person, "amount": amount}
        values["due"] = f"2027年6月{day}日" if language == "zh" else f"{day} June 2027"
        is_named = n % 5 == 0
        golds.add((person if is_named else who, amount, values["due"]))
        line = (OPEN[language] if n % 4 == 1 else TEMPLATES[genre]).format(**values)
        named += [NAMED[language].format(**values)] * is_named
        lines.append([line] * (2 if n % 7 == 2 else 1))
        lines.append([rng.choice(MISSES[language]).format(**values)])
        if n % 10 == 3:  # somebody says another amount
            other = values | {"amount": str(int(amount) + 1)}
            golds.add((person if is_named else who, other["amount"], values["due"]))
            lines.append([TEMPLATES[genre].format(**other)])
    body = [[rng.choice(FILLER[language])] for _ in range(max(0, words - 12 * records) // 8)]
    places = sorted(rng.sample(range(len(body) + len(lines)), len(lines)))
    for place, block in zip(places, lines, strict=True):
        body.insert(place, block)
    # Names stand at the beginning, as definitions of a contract do.
    return "\n".join((*named, *(line for block in body for line in block))), golds


def between(text: str, tag: str) -> str:
    return text.partition(f"<{tag}>\n")[2].partition(f"\n</{tag}>")[0]


def make_extractor(language: str, *, keeps: bool) -> Callable[[Sequence[Message]], str]:
    def extract(messages: Sequence[Message]) -> str:
        text = messages[0].content
        known = Known.parse(between(text, "memory")) if keeps else Known()
        found = list_records(between(text, "section"), known)
        crowns = "克朗" if language == "zh" else " crowns"
        names = (*COLUMNS[language], "quote")
        rows = [
            dict(zip(names, (who, f"{amount}{crowns}", due, quote), strict=True)) for who, amount, due, quote in found
        ]
        return json.dumps({"rows": rows, "memory": known.to_text() if keeps else ""}, ensure_ascii=False)

    return extract


def write_line(who: str, amount: str, due: str) -> str:
    return f"{who}应于{due}前支付{amount}克朗。" if "号" in who else f"{who} pays {amount} crowns by {due}."


def remember(messages: Sequence[Message]) -> str:
    """Write all records of the prompt and what is known, a line each, as long as there is room; at the end, all."""
    text = messages[-1].content
    known = Known.parse(text)
    lines = list(dict.fromkeys(write_line(*one[:3]) for one in list_records(text, known)))
    if "\\boxed" in text:
        return "\\boxed{" + "\n".join(lines) + "}"
    return "\n".join([*known.to_text().splitlines(), *lines])


async def measure(genre: str, records: int, words: int, seed: int, journal: Path) -> dict[str, float]:
    text, golds = write_document(genre, records, words, seed)
    language = "zh" if genre == "zh" else "en"
    document, sentence, figures = TextDocument(text), SENTENCES[language], dict[str, float]()
    for name, keeps in (("collect", True), ("isolated", False)):
        model = ScriptedModel(make_extractor(language, keeps=keeps), plan=PLAN, window=WINDOW)
        began = time.process_time()
        table = await acollect(document, sentence, key=[COLUMNS[language][0]], model=model, journal=journal)
        rows = [(row.cells[0], re.sub(r"\D", "", row.cells[1]), row.cells[2]) for row in table.rows]
        figures |= {
            f"{name} recall": len(set(rows) & golds) / len(golds),
            f"{name} precision": len(set(rows) & golds) / max(1, len(rows)),
            f"{name} doubled": len(rows) - len(set(rows)),
            f"{name} proven": 1 - table.unproven / max(1, len(rows)),
        }
        if keeps:
            figures |= {"calls": table.reading.usage.calls, "CPU s": time.process_time() - began}
            figures["marked"] = sum(row.contradicts for row in table.rows) / max(1, 2 * len(range(3, records, 10)))
    for way in WAYS:
        model = ScriptedModel(remember, plan=PLAN, window=WINDOW)
        reading = await aread(document, sentence, model=model, way=way, journal=journal)
        said = {one[:3] for one in list_records(reading.answer.text if reading.answer else "", Known())}
        figures[f"{way} recall"] = len(said & golds) / len(golds)
    return figures


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--words", type=int, nargs="+", default=[7_000, 50_000])
    options.add_argument("--records", type=int, nargs="+", default=[50])
    options.add_argument("--genres", nargs="+", default=[*TEMPLATES])
    options.add_argument("--seeds", type=int, default=3)
    given = options.parse_args()
    for words in given.words:
        for records in given.records:
            for genre in given.genres:
                found = []
                for seed in range(given.seeds):
                    with tempfile.TemporaryDirectory() as folder:
                        found.append(asyncio.run(measure(genre, records, words, seed, Path(folder) / "j.sqlite")))
                means = {name: round(fmean(one[name] for one in found), 3) for name in found[0]}
                print(
                    json.dumps({"genre": genre, "records": records, "words": words, "n": given.seeds, **means}),
                    flush=True,
                )


if __name__ == "__main__":
    main()
