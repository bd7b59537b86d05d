"""PDFs, drawn in the many orders that real programs draw pages in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reportlab.lib.pagesizes import A4
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas

from corpus.story import Sample, Story

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

WIDTH, HEIGHT = A4
LEFT, TOP, LEADING = 72.0, 740.0, 14.0


def drawn(draw: Callable[[Canvas], None]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        canvas = Canvas(str(path), pagesize=A4, invariant=True)
        draw(canvas)
        canvas.save()

    return write


def wrap(text: str, width: float, font: str = "Helvetica", size: float = 11) -> list[str]:
    """Return the lines of a text in a column."""
    lines, line = [], ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and pdfmetrics.stringWidth(longer, font, size) > width:
            lines.append(line)
            longer = word
        line = longer
    return [*lines, line]


def put(canvas: Canvas, lines: Sequence[str], x: float = LEFT, y: float = TOP, size: float = 11) -> float:
    """Draw lines below each other; return where the next one would stand."""
    canvas.setFont("Helvetica", size)
    for line in lines:
        canvas.drawString(x, y, line)
        y -= LEADING
    return y


def plain() -> Sample:
    story = Story(40)
    texts = story.paragraphs(3, 8)

    def draw(canvas: Canvas) -> None:
        for text in texts:
            put(canvas, wrap(text, 450))
            canvas.showPage()

    pages = {number: " ".join(text.split()[:6]) for number, text in enumerate(texts, 1)}
    return Sample(name="pdf-plain.pdf", write=drawn(draw), text=" ".join(texts), pages=pages)


def outline() -> Sample:
    story = Story(41)
    chapters = [(f"{n} {story.title()}", story.paragraph(6)) for n in range(1, 4)]

    def draw(canvas: Canvas) -> None:
        for number, (title, text) in enumerate(chapters):
            canvas.bookmarkPage(str(number))
            canvas.addOutlineEntry(title.partition(" ")[2], str(number), level=0)
            y = put(canvas, [title], size=18)
            put(canvas, wrap(text, 450), y=y - 10)
            canvas.showPage()

    text = " ".join(f"{title} {body}" for title, body in chapters)
    return Sample(name="pdf-outline.pdf", write=drawn(draw), text=text, headings=tuple(title for title, _ in chapters))


def columns(name: str, *, across: bool) -> Sample:
    """Two columns, drawn one after the other or line by line across the page."""
    story = Story(42 + across)
    title = story.title()
    left, right = (wrap(story.paragraph(14), 210) for _ in range(2))
    count = min(len(left), len(right))
    left, right = left[:count], right[:count]

    def draw(canvas: Canvas) -> None:
        y = put(canvas, [title], size=18) - 20
        if not across:
            put(canvas, left, y=y)
            put(canvas, right, x=LEFT + 240, y=y)
            return
        for one, two in zip(left, right, strict=True):
            put(canvas, [one], y=y)
            put(canvas, [two], x=LEFT + 240, y=y)
            y -= LEADING

    return Sample(name=name, write=drawn(draw), text=" ".join([title, *left, *right]))


def running() -> Sample:
    """Running titles and page numbers around the text."""
    story = Story(44)
    texts = story.paragraphs(8, 10)

    def draw(canvas: Canvas) -> None:
        for number, text in enumerate(texts, 1):
            put(canvas, ["Harbour accounts of Skarholm"], y=HEIGHT - 40, size=9)
            put(canvas, wrap(text, 450))
            put(canvas, [f"Page {number}"], x=280, y=30, size=9)
            canvas.showPage()

    text = " ".join(["Harbour accounts of Skarholm", texts[0], "Page 1", *texts[1:]])
    pages = {number: " ".join(text.split()[-5:]) for number, text in enumerate(texts, 1)}
    return Sample(name="pdf-running.pdf", write=drawn(draw), text=text, pages=pages)


def table(name: str, *, by_column: bool) -> Sample:
    """A table, drawn by rows or by columns, between two paragraphs."""
    story = Story(45 + by_column)
    rows, before, after = story.table(8), story.paragraph(), story.paragraph()
    stops = (LEFT, LEFT + 150, LEFT + 260)

    def draw(canvas: Canvas) -> None:
        top = put(canvas, wrap(before, 450)) - 20
        places = [(r, c) for r in range(len(rows)) for c in range(3)]
        for r, c in sorted(places, key=lambda place: place[::-1]) if by_column else places:
            put(canvas, [rows[r][c]], x=stops[c], y=top - r * LEADING)
        put(canvas, wrap(after, 450), y=top - len(rows) * LEADING - 20)

    text = " ".join([before, *(" ".join(row) for row in rows), after])
    return Sample(name=name, write=drawn(draw), text=text)


def wrapped() -> Sample:
    """A table whose cells have several lines, drawn cell by cell."""
    story = Story(47)
    rows = [[story.sentence(), story.sentence(), f"{n} barrels"] for n in range(11, 17)]
    stops, widths = (LEFT, LEFT + 170, LEFT + 360), (150, 170, 90)

    def draw(canvas: Canvas) -> None:
        y = TOP
        for row in rows:
            cells = [wrap(cell, width) for cell, width in zip(row, widths, strict=True)]
            for cell, x in zip(cells, stops, strict=True):
                put(canvas, cell, x=x, y=y)
            y -= LEADING * max(map(len, cells)) + 8

    return Sample(name="pdf-cells.pdf", write=drawn(draw), text=" ".join(" ".join(row) for row in rows))


def rotated(name: str, turn: int, *, flagged: bool) -> Sample:
    """A page whose text is turned; with the flag, the viewer turns it back."""
    story = Story(48 + turn)
    lines = wrap(story.paragraph(8), 400)

    def draw(canvas: Canvas) -> None:
        if flagged:
            canvas.setPageRotation((360 - turn) % 360 if turn != 180 else 180)
        canvas.translate(WIDTH / 2, HEIGHT / 2)
        canvas.rotate(turn)
        put(canvas, lines, x=-200, y=200)

    return Sample(name=name, write=drawn(draw), text=" ".join(lines))


def hyphens() -> Sample:
    """Words cut at line ends; one that is written with a hyphen elsewhere keeps it."""
    lines = [
        "The keeper wrote that the light was burning and that the har-",
        "bour stood empty, while the well-",
        "known ferry waited. Nobody knew the well-known ferry bet-",
        "ter than the keeper, who had seen it in every weather and",
    ]
    text = (
        "The keeper wrote that the light was burning and that the harbour stood empty, while the well-known ferry waited. "
        "Nobody knew the well-known ferry better than the keeper, who had seen it in every weather and"
    )
    return Sample(name="pdf-hyphens.pdf", write=drawn(lambda canvas: put(canvas, lines)), text=text)


def page_ends() -> Sample:
    """Words that the end of a page cuts, between running titles."""
    pages = [
        ["The keeper wrote down the wind and the ships, and the light of the harbour."],
        ["It burned until the morning, which was the first of a long win-"],
        ["ter, and nobody came to the pier. On Sundays the ferry was well-"],
        ["known for its bell, and the well-known bell was heard in Skarholm."],
    ]

    def draw(canvas: Canvas) -> None:
        for number, lines in enumerate(pages, 1):
            put(canvas, ["Harbour accounts of Skarholm"], y=HEIGHT - 40, size=9)
            put(canvas, lines)
            put(canvas, [f"Page {number}"], x=280, y=30, size=9)
            canvas.showPage()

    text = (
        "Harbour accounts of Skarholm The keeper wrote down the wind and the ships, and the light of the harbour. Page 1 "
        "It burned until the morning, which was the first of a long winter, and nobody came to the pier. On Sundays the "
        "ferry was well-known for its bell, and the well-known bell was heard in Skarholm."
    )
    return Sample(name="pdf-pageends.pdf", write=drawn(draw), text=text)


def changing_titles() -> Sample:
    """Running titles with the name of each page's section beside that of the book."""
    story = Story(53)
    sections = [(f"{story.title()} {number}", story.paragraph(8)) for number in range(1, 9)]

    def draw(canvas: Canvas) -> None:
        for title, text in sections:
            put(canvas, ["Harbour accounts of Skarholm"], y=HEIGHT - 40, size=9)
            put(canvas, [title.upper()], x=330, y=HEIGHT - 40, size=9)
            y = put(canvas, [title], size=18)
            put(canvas, wrap(text, 450), y=y - 10)
            canvas.showPage()

    first = f"Harbour accounts of Skarholm {sections[0][0]}"
    text = " ".join([first, *(f"{title} {body}" for title, body in sections)])
    return Sample(name="pdf-changing.pdf", write=drawn(draw), text=text)


