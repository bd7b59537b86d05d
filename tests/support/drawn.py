"""Pictures that are drawn for tests, and scripts that see them truly."""

from __future__ import annotations

import hashlib
import io
import json
import re

from PIL import Image, ImageDraw, ImageFont

from bookwheel.picture import Picture
from bookwheel.types import Part

COLOURS = {"red": (255, 0, 0), "blue": (0, 0, 255), "green": (0, 128, 0)}


def draw_dues(rows=(("Tenant 1", "101 crowns"), ("Tenant 2", "102 crowns"))) -> Image.Image:
    """Return a ruled table of payments."""
    picture = Image.new("RGB", (700, 120 + 60 * len(rows)), "white")
    pen, font = ImageDraw.Draw(picture), ImageFont.load_default(26)
    lines = [("who", "amount"), *rows]
    for at in range(len(lines) + 1):
        pen.line((40, 40 + 60 * at, 640, 40 + 60 * at), fill="black", width=2)
    for at in range(3):
        pen.line((40 + 300 * at, 40, 40 + 300 * at, 40 + 60 * len(lines)), fill="black", width=2)
    for row, cells in enumerate(lines):
        for column, cell in enumerate(cells):
            pen.text((60 + 300 * column, 52 + 60 * row), cell, font=font, fill="black")
    return picture


def write_png(picture: Image.Image) -> bytes:
    content = io.BytesIO()
    picture.save(content, "PNG")
    return content.getvalue()


class Log:
    """Pages with a picture each."""

    name = "log.pdf"
    notes = ()

    def __init__(self, *pictures: Picture, words: str = "Drawn at noon.") -> None:
        self._parts = [
            Part(text=f"{one.mark}\n{words}\n\n", source="log.pdf", page=one.page, pictures=(one,)) for one in pictures
        ]
        self.length = sum(len(part.text) for part in self._parts)

    def parts(self, start=0):
        assert start == 0
        yield from self._parts

    def slice(self, start, end):
        return "".join(part.text for part in self._parts)[start:end]


def make_picture(page: int, colour: str, lines=()) -> Picture:
    content = write_png(Image.new("RGB", (300, 200), colour))
    return Picture(
        label=f"page {page}, figure {page}",
        source="log.pdf",
        page=page,
        box=(0.0, 0.5, 1.0, 1.0),
        sha256=hashlib.sha256(content).hexdigest(),
        width=300,
        height=200,
        lines=lines,
        content=content,
    )


def name_colour(picture) -> str:
    """Return the colour in the middle of a picture that was sent."""
    with Image.open(io.BytesIO(picture.content)) as opened:
        pixel = opened.convert("RGB").getpixel((opened.width // 2, opened.height // 2))
    return next((name for name, value in COLOURS.items() if value == pixel), "none")


def collect_colours(messages) -> str:
    """Write a row for each picture that is sent, as a model that sees: its quote is the mark."""
    rows = [{"sail": name_colour(one), "quote": one.mark} for one in messages[0].pictures]
    return json.dumps({"rows": rows, "memory": "nothing open"})


def collect_table_rows(messages) -> str:
    """Write the rows of tables in the section."""
    section = messages[0].content.partition("<section>\n")[2].partition("\n</section>")[0]
    found = re.finditer(r"\| (Tenant \d+) \| (\d+ crowns) \|", section)
    rows = [{"who": one[1], "amount": one[2], "quote": one[0]} for one in found]
    return json.dumps({"rows": rows, "memory": "nothing open"})
