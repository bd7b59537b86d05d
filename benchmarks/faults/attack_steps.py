"""What several attacks do and know."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from attack_targets import MODEL

if TYPE_CHECKING:
    import httpx2
    from attack_targets import Target

LIMIT = 3000
DISK_MIB = 2
TOKEN = "a-token-that-nobody-guesses"
SECRET = "The merger with Acme closes on the ninth of May."
LONG = "\n\n".join(f"The keeper of house {n} wrote down the wind and the ships that passed." for n in range(600))
PLAN = {"chunk_tokens": 200, "memory_tokens": 60, "answer_tokens": 60, "question_tokens": 60}
CHAT = {"model": MODEL, "messages": [{"role": "user", "content": "word " * 100}]}
ROUTES = ("", "/events", "/origins")


def wait_for_end(client: httpx2.Client, id_: str) -> None:
    """Return when a reading has ended."""
    for _ in range(2400):
        if client.get(f"/readings/{id_}").json()["status"] != "reading":
            return
        time.sleep(0.05)
    raise SystemExit(f"reading {id_} does not end")


def beyond_limit(target: Target) -> int:
    """Return the tokens beyond the limit that the endpoint has worked on, when it has come to rest."""
    before = -1
    while before != target.endpoint.tokens:
        before = target.endpoint.tokens
        time.sleep(0.5)
    return max(0, before - LIMIT)