def comments() -> Sample:
    story = Story(50)
    text, comment = story.paragraph(6), story.sentence()

    def draw(canvas: Canvas) -> None:
        put(canvas, wrap(text, 450))
        canvas.textAnnotation(comment, Rect=[400, 700, 420, 720])
        canvas.acroForm.textfield(name="berth", tooltip="Berth", value="seventeen", x=72, y=300, width=100, height=20)

    # The reader says that it is a comment.
    return Sample(name="pdf-comments.pdf", write=drawn(draw), text=f"{text} Comment {comment} Berth seventeen")


def chinese() -> Sample:
    story = Story(51, "zh_own.txt")
    text = story.paragraph(10)
    lines = [text[at : at + 30] for at in range(0, len(text), 30)]

    def draw(canvas: Canvas) -> None:
        pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
        canvas.setFont("STSong-Light", 12)
        for number, line in enumerate(lines):
            canvas.drawString(LEFT, TOP - 18 * number, line)

    return Sample(name="pdf-chinese.pdf", write=drawn(draw), text=text)


def justified() -> Sample:
    """Lines set to one width by wide blanks, and letters set apart in a title."""
    story = Story(52)
    lines = wrap(story.paragraph(12), 220)

    def draw(canvas: Canvas) -> None:
        y = TOP
        for line in lines:
            text = canvas.beginText(LEFT, y)
            text.setFont("Helvetica", 11)
            slack = 220 - pdfmetrics.stringWidth(line, "Helvetica", 11)
            text.setWordSpace(slack / max(1, line.count(" ")) if line is not lines[-1] else 0)
            text.textLine(line)
            canvas.drawText(text)
            y -= LEADING

    return Sample(name="pdf-justified.pdf", write=drawn(draw), text=" ".join(lines))


def samples() -> Iterator[Sample]:
    yield plain()
    yield outline()
    yield columns("pdf-columns.pdf", across=False)
    yield columns("pdf-across.pdf", across=True)
    yield running()
    yield table("pdf-table.pdf", by_column=False)
    yield table("pdf-turnedtable.pdf", by_column=True)
    yield wrapped()
    yield rotated("pdf-rotated.pdf", 90, flagged=True)
    yield rotated("pdf-sideways.pdf", 90, flagged=False)
    yield rotated("pdf-upsidedown.pdf", 180, flagged=True)
    yield rotated("pdf-landscape.pdf", 270, flagged=True)
    yield hyphens()
    yield page_ends()
    yield changing_titles()
    yield comments()
    yield chinese()
    yield justified()
