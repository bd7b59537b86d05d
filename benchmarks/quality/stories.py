"""Stories of lasting memories, by whoever wrote them: what the built-in model answers to their questions.

    python benchmarks/quality/stories.py FOLDER... [--only WORDS]

A folder has texts and a `cases.json`: {"about", "sources": [{"file", "source", "at"}], "questions": [{"q", "gold",
"kind"}]}. A question may have "as_of", "also" (other right answers), "after_forget" (a source that is forgotten before
it is asked) and "derived" (nothing that stands in a text: right is a quote that has all of "evidence"). Of "absent"
questions, and those whose gold is "not stated", right is that the texts do not say. Each answer is printed: judge by
your own eyes what the letters cannot.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import tempfile
import time
from pathlib import Path
from typing import Any

from bookwheel.claims import Verdict
from bookwheel.documents.opening import open_document
from bookwheel.journal import Journal
from bookwheel.memory.append import append_files
from bookwheel.memory.asking import ask
from bookwheel.memory.entries import NewFile
from bookwheel.memory.forgetting import forget
from bookwheel.memory.opened import begin_memory, open_memory
from bookwheel.models.local import LocalModel
from bookwheel.session import Session

_ABSENT = {"not stated", "未提及"}


def _flatten(text: str) -> str:
    return re.sub(r"[\s£$€,.'’\"“”《》]", "", text.casefold())


def is_right(case: dict[str, Any], answer: str, *, is_absent: bool) -> bool:
    """Return whether an answer has a gold, or all that one is derived from; or says rightly that there is none."""
    if case["kind"] == "absent" or case["gold"] in _ABSENT:
        return is_absent
    said = _flatten(answer)
    if any(_flatten(gold) in said for gold in (case["gold"], *case.get("also", ()))):
        return True
    return bool(case.get("derived")) and all(_flatten(one) in said for one in case["evidence"])


async def tell(folder: Path, model: LocalModel, only: str) -> list[tuple[str, bool]]:
    """Read a story into a memory, ask its questions, and return the kind of each and whether the answer is right."""
    story = json.loads((folder / "cases.json").read_text("utf-8"))
    found = []
    with tempfile.TemporaryDirectory() as name, Journal(Path(name) / "memory.sqlite") as journal:
        session = Session(model=model, journal=journal)
        await begin_memory(session, "memory", story["about"], model.plan)
        opened = open_memory(session, "memory")
        for one in story["sources"]:
            document = open_document([folder / one["file"]])
            file = NewFile(parts=tuple(document.parts()), name=document.name, named=one["source"])
            # A chat or a mail tells its own times.
            at = None if any(part.at for part in file.parts) else one["at"]
            await append_files(opened, [file], at)
        forgotten = set[str]()
        for case in sorted(story["questions"], key=lambda case: case["kind"] == "after_forget"):
            if only not in case["q"]:
                continue
            if (source := case.get("after_forget")) and source not in forgotten:
                forgotten.add(source)
                await forget(opened, source=source)
            began = time.process_time()
            answer = await ask(opened, case["q"], as_of=case.get("as_of"))
            is_absent = answer.verdict is Verdict.ABSENT
            found.append((case["kind"], is_right(case, answer.answer, is_absent=is_absent)))
            cost = time.process_time() - began
            print(f"  {'+' if found[-1][1] else '-'} {case['kind']:9} {case['q']} | {case['gold']} | {answer.answer!r}")
            quotes = [f"{quote.quote!r} {quote.at[:10]}" for quote in answer.evidence]
            print(f"      {answer.verdict} {answer.answers} {cost:.0f} s {'; '.join(quotes)}", flush=True)
    return found


async def main(folders: list[Path], only: str) -> None:
    """Print each answer, then how many are right."""
    model, found = await LocalModel.open(threads=1), list[tuple[str, bool]]()
    for folder in folders:
        print(folder.name)
        found += await tell(folder, model, only)
    for kind in sorted({kind for kind, _ in found}):
        own = [right for one, right in found if one == kind]
        print(f"{kind}: {sum(own)} of {len(own)}")
    print(f"all: {sum(right for _, right in found)} of {len(found)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    asyncio.run(main(given.folders, given.only))
