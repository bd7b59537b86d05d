"""Where a row stands on its page, when its quote is from a picture: in the recognised words, or the picture itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bookwheel.documents.readers.pictures import place_quote

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bookwheel.picture import Picture
    from bookwheel.tables.table import Place
    from bookwheel.types import Document

BEFORE: Final = 20_000
"""Characters above a quote in which the mark of its picture stands."""


def place_in_picture(place: Place, pictures: Mapping[str, Picture], document: Document) -> Place:
    """Return a place with its page, its picture and the box on the page, where it stands in one of these pictures."""
    if place.start is None or place.end is None:
        return place
    found = place_quote(pictures, place.quote, document.slice(max(0, place.start - BEFORE), place.start))
    if found is None:
        return place
    picture, box, sure = found
    label, page, source = picture.label, picture.page, picture.source
    return replace(place, page=page, source=source, picture=label, box=box, confidence=sure)
