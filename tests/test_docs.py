"""Every code block of the README and the docs runs, in order, in a folder with the files that they speak of."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
RUN = {"sh", "python"}
SEEN_ONLY = {"text", "toml", "console", "json", "sql", "mermaid"}
LEASE = (
    "This lease is made between Ada Quill and the harbour board of Skarholm. "
    "The lease ends on 31 March 2031. The rent is nine crowns a month.\n\n"
)
FILLER = "Gulls circle over the pier, and the keeper writes down the wind.\n\n" * 8


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(language, code) for language, code in BLOCK.findall(page.read_text(encoding="utf-8"))]


@pytest.fixture(scope="module")
def endpoint() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen([sys.executable, str(ROOT / "benchmarks" / "loopback.py"), str(port)])
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    yield f"localhost:{port}"
    server.kill()
    server.wait()


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    from reportlab.lib.pagesizes import A4
    from reportlab.pdfgen.canvas import Canvas

    (tmp_path / "contract.txt").write_text(FILLER + LEASE + FILLER)
    (tmp_path / "合同.txt").write_text("本合同由李明与港务局签订。租约于2031年3月31日到期。\n" * 3)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "rent.py").write_text("def rent():\n    return 9\n")
    pdf = Canvas(str(tmp_path / "contract.pdf"), pagesize=A4)
    for text in ("Gulls circle over the pier.", LEASE.strip()[:70], LEASE.strip()[70:]):
        pdf.drawString(72, 700, text)
        pdf.showPage()
    pdf.save()
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.slow
def test_code_blocks_run(page: Path, desk: Path, endpoint: str) -> None:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "BOOKWHEEL_JOURNAL": str(desk / "journal.sqlite"),
        "BOOKWHEEL_ROOT": str(ROOT),
        "EDITOR": "true",
    }
    for variable in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        environment.pop(variable, None)
    for language, code in blocks(page):
        if language not in RUN:
            continue
        text = code.replace("localhost:8000", endpoint)
        command = ["bash", "-euo", "pipefail", "-c", text] if language == "sh" else [sys.executable, "-c", text]
        done = subprocess.run(
            command, cwd=desk, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, f"{page.name}:\n{text}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"


def test_every_block_says_what_it_is() -> None:
    for page in PAGES:
        fences = re.findall(r"^```(\w*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert all(opening in RUN | SEEN_ONLY for opening in fences[::2]), page.name


def test_the_readmes_two_commands_are_run_before_anything_lands() -> None:
    commands = re.findall(r"^make \w+", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert commands[:2] == ["make ask", "make test"]
    assert all(command in (ROOT / ".ci" / "run").read_text(encoding="utf-8") for command in commands)
