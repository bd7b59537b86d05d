"""Load strange weights in a child process first: where a file is damaged, llama.cpp may end its process.

Our own weights need no proof. A file that was proven once needs none until it changes: its size, its time and the hash
of its header and of blocks of the rest are kept in the cache.

    python -m bookwheel.models.proof WEIGHTS [ADAPTER]       what the child does
"""

from __future__ import annotations

import asyncio
import hashlib
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from bookwheel.environment import Environment
from bookwheel.errors import MissingExtra, NoWeights
from bookwheel.models.weights import SMOLLM2
from bookwheel.plan import Sampling

_HEADER: Final = 1 << 20
# Blocks of the rest that are hashed too: whole files of many gigabytes would take longer than the proof.
_SAMPLES: Final = 64
_SAMPLE: Final = 1 << 16
_SECONDS: Final = 900.0
_WINDOW: Final = 256
_REFUSED: Final = 3


def prove_weights(weights: Path, adapter: Path | None, environment: Environment) -> None:
    """Raise NoWeights if a child process cannot load the file and write one token with it."""
    if adapter is None and weights == environment.cache / SMOLLM2.cached_file:
        return
    proof = environment.cache / "proven" / _fingerprint(weights, adapter)
    if proof.exists():
        return
    words = [sys.executable, "-P", "-m", __name__, str(weights), *([str(adapter)] if adapter else [])]
    try:
        status = subprocess.run(  # noqa: S603 - this very program
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        ).returncode
    except subprocess.TimeoutExpired:
        raise NoWeights(f"llama.cpp did not load {weights} within {_SECONDS:g} seconds: name a smaller file") from None
    # Where llama.cpp says no, or is not there at all, it says so here again, in words.
    if status == _REFUSED:
        return
    if status:
        what = f"{weights} with the adapter {adapter}" if adapter else str(weights)
        raise NoWeights(
            f"llama.cpp breaks when it loads {what}: the file is damaged, needs more memory than there is, or is of a "
            f"kind that it does not know. Get it again, or name another .gguf file."
        )
    with suppress(OSError):  # a cache that cannot be written costs a second load the next time
        proof.parent.mkdir(parents=True, exist_ok=True)
        proof.touch()


def _fingerprint(*paths: Path | None) -> str:
    """Return a name for the files as they are now."""
    digest = hashlib.sha256()
    for path in filter(None, paths):
        found = path.stat()
        with path.open("rb") as file:
            digest.update(file.read(_HEADER))
            # The last one ends where the file ends.
            last = max(0, found.st_size - _SAMPLE)
            for at in sorted({last * number // (_SAMPLES - 1) for number in range(_SAMPLES)}):
                file.seek(at)
                digest.update(file.read(_SAMPLE))
        digest.update(f"\n{path.resolve()} {found.st_size} {found.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:32]


async def _load_once(weights: Path, adapter: Path | None) -> None:
    from bookwheel.models.engine import Engine

    engine = Engine.start(weights, threads=1, slots=1, window=_WINDOW, adapter=adapter)
    await engine.complete(engine.tokenize("a", first=True), limit=1, sampling=Sampling())
    await engine.aclose()


def _main() -> int:
    weights, *adapters = map(Path, sys.argv[1:])
    try:
        asyncio.run(_load_once(weights, adapters[0] if adapters else None))
    except (MissingExtra, NoWeights):
        return _REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(_main())
