"""Marks, hypothesis profiles and what a run leaves out; a folder of runs for what shows them."""

import asyncio
import json
import os
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, settings

from bookwheel.journal import Journal, files
from bookwheel.lab.evaluation.run import RunOptions, evaluate
from bookwheel.lab.evaluation.settings import Evaluation, ModelSpec
from bookwheel.lab.tasks.base import Sample, SampleDocument
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Plan
from bookwheel.reading import runner
from bookwheel.reading.ways.registry import load_way

PLAN = {"question_tokens": 60, "chunk_tokens": 120, "memory_tokens": 60, "answer_tokens": 60}
EVIL = "<img src=x onerror=alert(1)>"
LEFT_OUT = pytest.StashKey[Counter[str]]()
UNREAD = pytest.StashKey[dict[str, set[Path]]]()

# Neither time limits nor new examples: a test passes or fails the same way on every machine.
STEADY = {"deadline": None, "derandomize": True, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("quick", max_examples=40, **STEADY)
settings.register_profile("full", max_examples=250, **STEADY)
settings.load_profile("quick")


class CommandResult(NamedTuple):
    """The end of a command, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict:
        return json.loads(self.out)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., CommandResult]:
    """Run a command in this process to its end."""
    from bookwheel.cli.main import main

    def call(*words: object) -> CommandResult:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        output = capsys.readouterr()
        return CommandResult(int(ended.value.code or 0), output.out, output.err)

    return call


# A test that names no journal finds neither the user's nor that of another version.
HOME = tempfile.TemporaryDirectory(prefix="bookwheel-tests-")
os.environ["XDG_DATA_HOME"] = HOME.name


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEFT_OUT], config.stash[UNREAD] = Counter(), defaultdict(set)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave files unread of which no test is wanted: importing PyTorch or LangChain takes seconds."""
    unwanted = _unwanted(config)
    if "torch" in unwanted and _needs_torch(collection_path):
        kind = "files with PyTorch"
    elif "slow" in unwanted and _is_slow(collection_path):
        kind = "slow files"
    else:
        return None
    config.stash[UNREAD][kind].add(collection_path)
    config.stash[LEFT_OUT][kind] = len(config.stash[UNREAD][kind])
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "chromium" in item.fixturenames:
            item.add_marker("browser")
        if _needs_torch(item.path):
            item.add_marker("torch")


def pytest_deselected(items: list[pytest.Item]) -> None:
    for item in items:
        for mark in _unwanted(item.config):
            if item.get_closest_marker(mark):
                item.config.stash[LEFT_OUT][mark] += 1
                break


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = dict(session.config.stash[LEFT_OUT])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error: object) -> None:
    # Each worker of pytest-xdist collects the whole suite, so each has the same counts.
    node.config.stash[LEFT_OUT] |= Counter(getattr(node, "workeroutput", {}).get("left_out", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if left_out := config.stash[LEFT_OUT]:
        counts = ", ".join(f"{count} {name}" for name, count in sorted(left_out.items()))
        terminalreporter.write_line(f"left out: {counts}; make test-all runs them")


def _unwanted(config: pytest.Config) -> list[str]:
    """Return the marks that the -m expression names after a `not`."""
    _, _, refused = config.option.markexpr.partition("not ")
    return [mark for mark in ("browser", "long", "slow", "torch") if mark in refused]


@cache
def _needs_torch(path: Path) -> bool:
    return path.suffix == ".py" and path.name != "conftest.py" and 'importorskip("torch")' in path.read_text("utf-8")


@cache
def _is_slow(path: Path) -> bool:
    return path.suffix == ".py" and "\npytestmark = pytest.mark.slow\n" in path.read_text("utf-8")


@pytest.fixture
def register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Write a package that registers an entry point, and put it on the path."""

    def write(package: str, group: str, entry: str, code: str) -> None:
        (tmp_path / f"{package}.py").write_text(code, encoding="utf-8")
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(f"[{group}]\n{entry}\n", encoding="utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))

    return write


@pytest.fixture(autouse=True, scope="session")
def _no_waits_for_the_disk() -> Iterator[None]:
    """Let SQLite go on before the disk has what it writes: nobody cuts the power, and tests commit all the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "SYNCHRONOUS", "OFF")
        yield


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a reading try again at once what failed for a passing reason."""
    monkeypatch.setattr("bookwheel.models.patience._choose_wait", lambda _state: 0.001)


@pytest.fixture(scope="session")
def made_runs(tmp_path_factory) -> Path:
    """Runs to look at: `first` is an evaluation, `deep/tiny` a training run."""
    root = tmp_path_factory.mktemp("made") / "runs"
    asyncio.run(_evaluated(root / "first"))
    asyncio.run(_trained(root / "deep" / "tiny"))
    return root


@pytest.fixture
def runs(made_runs, tmp_path) -> Path:
    """The same in a folder of the test's own."""
    return shutil.copytree(made_runs, tmp_path / "runs")


async def _evaluated(folder: Path) -> None:
    settings = Evaluation(
        tasks=("wheels", "missing"),
        lengths=(150, 600),
        ways=("sequential", "whole"),
        models=(ModelSpec(name="scripted", window=520),),
        count=3,
        plan=PLAN,
    )

    async def opened(_reader: ModelSpec) -> ScriptedModel:
        return ScriptedModel(keyword_reader)

    with Journal(folder / "journal.sqlite") as journal:
        options = RunOptions(command="bookwheel eval wheels.toml", journal=journal)
        await evaluate(settings, folder / "results.jsonl", opened, source=_samples, options=options)


def _samples(task: str, length: int) -> Iterator[Sample]:
    """A wheel's colour in filler; of `missing`, the gold is another colour, so every answer is wrong."""
    number = 0
    while True:
        lines = [f"Page {n} tells of harvests, tolls and rain in plain words.\n" for n in range(length // 11)]
        lines.insert(number, f"The colour of wheel {number + 100} is vermilion{number}.\n")
        yield Sample(
            id=f"{task}-{length}-{number}",
            task=task,
            question=f"What is the colour of wheel {number + 100}? {EVIL}",
            golds=(f"vermilion{number}" if task == "wheels" else "azure",),
            document=SampleDocument(f"{task}-{number}", lines),
            metric="contains",
            length=length,
            tokens=length,
        )
        number += 1


async def _trained(folder: Path) -> None:
    settings = {"train": {"steps": 6, "samples": 2, "group_size": 2, "seed": 5}, "plan": {"chunk_tokens": 120}}
    newest = folder / "checkpoints" / "step-000004"
    newest.mkdir(parents=True)
    (newest / "progress.json").write_text(json.dumps({"progress": {"step": 4}, "settings": settings}))
    _written(folder / "metrics.jsonl", _records())
    model, lines = ScriptedModel(keyword_reader, plan=Plan(**PLAN)), []
    with Journal(folder / "rollouts.sqlite") as journal:
        for number, advantage in enumerate((0.5, -0.5)):
            sample = next(_samples("wheels", 600))
            document = journal.keep(sample.document)
            reading = runner.new_reading(document.info, sample.question, model, model.plan)
            journal.begin(reading)
            ended = await runner.run_reading(reading, document, model, way=load_way("sequential"), journal=journal)
            told = {"reward": number + 0.25, "parts": {"answer": 0.25}, "advantage": advantage, "outcome": "scored"}
            lines.append({"step": 2, "reading": ended.id, "rollout": f"r{number}", "sample": sample.id, **told})
    _written(folder / "rollouts.jsonl", lines)


def _records() -> Iterator[dict]:
    clock = {"clock": {"seconds": 1.5, "at": 0.0}}
    for step in (1, 2):
        yield {
            "kind": "warm",
            "step": step,
            "loss": 4.0 / step,
            "entropy": 3.0,
            "gradient": 9.0,
            "tokens": 9.0,
            **clock,
        }
    yield {"kind": "evaluation", "step": 2, "accuracy": 0.25, "n": 64, "failed": 1, **clock}
    for step in (3, 4):
        told = {"reward": 0.1 * step, "accuracy": 0.1 * step, "rollouts": 4, "failed": 0, "groups": 2, "dropped": 0}
        spent = {"prompt_tokens": 100, "reply_tokens": 10, "loss": 0.1, "entropy": 0.5, "gradient": 1.0, "kl": 0.0}
        yield {"kind": "step", "step": step, **told, **spent, "clipped": 0.01 * step, **clock}
    yield {"kind": "evaluation", "step": 4, "accuracy": 0.5, "n": 64, "failed": 0, **clock}


def _written(path: Path, lines) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
