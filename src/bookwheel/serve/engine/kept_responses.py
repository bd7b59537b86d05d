"""Responses that a client goes on from by their id: the newest, in memory, each with what was asked and said.

    resp_1    user: TEXT, question     assistant: answer
    resp_2    after resp_1             user: further question, assistant: answer

A response has its own items alone and the id of the one before, so that a long conversation is kept once, and two
requests can go on from the same response.
"""

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bookwheel.serve.engine.errors import ApiError

_MOST_RESPONSES: Final = 10_000
_MOST_CHARACTERS: Final = 64_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptResponse:
    """What one request added to a conversation."""

    previous: str
    """The response before it; empty in the first one."""
    asked: tuple[dict[str, Any], ...]
    response: Mapping[str, Any]
    size: int


class KeptResponses:
    """The newest responses of all clients, each for the client that it was made for."""

    def __init__(self, most: int = _MOST_RESPONSES, most_characters: int = _MOST_CHARACTERS) -> None:
        self._most, self._most_characters = most, most_characters
        self._kept: OrderedDict[tuple[str, str], KeptResponse] = OrderedDict()
        self._size = 0

    def keep(self, owner: str, previous: str, asked: Sequence[dict[str, Any]], response: Mapping[str, Any]) -> None:
        """Keep a response, and drop the oldest that nobody went on from until it fits."""
        id_, size = response["id"], len(json.dumps([asked, response], ensure_ascii=False))
        self.drop(owner, id_)
        self._kept[owner, id_] = KeptResponse(previous=previous, asked=tuple(asked), response=response, size=size)
        self._size += size
        while len(self._kept) > self._most or self._size > self._most_characters:
            _, oldest = self._kept.popitem(last=False)
            self._size -= oldest.size

    def find(self, owner: str, id_: str) -> KeptResponse | None:
        return self._kept.get((owner, id_))

    def drop(self, owner: str, id_: str) -> bool:
        """Drop a response; tell if it was kept."""
        old = self._kept.pop((owner, id_), None)
        self._size -= old.size if old else 0
        return old is not None

    def list_items(self, owner: str, id_: str) -> list[dict[str, Any]]:
        """Return the whole conversation up to a response. Raise a 404 where a part of it is not kept (any more)."""
        chain: list[KeptResponse] = []
        name = id_
        while name:
            if (found := self.find(owner, name)) is None:
                raise ApiError(
                    404,
                    f"response {id_[:80]} is not kept here (any more): send the earlier messages in input",
                    kind="previous_response_not_found",
                    param="previous_response_id",
                )
            chain.append(found)
            self._kept.move_to_end((owner, name))
            name = found.previous
        return [item for one in reversed(chain) for item in (*one.asked, *one.response["output"])]

    def clear(self) -> None:
        """Drop them all: a document that some of them quote may have been deleted."""
        self._kept.clear()
        self._size = 0
