"""The wheel as people install it: into an empty environment, with one extra at a time. Run by `make test-dist`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WHEEL = os.environ.get("WHEEL", "")
QUESTION = "How many barrels did the customs men count?"

# What an extra makes possible, as a program of somebody who installed it: no newest version of its packages breaks it.
USES = {
    "parquet": """
from pathlib import Path
import pyarrow
from pyarrow import parquet
from bookwheel.lab.tasks.data_dir import read_records
parquet.write_table(pyarrow.Table.from_pylist([{"who": "Ada"}]), "a.parquet")
assert [row for *_, row in read_records(Path("a.parquet"))] == [{"who": "Ada"}]
""",
    "published": """
from bookwheel.lab.scoring.benchmarks import rouge_lsum, rouge_zh
from bookwheel.lab.scoring.published import rouge_l
assert min(score("灯塔 a b", ["灯塔 a b"]).score for score in (rouge_l, rouge_zh)) > 0.99
assert rouge_lsum("a b", ["a b"]).score == 1
""",
    "anthropic": """
from bookwheel.integrations.anthropic import memory_tool
tool = memory_tool("agent", about="the harbour", model="scripted")
tool.call({"command": "create", "path": "/memories/a.txt", "file_text": "sixty-four barrels"})
assert "sixty-four" in tool.call({"command": "view", "path": "/memories/a.txt"})
""",
    "langchain": """
from langchain_core.documents import Document
from bookwheel.integrations.langchain import reading_runnable
text = [Document("Sixty-four barrels.")]
reading = reading_runnable(model="scripted").invoke({"source": text, "question": "How many barrels?"})
assert reading.status == "answered"
""",
    "llamaindex": """
from bookwheel.integrations.llamaindex import ReadingSynthesizer
assert ReadingSynthesizer(model="scripted").get_response("How many barrels?", ["Sixty-four barrels. " * 9])
""",
    "inspect": """
from inspect_ai import eval
from bookwheel.lab.evaluation.inspect_task import reading
(log,) = eval(reading(task="niah_single_1", tokens=512, count=1), model="mockllm/model", display="none", log_dir="logs")
assert log.status == "success", log.error
""",
    "tensorboard": "from tensorboard.backend.event_processing.event_accumulator import EventAccumulator",
    "wandb": """
from pathlib import Path
from bookwheel.lab.commands.training_view import open_tracker
with open_tracker("wandb", Path.cwd(), {}) as log:
    log({"kind": "step", "step": 1, "loss": 0.5, "clock": {"seconds": 1.0}})
""",
    "trackio": """
from pathlib import Path
from bookwheel.lab.commands.training_view import open_tracker
with open_tracker("trackio", Path.cwd(), {}) as log:
    log({"kind": "step", "step": 1, "loss": 0.5, "clock": {"seconds": 1.0}})
""",
    "ray": "import ray.data, bookwheel.cli.batch",
    "train": """
from dataclasses import replace
from pathlib import Path
from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.launch import build_trainer
config = TrainConfig.load("tiny-cpu")
config = replace(config, steps=1, warm_start=replace(config.warm_start, steps=2))
build_trainer(replace(config, evaluation=replace(config.evaluation, samples=4)), Path("run")).train()
assert Path("run", "metrics.jsonl").exists()
""",
    "qlora": "import bitsandbytes, bookwheel.lab.training.loading",
    "verifiers": "from bookwheel.lab.verifiers import ReadingEnvironment",
    "verl": "import verl, bookwheel.lab.training.verl.launch",
}

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not WHEEL, reason="run by `make test-dist`, which builds the wheel")]


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the locked versions, without the hashes that pip would want of the wheel too."""
    lock = (ROOT / "requirements" / "tools.txt").read_text()
    file = tmp_path_factory.mktemp("lock") / "versions.txt"
    file.write_text("\n".join(re.findall(r"^[\w.\[\]-]+==\S+(?: ;[^\\\n]+)?", lock, re.MULTILINE)))
    return file


class Installed:
    """An environment with the wheel and nothing of the checkout."""

    def __init__(self, folder: Path, versions: Path | None, extra: str) -> None:
        self.folder = folder
        self.python = folder / "env" / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True)
        wheel = f"{Path(WHEEL).resolve()}[{extra}]" if extra else str(Path(WHEEL).resolve())
        self.install(wheel, *(["-c", str(versions)] if versions else []))

    def install(self, *words: str) -> None:
        pip = [sys.executable, "-m", "pip", "--python", str(self.python), "install", "--quiet", "--no-compile", *words]
        subprocess.run(pip, check=True, cwd=self.folder)

    def start(self, *words: str | Path, **options) -> subprocess.Popen[str]:
        """Start the installed command in a folder without a checkout."""
        environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "WHEEL"}}
        environment["BOOKWHEEL_JOURNAL"] = str(self.folder / "journal.sqlite")
        command = [str(self.python.with_name("bookwheel")), *map(str, words)]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=self.folder, env=environment, text=True, stdout=pipe, stderr=pipe, **options
        )

    def run(self, *words: str | Path, code: int = 0) -> tuple[str, str]:
        """Return what the command printed and complained of."""
        with self.start(*words) as process:
            said, complaint = process.communicate(timeout=300)
        assert process.returncode == code, complaint
        return said, complaint

    def ask(self, source: Path, model: str = "scripted", *words: str) -> dict:
        return json.loads(self.run("ask", source, QUESTION, "--model", model, "--json", "--quiet", *words)[0])


