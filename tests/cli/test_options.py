"""Options and input that cannot be used: exit code 2, and a message that names what is wrong."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from bookwheel.documents.opening import open_document


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["ask"], "what to read"),
        (["ask", "{book}", ""], "question is empty"),
        (["ask", "{book}", "why " * 2000], "2000 tokens"),
        (["ask", "{dir}/none.txt", "{question}"], "does not exist"),
        (["ask", "{dir}/empty.txt", "{question}"], "no text"),
        (["ask", "{dir}/blank", "{question}"], "no text"),
        (["ask", "{dir}/picture.png", "{question}"], "picture.png"),
        (["ask", "{dir}/locked.txt", "{question}"], "may not be read"),
        (["ask", "{book}", "{question}", "--chunk-tokens", "0"], "--chunk-tokens"),
        (["ask", "{book}", "{question}", "--layout", "sideways"], "--layout"),
        (["ask", "{book}", "{question}", "--lang", "xx"], "standard.en"),
        (["ask", "{book}", "{question}", "--prompts", "{dir}/none.toml"], "cannot be read"),
        (["ask", "{book}", "{question}", "--preset", "none"], "paper-7b"),
        (["ask", "{book}", "{question}", "--way", "sequental"], "sequential"),
        (["ask", "{book}", "{question}", "--max-tokens-total", "0"], "--max-tokens-total"),
        (["ask", "{book}", "{question}", "--max-cost", "1"], "price"),
        (["ask", "{book}", "{question}", "--chunk-tokns", "9"], "chunk-tokens"),
        (["ask", "", "{question}"], "SOURCE is empty"),
        (["ask", "{question}", "{dir}"], "comes last"),
        (["ask", "{dir}/my notes.txt", "{dir}"], "does not exist"),
        (["ask", "{book}", "{question}", "--model", ""], "--model"),
        (["ask", "{book}", "{question}", "--preset", ""], "--preset"),
        (["ask", "{book}", "{question}", "--prompts", ""], "--prompts"),
        (["ask", "{book}", "{question}", "--lang", ""], "--lang"),
        (["ask", "{book}", "{question}", "--journal", ""], "--journal"),
        (["ask", "{book}", "{question}", "--tokenizer", ""], "--tokenizer"),
        (["ask", "{book}", "{question}", "--base-url", "nonsense", "--model", "m"], "base URL 'nonsense'"),
        (["ask", "{book}", "{question}", "--memory-tokens", "7"], "--memory-tokens"),
        (["ask", "{book}", "{question}", "--answer-tokens", "-1"], "--answer-tokens"),
        (["ask", "{book}", "{question}", "--question-tokens", "many"], "--question-tokens"),
        (["ask", "{book}", "{question}", "--temperature", "hot"], "--temperature"),
        (["ask", "{book}", "{question}", "--temperature", "-0.1"], "--temperature"),
        (["ask", "{book}", "{question}", "--temperature", "nan"], "--temperature"),
        (["ask", "{book}", "{question}", "--top-p", "1.1"], "--top-p"),
        (["ask", "{book}", "{question}", "--seed", "1.5"], "--seed"),
        (["ask", "{book}", "{question}", "--max-seconds", "inf"], "--max-seconds"),
        (["ask", "{book}", "{question}", "--max-cost", "-1"], "--max-cost"),
        (["ask", "{book}", "{question}", "--price-in", "-1"], "--price-in"),
        (["ask", "{book}", "{question}", "--window", "0"], "--window"),
        (["ask", "{book}", "{question}", "--timeout", "0"], "--timeout"),
        (["ask", "{book}", "{question}", "--concurrency", "0"], "--concurrency"),
        (["ask", "{book}", "{question}", "--threads", "-2"], "--threads"),
        (["list", "--limit", "0"], "--limit"),
        (["show", "last", "--html", ""], "--html"),
        (["edit", "last", "--step", "x", "--memory", "m"], "--step"),
        (["edit", "last", "--step", "0", "--memory-file", ""], "--memory-file"),
        (["serve", "--port", "65536"], "--port"),
        (["serve", "--readings", "0"], "--readings"),
        (["serve", "--host", ""], "--host"),
        (["serve", "--key-file", ""], "--key-file"),
        (["mcp", "--port", "-1"], "--port"),
        (["mcp", "--root", ""], "--root"),
        (["models", "--timeout", "0"], "--timeout"),
        (["resume", "nothing"], "no reading"),
        (["show", "nothing"], "no reading"),
        (["edit", "nothing", "--step", "0", "--memory", "x"], "no reading"),
        (["read", "{book}"], "read"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
@pytest.mark.slow
def test_bad_input_is_told_on_stderr_with_code_2(run, book: Path, question: str, words: list[str], says: str) -> None:
    folder = book.parent
    (folder / "empty.txt").touch()
    (folder / "blank").mkdir()
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20)
    locked = folder / "locked.txt"
    locked.write_text("secret")
    locked.chmod(0)
    if "{dir}/locked.txt" in words and os.access(locked, os.R_OK):
        pytest.skip("this user may read everything")
    words = [word.format(book=book, dir=folder, question=question) for word in words]
    ran = run(*words, *(["--model", "scripted"] if words[0] == "ask" and "--model" not in words else []))
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
    assert "Traceback" not in ran.err


def test_an_error_in_json_mode_is_one_object_too(run, book: Path, question) -> None:
    ran = run("ask", book.parent / "none.txt", question, "--model", "scripted", "--json")
    assert ran.code == 2
    assert set(ran.json) == {"error", "kind"}
    assert run("ask", book, question, "--json", "--chunk-tokns", "3").json["kind"]


def test_a_journal_that_cannot_be_written_says_what_to_do(book: Path, ask) -> None:
    ran = ask("--journal", "/proc/none/journal.sqlite")
    assert ran.code == 2
    assert "--journal" in ran.err


def test_a_read_only_home_says_what_to_do(book: Path, monkeypatch: pytest.MonkeyPatch, ask) -> None:
    monkeypatch.delenv("BOOKWHEEL_JOURNAL")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", "/proc/self")
    ran = ask()
    assert ran.code == 2
    assert "--journal" in ran.err


def test_a_journal_of_a_newer_schema_is_left_alone(run, book: Path, ask) -> None:
    import sqlite3

    ask()
    path = Path(os.environ["BOOKWHEEL_JOURNAL"])
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()
    ran = run("list")
    assert ran.code == 2
    assert "999" in ran.err


def test_an_option_says_what_stands_under_the_plans_field(run, monkeypatch: pytest.MonkeyPatch) -> None:
    from bookwheel.plan import describe_setting

    monkeypatch.setenv("COLUMNS", "400")
    text = run("ask", "--help").out
    for name in ("chunk_tokens", "lang", "temperature", "max_seconds", "price_in", "gate_threshold"):
        about = describe_setting(name).about
        assert about
        line = next(line for line in text.splitlines() if f"--{name.replace('_', '-')} " in line)
        assert about.replace("`", "") in line.replace("`", "")


def test_words_of_the_users_own_may_begin_with_a_dash(run, book: Path, ask) -> None:
    ask()
    ran = run("edit", "last", "--step", "0", "--memory", "- Ada Quill", "--json")
    assert ran.code == 0
    assert ran.json["steps"][0]["memory"] == "- Ada Quill"


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
