"""The sender of a request: its key, its Idempotency-Key and the hash of its body."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from bookwheel.serve.engine.service import Caller

if TYPE_CHECKING:
    from starlette.requests import Request


async def identify_caller(request: Request) -> Caller:
    """Return the caller of a request that passed the guard."""
    return Caller(
        key=request.state.key,
        idempotency_key=request.headers.get("Idempotency-Key"),
        fingerprint=hashlib.sha256(await request.body()).hexdigest(),
    )
