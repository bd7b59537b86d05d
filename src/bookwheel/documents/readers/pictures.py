"""Pictures that documents hold: opened within bounds, read by the recogniser, kept small, and pointed at from the text.

A picture is opened by Pillow, whatever its colours and depth are, and kept as PNG or JPEG of at most `LONGEST_SIDE`
pixels, so that a model that can see gets nothing that it does not know. Its place in the text is its mark, such as
`[page 12, figure 3]`, and the words that were recognised in it stand below that. Small and repeated pictures are
decoration: they have neither.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import time
import warnings as python_warnings
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from bookwheel.documents.cancellation import current_scope
from bookwheel.documents.child import allow_more
from bookwheel.documents.readers.grid import GUESSED
from bookwheel.documents.readers.ocr import choose_recogniser, explain_missing, find_languages, has_recogniser
from bookwheel.documents.readers.pdf_pages import encode_png, find_characters
from bookwheel.documents.readers.recognition import Recognition, recognise
from bookwheel.documents.readers.scales import ABOUT
from bookwheel.documents.sources import SourceFile, SourceWarnings
from bookwheel.errors import BookwheelError, MissingExtra, SourceError
from bookwheel.picture import MARK, Box, Picture, find_above, place_on_page, split_label
from bookwheel.types import Part

LONGEST_SIDE: Final = 1600
"""Pixels of a picture that is kept."""
# Pixels of a picture that is opened: a sheet of A3 at 600 dots per inch has 70 million.
_MOST_PIXELS: Final = 120_000_000
_LONGEST_OPENED: Final = 60_000
# Pixels of a side, and of all, under which a picture is decoration.
_SMALLEST_SIDE: Final = 24
_SMALLEST: Final = 5_000
# Pixels above which a picture without words is worth a mark.
_LEAST_SEEN: Final = 20_000
_MOST_PICTURES: Final = 2000
_HEIC: Final = (b"ftyphei", b"ftypmif")
# Bytes above which a picture without loss is kept with some.
_MOST_LOSSLESS: Final = 200_000
MOST_KEPT: Final = 64 << 20
"""Bytes of the pictures of one source that are kept."""
_QUALITY: Final = 85
MOST_FRAMES: Final = 500
MULTIPAGE: Final = "TIFF"
"""The format whose frames are pages."""
# Shades between the darkest and the lightest pixel of a page that shows something.
_INK: Final = 40
DRAWINGS: Final = frozenset({".svg", ".emf", ".wmf", ".eps", ".pict"})
"""The ends of the names of pictures that are programs of lines; they are not run."""
WHOLE: Final[Box] = (0.0, 0.0, 1.0, 1.0)
# The share of a quote's letters and digits that stands in a picture which it is from.
_MOST_OF_QUOTE: Final = 0.8
_TESSERACT_SECONDS: Final = 300.0
_MOST_PICTURE: Final = 256 << 20


@contextmanager
def open_picture(data: bytes, name: str) -> Iterator[Any]:
    """Open a picture within bounds. Raise SourceError for one that is broken, too large or of an unknown kind."""
    try:
        from PIL import Image

        if data[4:11] in _HEIC:
            import pi_heif

            pi_heif.register_heif_opener(thumbnails=False)
    except ImportError as error:
        raise MissingExtra("reading pictures", "pictures") from error
    # Its own bound only warns first.
    Image.MAX_IMAGE_PIXELS = None
    try:
        with python_warnings.catch_warnings(), Image.open(io.BytesIO(data)) as picture:
            python_warnings.simplefilter("ignore")
            if picture.width * picture.height > _MOST_PIXELS or max(picture.size) > _LONGEST_OPENED:
                raise SourceError(  # noqa: TRY301 - within, as what is opened has to be closed
                    f"{name} has {picture.width:,} x {picture.height:,} pixels, more than the "
                    f"{_MOST_PIXELS // 1_000_000} million that are read: save it smaller"
                )
            yield picture
    except (BookwheelError, MemoryError):
        raise
    except Exception as error:  # whatever a decoder raises on what strangers made
        raise SourceError(f"{name} is a picture that cannot be opened: it is broken") from error


def to_rgb(picture: Any) -> Any:
    """Return a frame as RGB, the way it is to be looked at; what is transparent is white."""
    import numpy as np
    from PIL import Image, ImageOps

    upright = ImageOps.exif_transpose(picture)
    if upright.mode.startswith("I") or upright.mode == "F":
        # 16 bits and more: the span that is used becomes that of 8 bits.
        values = np.asarray(upright, dtype=np.float32)
        low, high = float(values.min()), float(values.max())
        upright = Image.fromarray(((values - low) * (255 / max(high - low, 1e-9))).astype(np.uint8))
    if upright.mode in {"RGBA", "LA", "PA"} or "transparency" in upright.info:
        layered = upright.convert("RGBA")
        upright = Image.new("RGBA", layered.size, "white")
        upright.alpha_composite(layered)
    return upright.convert("RGB")


def to_bytes(picture: Any) -> bytes:
    """Return an RGB picture as PNG, or as JPEG where that is much smaller."""
    lossless, lossy = io.BytesIO(), io.BytesIO()
    picture.save(lossless, "PNG")
    if lossless.tell() <= _MOST_LOSSLESS:
        return lossless.getvalue()
    picture.save(lossy, "JPEG", quality=_QUALITY)
    return min(lossless.getvalue(), lossy.getvalue(), key=len)


def read_words(picture: Any) -> Recognition:
    """Return the words of an RGB picture. The time that this takes is added to the limits of the work around it."""
    import numpy as np

    began = time.perf_counter()
    try:
        return recognise(np.asarray(picture))
    finally:
        allow_more(time.perf_counter() - began)


def measure_frames(path: str) -> Iterator[list[float]]:
    with open_picture(Path(path).read_bytes(), "the file") as picture:
        for number in range(_count_frames(picture)):
            picture.seek(number)
            yield [float(side) for side in to_rgb(picture).size]


def draw_frame(path: str, number: int, width: int) -> Iterator[str]:
    """Yield a page of a file that is a picture, counted from 1, as PNG in base64; nothing where there is none."""
    with open_picture(Path(path).read_bytes(), "the file") as picture:
        if 1 <= number <= _count_frames(picture):
            picture.seek(number - 1)
            frame = to_rgb(picture)
            frame.thumbnail((min(width, LONGEST_SIDE), frame.height))
            yield encode_png(frame)


def _count_frames(picture: Any) -> int:
    """Return the pages of a picture; of a moving one the first counts alone."""
    return min(getattr(picture, "n_frames", 1), MOST_FRAMES) if picture.format == MULTIPAGE else 1


def find_quote(picture: Picture, quote: str) -> tuple[Box, float] | None:
    """Return the box on its page of a quote that was recognised in a picture, and how sure the recogniser is of it.

    A quote may be a row, whose cells stand in any order of lines; what was measured stands in none. None where most of
    it does not stand there.
    """
    text = picture.text
    pieces = [quote] if _has_most(text, quote) else _list_cells(quote)
    if not pieces or not all(_has_most(text, piece) for piece in pieces):
        return None
    boxes = [box for piece in pieces for box in mark_passage(picture, piece)]
    left, top, right, bottom = zip(*boxes, strict=True)
    places = {at for piece in pieces for at in find_characters(text, piece)}
    ends = list(accumulate(len(line.text) + 1 for line in picture.lines))
    sure = min(picture.lines[bisect_right(ends, at)].confidence for at in places)
    return (min(left), min(top), max(right), max(bottom)), round(sure, 3)


def place_quote(pictures: Mapping[str, Picture], quote: str, above: str) -> tuple[Picture, Box, float | None] | None:
    """Return the picture that a quote points at or is from, its box on the page, and how sure the recogniser is of it.

    `above` is the text before the quote, where the mark of its picture stands. None where it is from no picture.
    """
    for found in MARK.finditer(quote):
        label, part = split_label(found[1])
        if picture := pictures.get(label):
            if part:
                return picture, place_on_page(part, picture.box), None
            return picture, *(find_quote(picture, MARK.sub("", quote)) or (picture.box, None))
    near = find_above(pictures, above)
    found_at = find_quote(near, quote) if near else None
    return (near, *found_at) if near and found_at else None


def _list_cells(row: str) -> list[str]:
    """Return the cells of a row that are written in its picture."""
    return [cell for cell in row.split("|") if any(map(str.isalnum, cell)) and ABOUT not in cell]


def _has_most(text: str, quote: str) -> bool:
    letters = sum(map(str.isalnum, quote))
    return letters > 0 and len(find_characters(text, quote)) >= _MOST_OF_QUOTE * letters


def mark_passage(picture: Picture, passage: str) -> list[Box]:
    """Return the boxes on its page of the words of a passage that were recognised in a picture."""
    # Of a row that does not stand there as one, as in a chart, each cell is looked for.
    starts, text = accumulate((len(line.text) + 1 for line in picture.lines), initial=0), picture.text
    places = find_characters(text, passage)
    for row in passage.splitlines():
        if "|" in row and not _has_most(text, row):
            places += [at for cell in _list_cells(row) if _has_most(text, cell) for at in find_characters(text, cell)]
    boxes = []
    for line, start in zip(picture.lines, starts, strict=False):
        inside = [at - start for at in places if start <= at < start + len(line.text)]
        if inside:
            left, top, right, bottom = line.box
            if right - left > bottom - top:  # of a line that stands upright, all is marked
                letter = (right - left) / len(line.text)
                left, right = left + min(inside) * letter, left + (max(inside) + 1) * letter
            boxes.append(place_on_page((left, top, right, bottom), picture.box))
    return boxes


class Figures:
    """The pictures of one source: numbered, read, and held until the part that they stand in is made."""

    def __init__(self, source: SourceFile, warnings: SourceWarnings) -> None:
        self.is_read = source.ocr in {"", "rapidocr"} and has_recogniser()
        """Whether pictures are read at all; else they are named as unread."""
        self._name = source.name
        self._warnings = warnings
        self._seen: set[str] = set()
        self._taken: list[Picture] = []
        self._count = 0
        self._room = MOST_KEPT
        self._scope = current_scope()

    def add(self, data: bytes, name: str, page: int | None = None, box: Box = WHOLE) -> str:
        """Return the text of a picture in bytes: its mark and its words; nothing for decoration."""
        try:
            with open_picture(data, f"{self._name}#{name}") as opened:
                frame = to_rgb(opened)
                if _is_decoration(frame):
                    self._warnings.add("small pictures, taken for decoration", f"{self._name}#{name}")
                    return ""
                return self.add_frame(frame, page, box)
        except SourceError as error:
            self._warnings.add("pictures that are not read", str(error))
            return ""

    def add_frame(
        self, picture: Any, page: int | None, box: Box, *, is_page: bool = False, found: Recognition | None = None
    ) -> str:
        """Return the text of an RGB picture. One that is a whole page is never taken for decoration.

        Its words are read in it unless they are known (`found`).
        """
        if not is_page and _is_decoration(picture):
            return ""
        pixels = picture.width * picture.height
        kept = picture.copy()
        kept.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
        content = to_bytes(kept)
        sha256 = hashlib.sha256(content).hexdigest()
        if sha256 in self._seen and not is_page:
            return ""  # a logo, or what a footer repeats
        if len(self._seen) >= _MOST_PICTURES:
            self._warnings.add(f"pictures left out, after the first {_MOST_PICTURES:,}", self._name)
            return ""
        self._seen.add(sha256)
        found = found or self._recognise(picture, page)
        if not found.text:
            low, high = kept.convert("L").getextrema()
            if pixels < _LEAST_SEEN or (is_page and high - low < _INK):
                return ""
        self._room -= len(content)
        if self._room < 0:
            self._warnings.add("pictures whose words alone are kept, as there are too many", self._name)
            return found.text
        self._count += 1
        place = f"figure {self._count}" if page is None else f"page {page}, figure {self._count}"
        facts = Picture(
            label=place, source=self._name, page=page, box=box, sha256=sha256, width=kept.width, height=kept.height
        )
        self._taken.append(replace(facts, lines=found.lines, content=content))
        return f"{facts.mark}\n{found.text}".rstrip()

    def embed(self, element: Any, data: bytes, name: str, page: int | None = None) -> None:
        """Put a picture's text in the place of its element of HTML, beside the words that stand for it."""
        from lxml import etree

        lines = self.add(data, name, page).splitlines()
        if not lines:
            return
        instead = " ".join((element.get("alt") or "").split())
        for name_ in element.attrib:
            del element.attrib[name_]
        element.tag = "div"
        element.text = f"{lines[0]} ![{instead}]" if instead else lines[0]
        for line in lines[1:]:
            etree.SubElement(element, "br").tail = line

    def take(self) -> tuple[Picture, ...]:
        """Return the pictures since this was last called."""
        taken, self._taken = tuple(self._taken), []
        return taken

    def _recognise(self, picture: Any, page: int | None) -> Recognition:
        place = self._name if page is None else f"page {page}"
        if self._scope.picture_seconds <= 0:
            self._warnings.add(f"pictures of {self._name} whose words are not read, because it takes too long", place)
            return Recognition(text="", lines=(), confidence=1.0)
        began = time.perf_counter()
        found = read_words(picture)
        self._scope.picture_seconds -= time.perf_counter() - began
        if found.lines:
            what = f"pictures of {self._name} read by OCR, which makes mistakes (and how sure it is)"
            self._warnings.add(what, f"{place} ({found.confidence:.0%})")
        if found.guessed:
            self._warnings.add(GUESSED, place if page is None else f"{self._name}#{place}", found.guessed)
        return found


