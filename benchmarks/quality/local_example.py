"""What the built-in model makes of the sample document: ten natural questions, its own plan, greedy.

python benchmarks/quality/local_example.py [THREADS] [WAY] [ADAPTER]
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from bookwheel.documents.opening import TextDocument
from bookwheel.environment import Environment
from bookwheel.models.local import LocalModel
from bookwheel.reading.ways.auto import find_default_way
from bookwheel.reading.ways.registry import load_way
from bookwheel.types import Step

DOCUMENT = Path(__file__).resolve().parents[2] / "examples" / "lighthouse.md"
QUESTIONS = {
    "How many barrels did the customs men count?": "sixty-four",
    "Where was the new clock made?": "Hamburg",
    "What is the new boat called?": "Admiral's Barometer",
    "Which steamer ran on the Hen and Chickens?": "Corriemore",
    "Who is measuring the height of the tides?": "Thorold",
    "Who set Hannah's wrist?": "Frayne",
    "How many hens have come?": "ten",
    "How many people were brought ashore from the steamer?": "nineteen",
    "What name did the children give to the cat?": "Biscuit",
    "What was the valve of the fog horn mended with?": "kettle",
}


async def main() -> None:
    """Read the document once for every question."""
    model = await LocalModel.open(
        Path(sys.argv[3]) if len(sys.argv) > 3 else None,
        threads=int(sys.argv[1]) if len(sys.argv) > 1 else None,
        environment=Environment.load(),
    )
    way = load_way(sys.argv[2] if len(sys.argv) > 2 else find_default_way(model))
    text = DOCUMENT.read_text(encoding="utf-8")
    right = captured = kept = 0
    for question, gold in QUESTIONS.items():
        began, memories, said = time.perf_counter(), [], ""
        async for event in way(TextDocument(text), question, model, model.plan):
            if isinstance(event, Step):
                memories.append(event.after.text)
            else:
                said = event.text
        is_right = gold.casefold() in said.casefold()
        right += is_right
        was_captured = any(gold.casefold() in memory.casefold() for memory in memories)
        captured += was_captured
        kept += was_captured and gold.casefold() in memories[-1].casefold()
        took = time.perf_counter() - began
        print(
            f"{'right' if is_right else 'wrong'}  {took:5.1f} s  {len(memories)} chunks  {question}  {said!r}",
            flush=True,
        )
    print(f"captured {captured}, kept to the end {kept}, right {right} of {len(QUESTIONS)}")
    await model.aclose()


if __name__ == "__main__":
    asyncio.run(main())
