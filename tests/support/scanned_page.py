"""A scanned page with one picture, as a document that was opened."""

from __future__ import annotations

import hashlib

from bookwheel.picture import Picture
from bookwheel.types import Part

CONTENT = b"\x89PNG of a scan"
PICTURE = Picture(
    label="page 1, figure 1",
    source="scan.png",
    page=1,
    box=(0.0, 0.0, 1.0, 1.0),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    width=30,
    height=20,
    content=CONTENT,
)
TEXT = f"{PICTURE.mark}\nroom = 12\n"
SHA256 = hashlib.sha256(TEXT.encode()).hexdigest()


class Scan:
    """The page."""

    name = "scan.png"
    notes = ()
    length = None

    def parts(self, start: int = 0):
        del start
        yield Part(text=TEXT, source="scan.png", page=1, pictures=(PICTURE,))
