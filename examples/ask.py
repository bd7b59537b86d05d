"""Ask a question about a file, and see what the answer rests on.

The scripted model needs no weights; leave `model` out to read with the small local model.
"""

from pathlib import Path

from bookwheel import read

LOG = Path(__file__).with_name("lighthouse.md")

reading = read(LOG, "How many barrels were counted by the customs men?", model="scripted", chunk_tokens=400)
assert reading.answer

print(reading.answer.text)
for evidence in reading.evidence:
    print(f"  characters {evidence.start}-{evidence.end}, step {evidence.step}: {evidence.quote}")
print(f"{len(reading.steps)} steps, {reading.usage.calls} calls, {reading.usage.tokens} tokens")
