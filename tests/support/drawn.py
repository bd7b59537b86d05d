"""Pictures that are drawn for tests, and scripts that see them truly."""

from __future__ import annotations

import io
import json
import re

from PIL import Image, ImageDraw, ImageFont

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
