"""Command lines that cannot work: each must end with an exit code and a first line that says what to do.

    python benchmarks/faults/bad_commands.py            a table of all of them, as Markdown
    python benchmarks/faults/bad_commands.py --check    only those that are wrong; exit code 1 if there are any

Wrong is a traceback, a code other than 2, 3 or 130, no message, output on stdout, a run of more than a minute, or a
message that names none of the words that were typed.
"""

from __future__ import annotations

import importlib
import os
import shlex
import signal
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from pathlib import Path

from bookwheel.cli.main import main as main_of_bookwheel

ASK = "ask book.txt Who? --model scripted"
OPTIONS = """
--chunk-tokens 0|--chunk-tokens 7|--chunk-tokens many|--chunk-tokens 1.5|--chunk-tokens -5|--chunk-tokens 99999999999
--memory-tokens 0|--memory-tokens x|--answer-tokens -1|--answer-tokens ''|--question-tokens 0|--question-tokens many
--temperature 9|--temperature hot|--temperature -0.1|--temperature nan|--temperature inf|--top-p 7|--top-p 0|--top-p x
--seed 1.5|--seed many|--layout sideways|--lang xx|--lang ''|--prompts none.toml|--prompts ''|--prompts book.txt
--preset none|--preset ''|--way sequental|--way ''|--way wholee|--max-tokens-total 0|--max-tokens-total -3
--max-tokens-total x|--max-seconds 0|--max-seconds -1|--max-seconds inf|--max-seconds soon|--max-cost -1|--max-cost 1
--max-cost x|--price-in -1|--price-out -1|--price-in cheap|--window 0|--window -8|--window wide|--timeout 0
--timeout -1|--timeout never|--concurrency 0|--concurrency -4|--concurrency many|--threads 0|--threads -2|--threads x
--journal ''|--journal /proc/none/journal.sqlite|--journal .|--journal book.txt|--tokenizer ''
--schema none.json|--schema broken.json|--schema list.json|--schema wrong.json|--schema away.json|--schema ''
--template none|--template ''|--fill a=b|--chunk-tokns 9|--no-such|-z|--model|--json=maybe
--base-url http://localhost:8000/v1
"""
LINES = """
ask
ask Who?
ask book.txt
ask book.txt ''
ask '' Who?
ask none.txt Who? --model scripted
ask empty.txt Who? --model scripted
ask blank Who? --model scripted
ask ftp://host/file Who? --model scripted
ask http://127.0.0.1:9/none Who? --model scripted
ask - - Who? --model scripted
ask last Who? --journal none.sqlite --model scripted
ask abcdef12 Who? --model scripted
ask book.txt Who? --model gpt-none
ask book.txt Who? --model none.gguf
ask book.txt Who? --model book.gguf
ask book.txt Who? --model ''
ask book.txt Who? --base-url nonsense --model m
ask book.txt Who? --base-url '' --model m
ask book.txt Who? --base-url http://127.0.0.1:9/v1 --model m --patience 0
ask book.txt Who? --base-url http:// --model m
ask book.txt Who? --model local --base-url http://127.0.0.1:9/v1
resume
resume nothing
resume last extra
resume ''
show
show nothing
show last --html ''
show last --html /proc/none/page.html
show last --markdown /proc/none/page.md
show last --html
edit
edit last
edit last --step x --memory m
edit last --step 0 --memory ''
edit last --step -1 --memory m
edit last --step 99 --memory m
edit last --step 0 --memory m --memory-file m.txt
edit last --step 0 --memory-file none.txt
edit last --step 0 --memory-file empty.txt
edit nothing --step 0 --memory m
list --limit 0
list --limit few
list --journal none.sqlite
list --search ''
list extra
serve --port 65536
serve --port x
serve --readings 0
serve --host ''
serve --host 0.0.0.0
serve --key-file none.toml
serve --key-file ''
serve --new-key anna
serve --model gpt-none
mcp --port -1
mcp --root ''
mcp --root none
models --timeout 0
models --base-url nonsense
models extra
doctor extra
data nothing
data make
data make none --out out.jsonl
data make vt
data make vt --out out.jsonl --count 0
data make vt --out out.jsonl --tokens 0
data make vt --out out.jsonl --split test
data filter none.jsonl --out out.jsonl --model scripted
eval --way wholee --task vt --model scripted
eval --task none --model scripted
eval none.toml
eval --threads 0
eval --concurrency 0
eval --length 0
eval --compare none.jsonl none.jsonl
eval --report none
train
train none
train tiny-cpu --steps -1
train tiny-cpu --threads 0
config extra
completion
completion tcsh
hlep
book.txt Who?
read book.txt
--no-such
"""
FILES = {
    "book.txt": "The harbour master of Skarholm is Ada Quill. " * 40,
    "empty.txt": "",
    "m.txt": "notes",
    "book.gguf": "not weights at all",
    "broken.json": '{"type":',
    "list.json": "[]",
    "wrong.json": '{"type": "thing"}',
    "away.json": '{"$ref": "https://example.org/schema.json"}',
}


