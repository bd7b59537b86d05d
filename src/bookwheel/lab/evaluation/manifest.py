"""The manifest of a run: what its numbers were made with, so that another can be told from it or made like it.

Hashes of data, tokenizer and code; commit, Python, system, processor or GPU; each model with its revision and server.
Hashes of samples and prompts, tokens, seconds and money come from the records, when the report is written.
"""

import hashlib
import os
import platform
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import bookwheel
from bookwheel.lab.evaluation.records import Record, group_by
from bookwheel.lab.evaluation.settings import Evaluation, ModelSpec, fingerprint
from bookwheel.lab.evaluation.work import ModelUnderTest
from bookwheel.lab.tasks.published import SPECS, describe_spec
from bookwheel.models.base import Model
from bookwheel.models.weights import hash_file
from bookwheel.text.tokens import Tokenizer

# Other versions of these can change an answer or a count.
_PACKAGES: Final = (
    *("bookwheel", "openai", "tokenizers", "xllamacpp", "torch", "transformers"),
    *("nltk", "jieba", "rouge-score", "python-dateutil"),
)
_SECONDS: Final = 3.0
# Where servers say what they are.
_VERSIONS: Final = ("/version", "/api/version", "/props", "/get_server_info")
_PROBES: Final = (
    "The wheel turns 4,096 times.",
    "naïve façade",
    "四百零二艘船",
    "def f(x):\n\treturn x",
    " \n\n  ",
    "🙂 ½ €",
)


def build_manifest(
    evaluation: Evaluation, candidates: Sequence[ModelUnderTest], judge: Model | None = None
) -> dict[str, Any]:
    """Return the manifest of a run that is about to begin."""
    specs = {spec.display_name: spec for spec in evaluation.models}
    return {
        "code": _describe_code(),
        "machine": _describe_machine(),
        "packages": {name: found for name in _PACKAGES if (found := _find_version(name))},
        "data": _describe_data(evaluation),
        "models": {one.label: _describe_model(specs[one.label], one.model) for one in candidates},
        **({"judge": _describe_model(evaluation.judge, judge)} if judge and evaluation.judge else {}),
        **({"published": fingerprint([describe_spec(spec) for spec in SPECS])} if evaluation.as_published else {}),
    }


def _find_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


@cache
def _describe_code() -> dict[str, str]:
    """Return the hash of the package's files, and the commit where they stand in a repository."""
    root = Path(bookwheel.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    found = {"sha256": digest.hexdigest()[:16]}
    if (root.parent.parent / ".git").exists():
        commit = _run("git", "-C", str(root), "rev-parse", "HEAD")
        changed = _run("git", "-C", str(root), "status", "--porcelain", "--untracked-files=no", ".")
        found |= {"commit": f"{commit[:12]}{', with changes' if changed else ''}"} if commit else {}
    return found


def _run(*command: str) -> str:
    program = shutil.which(command[0])
    if program is None:
        return ""
    with suppress(OSError, subprocess.SubprocessError):
        given = [program, *command[1:]]
        done = subprocess.run(given, capture_output=True, text=True, timeout=_SECONDS, check=False)  # noqa: S603
        return done.stdout.strip() if done.returncode == 0 else ""
    return ""


@cache
def _describe_machine() -> dict[str, str]:
    processor = platform.processor() or platform.machine()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), processor)
    gpus = _run("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": platform.platform(),
        "processor": f"{processor}, {os.cpu_count()} cores",
        **({"gpu": "; ".join(gpus.splitlines())} if gpus else {}),
    }


def _describe_data(evaluation: Evaluation) -> dict[str, str]:
    """Return the hashes of files of samples and of questions; of a folder the names and sizes of its files."""
    found = {path: _hash_file(Path(path)) for path in evaluation.samples}
    # The tokenizer that lengths were counted by, where it is not a model's own.
    if evaluation.tokenizer and Path(evaluation.tokenizer).is_file():
        found[evaluation.tokenizer] = _hash_file(Path(evaluation.tokenizer))
    if evaluation.data:
        path = Path(evaluation.data)
        if path.is_dir():
            names = sorted((str(one.relative_to(path)), one.stat().st_size) for one in path.rglob("*") if one.is_file())
            found[evaluation.data] = f"{len(names)} files, names and sizes {fingerprint(names)}"
        elif path.is_file():
            found[evaluation.data] = _hash_file(path)
    return found


def _hash_file(path: Path) -> str:
    try:
        return hash_file(path)
    except OSError:
        return "cannot be read"


def _describe_model(spec: ModelSpec, model: Model) -> dict[str, str]:
    found = {"name": model.name, "tokenizer": _describe_tokenizer(model.tokenizer), "window": str(model.window)}
    path = Path(spec.name)
    if path.is_file():
        found["revision"] = _hash_file(path)
    if spec.base_url:
        found["server"] = spec.base_url
        found["server version"] = _ask_version(spec.base_url)
    return found


def _describe_tokenizer(tokenizer: Tokenizer) -> str:
    """Return its name, and a hash of how it counts some texts: two that count alike have the same."""
    return f"{tokenizer.name}, counts {fingerprint([tokenizer.count(text) for text in _PROBES])}"


def _ask_version(base_url: str) -> str:
    """Return what a server says of itself; servers that say nothing are named so."""
    import httpx2

    root = base_url.rstrip("/").removesuffix("/v1")
    for place in _VERSIONS:
        with suppress(httpx2.HTTPError, ValueError):
            answer = httpx2.get(f"{root}{place}", timeout=_SECONDS)
            if answer.status_code == httpx2.codes.OK:
                said = answer.json()
                known = [said.get(name) for name in ("version", "build_info") if isinstance(said, dict)]
                text = next(filter(None, known), None)
                if text:
                    return str(text)[:100]
    return "it does not say"


def summarize_use(records: Iterable[Record]) -> dict[str, dict[str, Any]]:
    """Return for each model what its readings used, and the hash of the samples that it read."""
    return {
        model: {
            "samples": len(own),
            "samples sha256": fingerprint(sorted({one.content for one in own})),
            "calls": sum(one.calls for one in own),
            "prompt tokens": sum(one.prompt_tokens for one in own),
            "reply tokens": sum(one.completion_tokens for one in own),
            "seconds": round(sum(one.seconds for one in own), 1),
            # Without prices it is unknown, and not nothing.
            "cost": round(sum(one.cost for one in own), 6) or None,
        }
        for model, own in group_by(records, lambda one: one.model).items()
    }
