"""Kill a program while it adds texts to a lasting memory and forgets some; count what is lost or doubled.

    python benchmarks/faults/memory_kills.py 200 1        kills, seed

A child adds texts and forgets sources, one operation after the other, and says when each is acknowledged. It is killed
at random moments and started again with the operation that it was at. In the end the memory must be that of a child
that was never killed, every acknowledged text must have been there, and no byte of the journal's files may hold a word
that was forgotten.
"""

from __future__ import annotations

import asyncio
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PIECES = 12
VERBS = 60


def main(words: list[str]) -> int:
    if words[:1] == ["child"]:
        asyncio.run(work(Path(words[1]), int(words[2]), int(words[3])))
        return 0
    kills, seed = (int(word) for word in (*words, "200", "1")[:2])
    chance = random.Random(seed)
    killed = differ = lost = found = episodes = 0
    with tempfile.TemporaryDirectory() as folder:
        while killed < kills:
            episodes += 1
            calm, hunted = Path(folder) / f"calm-{episodes}.sqlite", Path(folder) / f"hunted-{episodes}.sqlite"
            run(calm, episodes, 0, None)
            at = 0
            while at < VERBS:
                # A start takes most of a second; the operations behind it some hundredths each.
                stop = chance.uniform(0.4, 2.5) if killed < kills else None
                at, was_killed = run(hunted, episodes, at, stop)
                killed += was_killed
                lost += count_lost(hunted, episodes, at)
            differ += load(calm) != load(hunted)
            found += sum(count_words(path, episodes) for path in (calm, hunted))
            print(
                f"{killed} kills, {episodes} episodes: {differ} differ, {lost} lost, {found} forgotten words found",
                flush=True,
            )
    return int(bool(differ or lost or found))


def list_verbs(seed: int) -> list[tuple[str, str, str]]:
    """Return what is done: texts to add, each from a source, and now and then a source to forget."""
    chance = random.Random(seed)
    verbs, sources = [], []
    for number in range(VERBS):
        if sources and number % 9 == 8:
            verbs.append(("forget", sources.pop(chance.randrange(len(sources))), ""))
        else:
            source = f"mail-{number}"
            sources.append(source)
            lines = [f"key{chance.randrange(6)} = word{seed}x{number}x{line}" for line in range(PIECES)]
            verbs.append(("add", source, "\n".join(lines)))
    return verbs


def list_forgotten(seed: int, done: int = VERBS) -> set[str]:
    return {source for verb, source, _ in list_verbs(seed)[:done] if verb == "forget"}


def run(journal: Path, seed: int, at: int, stop: float | None) -> tuple[int, bool]:
    """Run a child from an operation on; return the first one that it did not acknowledge, and whether it was killed."""
    command = [sys.executable, __file__, "child", str(journal), str(seed), str(at)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        if stop is not None:
            time.sleep(stop)
            child.send_signal(signal.SIGKILL)
        said, _ = child.communicate()
    if child.returncode not in {0, -signal.SIGKILL}:
        raise SystemExit(f"the child ended with {child.returncode}")
    return at + said.count("done\n"), child.returncode != 0


async def work(journal_path: Path, seed: int, start: int) -> None:
    from bookwheel.errors import InputError
    from bookwheel.journal import Journal
    from bookwheel.memory.append import append
    from bookwheel.memory.forgetting import forget
    from bookwheel.memory.opened import begin_memory, open_memory
    from bookwheel.models.scripted import ScriptedModel
    from bookwheel.plan import Plan
    from bookwheel.session import Session

    plan = Plan(chunk_tokens=100, memory_tokens=100)
    with Journal(journal_path) as journal:
        session = Session(model=ScriptedModel(note_values, plan=plan), journal=journal)
        if not journal.memories.list_all():
            await begin_memory(session, "ada", "Everything about Ada", plan)
        opened = open_memory(session, "ada")
        for verb, source, text in list_verbs(seed)[start:]:
            if verb == "add":
                await append(opened, text, source=source, at="2026-05-01T00:00+00:00")
            else:
                try:
                    await forget(opened, source=source)
                except InputError as error:  # it was forgotten before the kill
                    if "nothing to forget" not in str(error):
                        raise
            print("done", flush=True)


def note_values(messages: list) -> str:
    """Note the newest value of each key."""
    prompt = messages[-1].content
    notes: dict[str, str] = {}
    for tag in ("memory", "section"):
        block = prompt.rpartition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
        notes |= {line.split(" = ")[0]: line for line in block.splitlines() if " = " in line}
    return "\n".join(notes[key] for key in sorted(notes)) or "UNCHANGED"


def load(path: Path) -> str:
    """Return the memory's versions and the texts that there are, without times."""
    from bookwheel.journal import Journal

    with Journal(path) as journal:
        (record,) = journal.memories.list_all()
        versions = journal.memories.list_versions(record.number, record.plan.memory_tokens)
        texts = journal.memories.list_texts(record.number)
        return json.dumps(
            [
                [[version.version, version.memory.text, version.start, version.end] for version in versions],
                [[text.source, text.sha256, text.position] for text in texts],
            ]
        )


def count_lost(path: Path, seed: int, done: int) -> int:
    """Return how many texts are missing of those that were acknowledged and not forgotten."""
    from bookwheel.journal import Journal

    if not path.exists() or not done:
        return 0
    wanted = {source for verb, source, _ in list_verbs(seed)[:done] if verb == "add"}
    # One that was being forgotten when the child died may be gone already.
    wanted -= list_forgotten(seed, done + 1)
    with Journal(path) as journal:
        (record,) = journal.memories.list_all()
        return len(wanted - {text.source for text in journal.memories.list_texts(record.number)})


def count_words(path: Path, seed: int) -> int:
    """Return how many forgotten words stand somewhere in the journal's files."""
    content = b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*") if file.is_file())
    gone = list_forgotten(seed)
    words = {
        word for verb, source, text in list_verbs(seed) if verb == "add" and source in gone for word in text.split()
    }
    return sum(word.encode() in content for word in words if word.startswith("word"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
