"""Attacks on limits: tokens of a key and of a reading, and the disk."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from attack_steps import CHAT, DISK_MIB, LIMIT, LONG, PLAN, beyond_limit, wait_for_end

if TYPE_CHECKING:
    import httpx2
    from attack_targets import Target


def abort_streams(target: Target) -> int:
    """Leave every stream after its first piece."""

    def leave(client: httpx2.Client) -> None:
        with client.stream("POST", "/v1/chat/completions", json={**CHAT, "stream": True}) as answer:
            next(answer.iter_lines(), None)

    with target.client("eve") as client:
        for _ in range(40):
            leave(client)
    return beyond_limit(target)


def call_in_parallel(target: Target) -> int:
    """Send many calls at the same moment, streamed and not."""
    with target.client("eve") as client, ThreadPoolExecutor(30) as many:
        bodies = [{**CHAT, "max_tokens": 200, "stream": bool(n % 2)} for n in range(30)]
        list(many.map(lambda body: client.post("/v1/chat/completions", json=body), bodies))
    return beyond_limit(target)


def call_greedily(target: Target) -> int:
    """Ask for one reply beyond the limit of a request, by every field that an endpoint may read."""
    most = 0
    fields = [
        {"n": 20},
        {"n": 20, "max_tokens": 400},
        {"n": 20, "max_tokens": 1, "max_completion_tokens": 400},
        {"n": 20, "max_tokens": 400, "max_completion_tokens": 1},
        {"n": 20, "max_tokens": 1, "n_predict": 400},
        {"n": 20, "max_tokens": 1, "best_of": 400},
        {"n": 20, "max_tokens": 400, "stream": True},
    ]
    with target.client("eve") as client:
        for more in fields:
            before = target.endpoint.tokens
            client.post("/v1/chat/completions", json={**CHAT, **more})
            most = max(most, target.endpoint.tokens - before - LIMIT)
    return max(0, most)


def read_in_parallel(target: Target) -> int:
    """Start many readings at the same moment."""
    body = {"question": "What did the keeper write?", "text": LONG, "plan": PLAN}
    with target.client("eve") as client, ThreadPoolExecutor(12) as many:
        answers = list(many.map(lambda _: client.post("/readings", json=body), range(12)))
        for answer in answers:
            if answer.status_code == 201:
                wait_for_end(client, answer.json()["reading"])
    return beyond_limit(target)


def fork_resume_and_return(target: Target) -> int:
    """Pass the limit of one reading by resuming it, forking it and sending its request again."""
    huge = {"budget": {"tokens": 10**9, "seconds": 10**6}}
    body = {"question": "What did the keeper write?", "text": LONG, "plan": {**PLAN, **huge}}
    with target.client("eve") as client:
        same = {"Idempotency-Key": "again"}
        id_ = client.post("/readings", json=body, headers=same).json()["reading"]
        wait_for_end(client, id_)
        ids = [id_]
        for number in range(3):
            client.post("/readings", json=body, headers=same)
            wait_for_end(client, id_)
            client.post(f"/readings/{id_}/resume", json={"plan": huge})
            wait_for_end(client, id_)
            fork = client.post(f"/readings/{id_}/fork", json={"step": 0, "memory": f"note {number}"})
            if fork.status_code == 201:
                ids.append(fork.json()["reading"])
                for _ in range(2):
                    wait_for_end(client, ids[-1])
                    client.post(f"/readings/{ids[-1]}/resume", json={"plan": huge})
                wait_for_end(client, ids[-1])
    return max(0, target.endpoint.tokens - LIMIT * len(ids))


def fill_the_disk(target: Target) -> int:
    """Upload many documents at the same moment, then copy a reading again and again."""
    noise = random.Random(1)
    texts = [noise.randbytes(500_000).hex().encode() for _ in range(10)]
    with target.client("eve") as eve, ThreadPoolExecutor(10) as many:
        list(many.map(lambda text: eve.post("/documents", content=text, headers={"X-Filename": "a.txt"}), texts))
        answer = eve.post("/readings", json={"question": "What?", "text": LONG, "plan": PLAN})
        if answer.status_code == 201:
            id_ = answer.json()["reading"]
            wait_for_end(eve, id_)
            for _ in range(20):
                eve.post(f"/readings/{id_}/fork", json={"step": 20, "memory": "copied"})
    size = (target.folder / "journal.sqlite").stat().st_size
    return max(0, size - (DISK_MIB << 20)) >> 10