def find_lines() -> list[str]:
    """Return all command lines."""
    options = [option for line in OPTIONS.strip().splitlines() for option in line.split("|")]
    return [*(f"{ASK} {option}" for option in options), *LINES.strip().splitlines()]


def run(line: str, folder: Path) -> tuple[int, str, str]:
    """Return exit code, output and messages of a command line in a folder with the files."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = os.fork()
        if not child:
            _run_here(line, folder, out.fileno(), err.fileno())
        code = _wait(child)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read())
    return code, texts[0], texts[1] if code >= 0 else "still running after a minute"


def _run_here(line: str, folder: Path, out: int, err: int) -> None:
    """Become the command. The package is imported already, so a fork spares the start of an interpreter."""
    os.chdir(folder)
    for name in [name for name in os.environ if name.startswith(("BOOKWHEEL_", "OPENAI_"))]:
        del os.environ[name]
    os.environ |= {"BOOKWHEEL_JOURNAL": str(folder / "kept.sqlite"), "COLUMNS": "200"}
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    sys.argv = ["bookwheel", *shlex.split(line)]
    code = 1
    try:
        main_of_bookwheel()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    except BaseException:  # noqa: BLE001 - shown as the command would show it
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(code)


def _wait(child: int) -> int:
    """Return the exit code of a process; -1 for one that a minute does not end."""
    for _ in range(600):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1


def find_fault(line: str, code: int, out: str, err: str) -> str:
    """Return what is wrong with the end of a command, or an empty text."""
    if "Traceback" in err:
        return "traceback"
    if code not in {2, 3, 130}:
        return f"exit code {code}"
    if out:
        return "output"
    if not err.startswith("error: ") and "nothing" not in err:
        return "no message"
    typed = [word for word in shlex.split(line.removeprefix(ASK)) if word.strip() and word != "scripted"]
    names = [name for word in typed for name in (word, *word.split("=", 1)) if name]
    # What is missing or empty cannot be named but by its place.
    is_named = not names or "''" in line or "standard input" in err or any(name in err for name in names)
    return "" if is_named else "does not name what was typed"


def import_commands() -> None:
    """Import what the commands import, once for all of them."""
    for name in ("ask", "history", "resume", "serve", "models", "doctor"):
        importlib.import_module(f"bookwheel.cli.{name}")
    for name in ("openai", "aiohttp", "rich.console", "bookwheel.reading.runner", "bookwheel.journal.store"):
        importlib.import_module(name)


def main() -> int:
    lines, faults = find_lines(), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "blank").mkdir()
        for file, text in FILES.items():
            (folder / file).write_text(text, encoding="utf-8")
        import_commands()
        run(f"{ASK} --chunk-tokens 100", folder)
        results = [run(line, folder) for line in lines]
    if "--check" not in sys.argv:
        print("| command | code | first line |\n|---|---|---|")
    for line, (code, out, err) in zip(lines, results, strict=True):
        fault = find_fault(line, code, out, err)
        faults += bool(fault)
        first = (err or out).strip().partition("\n")[0].replace("|", "\\|").replace(name, "/tmp/x")
        if "--check" not in sys.argv or fault:
            print(f"| `{line.replace('|', chr(92) + '|')}` | {code} | {f'**{fault}** ' if fault else ''}{first} |")
    print(f"\n{len(lines)} command lines, {faults} of them end wrong", file=sys.stderr)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
