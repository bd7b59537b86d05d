"""Find the finished reading of a document whose memory another question begins with."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from bookwheel.types import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.serve.engine.keys import Key
    from bookwheel.serve.engine.service import Service
    from bookwheel.types import Reading

# Readings of one document among which a memory is looked for.
_MOST: Final = 20


async def find_finished(
    service: Service, sha: str, model: str, key: Key | None, said: Sequence[str] = ()
) -> Reading | None:
    """Return the newest answered reading of a document that left a memory; None where there is none.

    Only the caller's own readings count. One whose question has a text of `said` goes before the others.
    """
    return await asyncio.to_thread(_find, service, sha, model, key, said)


def _find(service: Service, sha: str, model: str, key: Key | None, said: Sequence[str]) -> Reading | None:
    ids = None if key is None or service.sees_all(key) else service.usage.list_owned(key.name)
    listed = service.journal.readings(limit=_MOST, ids=ids, document=sha)
    answered = [one for one in listed if one.status is Status.ANSWERED and one.model == model]
    answered.sort(key=lambda one: not any(text in one.question for text in said))
    readings = (service.journal.reading(one.id) for one in answered)
    return next((reading for reading in readings if reading.memory.text), None)