def _is_decoration(picture: Any) -> bool:
    return bool(min(picture.size) < _SMALLEST_SIDE or picture.width * picture.height < _SMALLEST)


def read_image(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield the text of a picture; each page of a TIFF is one."""
    chosen = choose_recogniser(source.ocr)
    if not chosen:
        raise SourceError(f"{source.name} is a picture, and reading it needs OCR: {explain_missing()}")
    data = source.read(_MOST_PICTURE, "save it smaller")
    if chosen == "tesseract":
        text = read_picture(data, source.name)
        warnings.add("pictures read by OCR, which makes mistakes", source.name)
        if text:
            yield Part(text=f"{text}\n", source=source.name)
        return
    figures = Figures(source, warnings)
    with open_picture(data, source.name) as picture:
        count = getattr(picture, "n_frames", 1)
        if count > 1 and picture.format != MULTIPAGE:
            warnings.add("moving pictures, of which the first one is read", source.name)
            count = 1
        if count > MOST_FRAMES:
            warnings.add(f"pages left out, after the first {MOST_FRAMES}", source.name)
        for number in range(1, min(count, MOST_FRAMES) + 1):
            picture.seek(number - 1)
            text = figures.add_frame(to_rgb(picture), number, WHOLE, is_page=True)
            if text:
                yield Part(text=f"{text}\n\n", source=source.name, page=number, pictures=figures.take())


def read_picture(picture: bytes, name: str, resolution: int = 0) -> str:
    options = ["-l", find_languages(), *(["--dpi", str(resolution)] if resolution else [])]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program; the picture comes by its standard input
            [shutil.which("tesseract") or "tesseract", "stdin", "stdout", *options],
            input=picture,
            capture_output=True,
            check=True,
            timeout=_TESSERACT_SECONDS,
            # Pages are read side by side already.
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},
        )
    except (OSError, subprocess.SubprocessError) as error:
        lines = (getattr(error, "stderr", None) or str(error).encode()).decode(errors="replace").strip().splitlines()
        reason = lines[0] if lines else "it gives no reason"
        raise SourceError(f"{name} is a picture that tesseract cannot read: {reason}") from error
    return done.stdout.decode("utf-8", "replace").replace("\f", "").strip()
