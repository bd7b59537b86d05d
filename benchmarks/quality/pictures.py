"""Measure how well words in pictures are read, and what a memory that points at pictures keeps.

    python benchmarks/quality/pictures.py recall [--each 6] [--languages en zh]
    python benchmarks/quality/pictures.py lengths [--pages 1 5 20 100 500] [--count 8] [--ways sequential]

`lengths --ways` without a name leaves the script that sees out.

`recall`: the share of drawn words that is recognised, by kind of picture and language. `lengths`: documents of our
making have pages of words and drawn pictures with facts, which stand nowhere else; who has the fact? The built-in
model, which reads the recognised words, and without pictures; and a script that sees, with marks in its memory or with
captions alone. The script reads a code of squares from the pixels that it is sent, and knows nothing else.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import random
import re
import resource
import time
from collections import Counter
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from PIL import Image, ImageDraw, ImageFilter, ImageFont
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from bookwheel.documents.opening import open_document
from bookwheel.documents.readers.pictures import read_words
from bookwheel.models.local import LocalModel
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.reading.runner import new_reading, run_reading
from bookwheel.reading.ways.registry import load_way
from bookwheel.types import DocumentInfo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.types import Message

SEED = 20261124
# Pages up to which it is measured what is known without pictures.
FEW = 20
FONTS = {
    "en": "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
    "zh": "/usr/share/fonts/opentype/noto/NotoSerifCJK-Bold.ttc",
}
SLANTED = "/usr/share/fonts/truetype/dejavu/DejaVuSerifCondensed-BoldItalic.ttf"
KINDS = ("table", "open table", "chart", "stamp", "diagram", "screen", "note", "scan")
THINGS = {
    "en": ["lamp oil", "rope", "salt", "tar", "coal", "herring", "flour", "timber", "copper", "linen", "wax", "slate"],
    "zh": ["灯油", "绳索", "食盐", "焦油", "煤炭", "鲱鱼", "面粉", "木材", "铜料", "亚麻", "蜂蜡", "石板"],
}
UNITS = {"en": ("Goods", "Barrels", "Store of pier"), "zh": ("货物", "桶数", "码头仓库")}
WORDS = [
    "The",
    "ferry",
    "came",
    "in",
    "with",
    "the",
    "tide",
    "and",
    "the",
    "keeper",
    "wrote",
    "the",
    "hour",
    "into",
    "the",
    "book",
    "as",
    "on",
    "any",
    "other",
    "day",
]


@dataclass(frozen=True)
class Drawing:
    """A picture, what is written in it, and a question that it answers."""

    picture: Image.Image
    words: tuple[str, ...]
    """All words that were drawn."""
    question: str
    answer: str


def draw(kind: str, language: str, chance: random.Random) -> Drawing:
    """Draw a picture of counts of goods; one of them is asked for."""
    pier = str(chance.randrange(11, 99))
    goods = chance.sample(THINGS[language], 4)
    counts = [f"{chance.randrange(100, 999)}" for _ in goods]
    head, unit, store = UNITS[language]
    title = f"{store} {pier}"
    question = (
        f"How many barrels of {goods[1]} are in the store of pier {pier}?"
        if language == "en"
        else f"码头仓库 {pier} 有多少桶{goods[1]}？"
    )
    picture = Image.new("RGB", (760, 420), "white")
    pen = ImageDraw.Draw(picture)
    font = ImageFont.truetype(SLANTED if kind == "note" and language == "en" else FONTS[language], 24)
    rows = [(head, unit), *zip(goods, counts, strict=True)]
    _DRAWERS[kind](pen, font, title, rows, chance)
    if kind == "stamp":
        picture = picture.rotate(chance.choice((-12, 9, 14)), fillcolor="white", expand=True)
    if kind == "scan":
        noise = Image.effect_noise(picture.size, 60).convert("RGB")
        picture = Image.blend(picture, noise, 0.25).rotate(1.5, fillcolor="white").filter(ImageFilter.GaussianBlur(0.7))
    shown = [
        title,
        *(word for row in (rows if kind in {"table", "open table", "screen"} else rows[1:]) for word in row),
    ]
    return Drawing(picture, tuple(word for text in shown for word in text.split()), question, counts[1])


def _draw_rows(pen: Any, font: Any, title: str, rows: Any, _: random.Random, *, ruled: bool) -> None:
    pen.text((40, 20), title, font=font, fill="black")
    for at, row in enumerate(rows):
        for column, cell in enumerate(row):
            pen.text((60 + 300 * column, 92 + 58 * at), cell, font=font, fill="black")
    if ruled:
        for at in range(len(rows) + 1):
            pen.line((40, 80 + 58 * at, 640, 80 + 58 * at), fill="black", width=2)
        for x in (40, 340, 640):
            pen.line((x, 80, x, 80 + 58 * len(rows)), fill="black", width=2)


def _draw_chart(pen: Any, font: Any, title: str, rows: Any, chance: random.Random) -> None:
    pen.text((40, 16), title, font=font, fill="black")
    pen.line((60, 350, 720, 350), fill="black", width=2)
    for at, (name, count) in enumerate(rows[1:]):
        x, height = 90 + 160 * at, int(count) // 5
        pen.rectangle((x, 350 - height, x + 80, 350), fill=chance.choice(("steelblue", "orange", "green")))
        pen.text((x + 12, 350 - height - 32), count, font=font, fill="black")
        pen.text((x - 10, 360), name, font=font, fill="black")


def _draw_stamp(pen: Any, font: Any, title: str, rows: Any, _: random.Random) -> None:
    pen.rounded_rectangle((60, 40, 640, 370), 40, outline="firebrick", width=6)
    for at, text in enumerate([title, *(f"{name} {count}" for name, count in rows[1:])]):
        pen.text((110, 70 + 56 * at), text, font=font, fill="firebrick")


def _draw_diagram(pen: Any, font: Any, title: str, rows: Any, _: random.Random) -> None:
    pen.text((40, 14), title, font=font, fill="black")
    for at, (name, count) in enumerate(rows[1:]):
        x, y = 40 + 370 * (at % 2), 90 + 160 * (at // 2)
        pen.rectangle((x, y, x + 280, y + 90), outline="navy", width=3)
        pen.text((x + 20, y + 30), f"{name} {count}", font=font, fill="navy")
    pen.line((320, 135, 410, 135), fill="navy", width=3)
    pen.line((180, 180, 180, 250), fill="navy", width=3)


def _draw_screen(pen: Any, font: Any, title: str, rows: Any, _: random.Random) -> None:
    pen.rectangle((0, 0, 760, 420), fill="#20242c")
    pen.rectangle((0, 0, 760, 54), fill="#3a4150")
    pen.text((24, 12), title, font=font, fill="white")
    for at, row in enumerate(rows):
        for column, cell in enumerate(row):
            pen.text((40 + 300 * column, 80 + 60 * at), cell, font=font, fill="#d8dee9")


def _draw_note(pen: Any, font: Any, title: str, rows: Any, chance: random.Random) -> None:
    for at, text in enumerate([title, *(f"{name} {count}" for name, count in rows[1:])]):
        pen.text((60 + chance.randrange(30), 40 + 64 * at + chance.randrange(8)), text, font=font, fill="#223377")


_DRAWERS = {
    "table": lambda *values: _draw_rows(*values, ruled=True),
    "open table": lambda *values: _draw_rows(*values, ruled=False),
    "chart": _draw_chart,
    "stamp": _draw_stamp,
    "diagram": _draw_diagram,
    "screen": _draw_screen,
    "note": _draw_note,
    "scan": lambda *values: _draw_rows(*values, ruled=False),
}


def measure_recall(each: int, languages: Sequence[str]) -> None:
    """Print the share of the drawn words that are read, with its interval by picture."""
    chance = random.Random(SEED)
    print("kind        lang  pictures  word recall (95 %, by picture)   seconds a picture")
    for language in languages:
        for kind in KINDS:
            shares, began = [], time.perf_counter()
            for _ in range(each):
                drawing = draw(kind, language, chance)
                read = re.sub(r"[\s|]+", " ", read_words(drawing.picture).text)
                there = read.replace(" ", "") if language == "zh" else f" {read} "
                found = [word in there if language == "zh" else f" {word} " in there for word in drawing.words]
                shares.append(fmean(found))
            means = sorted(fmean(chance.choices(shares, k=each)) for _ in range(2000))
            seconds = (time.perf_counter() - began) / each
            low, high = means[50], means[1949]
            recall = f"{fmean(shares):.3f} ({low:.3f} to {high:.3f})"
            print(f"{kind:11} {language}    {each:3}       {recall:32}{seconds:6.2f}", flush=True)
    print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB")


def write_document(path: Path, pages: int, drawings: Sequence[Drawing], chance: random.Random) -> None:
    """Write a PDF whose pictures stand on pages spread over it."""
    canvas = Canvas(str(path), pagesize=(595, 842))
    places = {pages * at // len(drawings): drawing for at, drawing in enumerate(drawings)}
    for page in range(pages):
        for line in range(12):
            canvas.drawString(60, 790 - 16 * line, " ".join(chance.choices(WORDS, k=14)) + ".")
        if page in places:
            picture = places[page].picture
            height = 460 * picture.height / picture.width
            canvas.drawImage(ImageReader(picture), 60, 560 - height, 460, height)
        canvas.showPage()
    canvas.save()


def make(folder: str, pages: int, count: int, ocr: str, seed: int) -> tuple[Any, list[Drawing]]:
    """Return a document with pictures of every kind, in English and Chinese by turns, and what they ask."""
    chance = random.Random(seed)
    languages = ("en", "zh")
    drawings = [
        add_code(draw(KINDS[(seed + at) % len(KINDS)], languages[(seed + at) % 2], chance))
        for at in range(min(count, pages))
    ]
    path = Path(folder) / "log.pdf"
    write_document(path, pages, drawings, chance)
    return open_document([path], ocr=ocr), drawings


def add_code(drawing: Drawing) -> Drawing:
    """Return the drawing with its question and answer as a code of squares, which a script reads from the pixels."""
    import cv2

    said = f"{drawing.question.encode('ascii', 'backslashreplace').decode()}|{drawing.answer}"
    code = Image.fromarray(cv2.QRCodeEncoder.create().encode(said)).convert("RGB")
    code = code.resize((5 * code.width, 5 * code.height), Image.Resampling.NEAREST)
    width, height = drawing.picture.size
    joined = Image.new("RGB", (width + code.width + 40, max(height, code.height + 40)), "white")
    joined.paste(drawing.picture, (0, 0))
    joined.paste(code, (width + 20, 20))
    return replace(drawing, picture=joined)


def read_code(content: bytes) -> tuple[str, str]:
    """Return the question and the answer that a picture shows; nothing where it is too small to be read."""
    import cv2
    import numpy as np

    pixels = np.asarray(Image.open(io.BytesIO(content)).convert("L"))
    size = (2 * pixels.shape[1], 2 * pixels.shape[0])
    for shown in (pixels, cv2.resize(pixels, size, interpolation=cv2.INTER_CUBIC)):
        said, _, _ = cv2.QRCodeDetector().detectAndDecode(shown)
        if said:
            question, _, answer = said.rpartition("|")
            return question.encode().decode("unicode_escape"), answer
    return "", ""


async def ask(document: Any, question: str, model: Any, way: str, plan: Plan) -> str:
    info = DocumentInfo(id="", name=document.name, length=document.length or 0)
    reading = new_reading(info, question, model, plan, way)
    ended = await run_reading(reading, document, model, way=load_way(way))
    return f"{ended.answer.text} {ended.answer.passage}" if ended.answer else ended.error


def _make_seer(*, keeps: bool) -> Any:
    """Return a script that sees: it reads the code in the pixels that it is sent, and knows nothing else."""

    def reply(messages: Sequence[Message]) -> str:
        message = messages[-1]
        shown = [(picture, *read_code(picture.content)) for picture in message.pictures]
        mine = [(picture, answer) for picture, question, answer in shown if question and question in message.content]
        if "<section>" not in message.content:
            return f"\\boxed{{{mine[0][1] if mine else 'not seen'}}}"
        lines = [f"{picture.mark if keeps else picture.label}: a picture of stores" for picture, _ in mine]
        return "\n".join(lines) or "UNCHANGED"

    return reply


def _tell_share(right: int, asked: int) -> str:
    """Return a share with its interval after Wilson."""
    share, z = right / asked, 1.96
    middle, spread = share + z * z / (2 * asked), z * sqrt(share * (1 - share) / asked + z * z / (4 * asked * asked))
    low, high = ((middle + sign * spread) / (1 + z * z / asked) for sign in (-1, 1))
    return f"{right} of {asked} ({low:.2f} to {high:.2f})"


async def measure_lengths(lengths: Sequence[int], count: int, ways: Sequence[str]) -> None:
    """Print how often each reader has the fact of a picture, over documents of so many pages."""
    local = await LocalModel.open()
    small = Plan(chunk_tokens=1200, memory_tokens=900, answer_tokens=100)
    for pages in lengths:
        right: Counter[str] = Counter()
        seconds: Counter[str] = Counter()
        asked = opened = 0
        while asked < count:
            with TemporaryDirectory() as folder:
                began = time.perf_counter()
                document, drawings = make(folder, pages, count - asked, "rapidocr", SEED + 1000 * pages + asked)
                opened += time.perf_counter() - began
                blind, _ = make(folder, pages, count - asked, "off", SEED + 1000 * pages + asked)
            readers = [("words, built-in model", document, local, "quotes", local.plan)]
            readers += [("no pictures, built-in model", blind, local, "quotes", local.plan)] if pages <= FEW else []
            for way in ways:
                for keeps in (True, False):
                    seer = ScriptedModel(_make_seer(keeps=keeps), vision="qwen")
                    how = "marks in the memory" if keeps else "captions alone"
                    readers.append((f"{how}, {way}", document, seer, way, small))
            for name, text, model, way, plan in readers:
                began = time.perf_counter()
                for one in drawings:
                    right[name] += one.answer in await ask(text, one.question, model, way, plan)
                seconds[name] += time.perf_counter() - began
            asked += len(drawings)
        print(f"{pages} pages, {asked} pictures, opened in {opened / asked:.1f} s a picture")
        for name, total in seconds.items():
            print(f"    {name:32} {_tell_share(right[name], asked):28} {total / asked:6.1f} s a question", flush=True)
    print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB", end=", ")
    print(f"of a converting child: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("recall", "lengths"))
    parser.add_argument("--each", type=int, default=6)
    parser.add_argument("--languages", nargs="+", default=["en", "zh"])
    parser.add_argument("--pages", type=int, nargs="+", default=[5])
    parser.add_argument("--count", type=int, default=8)
    parser.add_argument("--ways", nargs="*", default=["sequential"])
    wanted = parser.parse_args()
    if wanted.what == "recall":
        measure_recall(wanted.each, wanted.languages)
    else:
        asyncio.run(measure_lengths(wanted.pages, wanted.count, wanted.ways))


if __name__ == "__main__":
    main()