@pytest.fixture
def install(tmp_path: Path, versions: Path):
    return lambda extra="": Installed(tmp_path, versions, extra)


def test_without_an_extra_it_reads_text_takes_plug_ins_and_says_what_is_missing(install) -> None:
    installed = install()
    assert installed.ask(ROOT / "examples" / "lighthouse.md")["status"] == "answered"
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", installed.folder]
    subprocess.run(build, check=True, cwd=ROOT / "examples" / "plugins" / "ways", capture_output=True)
    installed.install("--no-deps", *map(str, installed.folder.glob("*.whl")))
    assert installed.ask(ROOT / "examples" / "lighthouse.md", "scripted", "--way", "until-done")["way"] == "until-done"
    _, complaint = installed.run("serve", code=2)
    assert f"-m pip install {Path(WHEEL).resolve()}[serve]" in complaint.replace("'", "").replace("\n", " ")


def test_with_documents_it_reads_a_pdf(install, tmp_path: Path) -> None:
    from reportlab.pdfgen.canvas import Canvas

    page = Canvas(str(tmp_path / "a.pdf"))
    page.drawString(72, 700, "The customs men count sixty-four barrels.")
    page.save()
    reading = install("documents").ask(tmp_path / "a.pdf", "scripted", "--way", "sequential")
    assert "sixty-four" in reading["steps"][0]["memory"]


@pytest.mark.weights
def test_with_local_it_answers_by_the_built_in_model(install) -> None:
    reading = install("local").ask(ROOT / "examples" / "lighthouse.md", "local")
    assert "sixty-four" in (reading["answer"] + reading.get("passage", "")).lower()


def test_with_serve_it_serves(install) -> None:
    installed = install("serve")
    with installed.start("serve", "--model", "scripted", "--port", "0", "--no-token") as process:
        address = ""
        while not address:
            line = process.stderr.readline()
            assert line, "the server ended"
            address = next(iter(re.findall(r"http://[\w.:]+", line)), "")
        with urllib.request.urlopen(f"{address}/healthz", timeout=60) as answer:
            assert answer.status == 200
        with urllib.request.urlopen(address, timeout=60) as page:
            assert b"<title>" in page.read()
        process.terminate()


def test_with_mcp_it_lists_its_tools(install) -> None:
    client = install("mcp")
    script = client.folder / "client.py"
    script.write_text(
        "import asyncio, sys\n"
        "from mcp import Client, StdioServerParameters\n"
        "from mcp.client.stdio import stdio_client\n"
        "async def main():\n"
        "    server = StdioServerParameters(command=sys.argv[1], args=['mcp', '--model', 'scripted'])\n"
        "    async with Client(stdio_client(server)) as client:\n"
        "        print(len((await client.list_tools()).tools))\n"
        "asyncio.run(main())\n"
    )
    command = [client.python, script, client.python.with_name("bookwheel")]
    listed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=client.folder, timeout=300)
    assert int(listed.stdout) > 3


def test_with_pictures_it_reads_a_picture(install, tmp_path: Path) -> None:
    from PIL import Image, ImageDraw

    page = Image.new("RGB", (900, 120), "white")
    ImageDraw.Draw(page).text((20, 30), "The customs men count sixty-four barrels.", fill="black", font_size=36)
    page.save(tmp_path / "a.png")
    reading = install("pictures").ask(tmp_path / "a.png", "scripted", "--way", "sequential")
    assert "barrels" in reading["steps"][0]["memory"]


@pytest.mark.long
@pytest.mark.parametrize("extra", USES)
def test_with_the_newest_of_an_extra_its_use_works(tmp_path: Path, extra: str) -> None:
    installed = Installed(tmp_path, None, extra)
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "WHEEL"}}
    environment |= {"BOOKWHEEL_JOURNAL": str(tmp_path / "journal.sqlite"), "WANDB_MODE": "offline"}
    command = [installed.python, "-c", USES[extra]]
    pipes = {"capture_output": True, "text": True}
    used = subprocess.run(command, cwd=tmp_path, env=environment, timeout=600, check=False, **pipes)
    assert used.returncode == 0, used.stderr
