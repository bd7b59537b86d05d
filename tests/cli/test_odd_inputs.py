"""Full disks and files that are none, as a user meets them: a true sentence and the exit code of bad input."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from bookwheel.documents.opening import open_document

# In a mount name space of its own, "full" is a file system of 64 KiB with room for next to nothing.
FULL = 'mount -t tmpfs -o size=64k none full && head -c 61440 /dev/zero > full/filler && exec "$@"'


def can_mount() -> bool:
    """Tell if this system lets a user mount file systems in a name space of his own."""
    try:
        command = ["unshare", "-rm", "sh", "-c", "mount -t tmpfs none /mnt"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not can_mount(), reason="needs a mount of its own")
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("-",), "cannot be stored in"),
        (("page.html",), "page.html cannot be converted: No space left on device"),
        (("book.txt", "--journal", "full/j.db"), "cannot open the journal full/j.db"),
    ],
)
def test_a_full_disk_is_a_sentence(tmp_path: Path, words: tuple[str, ...], sentence: str) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "book.txt").write_text("The mill was built by Odo Farr.")
    (tmp_path / "page.html").write_text(f"<html><body><p>{'The mill was built by Odo Farr. ' * 3000}</p></body></html>")
    full = {name: str(tmp_path / "full") for name in ("TMPDIR", "XDG_CACHE_HOME")}
    ask = [sys.executable, "-m", "bookwheel", "ask", words[0], "Who?", "--model", "scripted", *words[1:]]
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", FULL, "sh", *ask],
        cwd=tmp_path,
        env=os.environ | full | {"BOOKWHEEL_JOURNAL": str(tmp_path / "j.db")},
        input="gulls " * 100_000,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
    assert sentence in done.stderr


def test_zeros_are_neither_weights_nor_a_text(tmp_path: Path, book: Path, run) -> None:
    zeros = tmp_path / "zeros.gguf"
    zeros.write_bytes(bytes(1 << 20))
    weights = run("ask", book, "Who?", "--model", zeros)
    assert (weights.code, "zeros.gguf is not a GGUF file" in weights.err) == (3, True)
    text = run("ask", zeros, "Who?", "--model", "scripted")
    assert (text.code, "looks like binary data" in text.err) == (2, True)


@pytest.mark.slow
def test_a_page_of_72_megabytes_is_read(tmp_path: Path) -> None:
    stream = zlib.compress(b"BT /F 12 Tf 72 700 Td (Odo Farr) Tj ET " + b" " * (72 << 20), 9)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>",
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    body, places = bytearray(b"%PDF-1.4\n"), []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    body += b"xref\n0 6\n0000000000 65535 f \n%strailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (
        table,
        len(body),
    )
    (path := tmp_path / "stream.pdf").write_bytes(bytes(body))
    assert "".join(part.text for part in open_document([path]).parts()).strip() == "Odo Farr"


def test_a_long_question_about_piped_text_is_no_path(run, book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Ada Quill is the harbour master."), encoding="utf-8")
    )
    ran = run("ask", "Who is the harbour master of Skarholm? " * 20, "--model", "scripted", "--json")
    assert ran.code == 0
    assert ran.json["document"]["name"] == "standard input"


def test_a_long_text_in_place_of_a_path_is_a_short_error(run, book: Path, question: str) -> None:
    ran = run("ask", "Ada Quill is the harbour master. " * 300, question, "--model", "scripted")
    assert ran.code == 2
    assert "pipe it to the command" in ran.err
    assert len(ran.err) < 250
