"""A seed gives the same bytes on every machine and in every version: their digests are kept in a file.

`python tests/lab/tasks/test_bytes.py` writes the file anew, for a change that is meant. Say so in the changelog then.
"""

import hashlib
import json
from pathlib import Path

import pytest

from bookwheel.lab.tasks import TASKS, make_samples
from bookwheel.lab.tasks.files import to_line
from bookwheel.text.tokens import WordTokenizer

DATA = Path(__file__).parents[2] / "fixtures" / "data"
DIGESTS = Path(__file__).with_name("digests.json")
CASES = [(name, language) for name, task in TASKS.items() for language in task.languages]


def digest(name, language):
    tokens = 1600 if name.startswith(("ruler_", "documents")) else 900
    lines = [
        to_line(sample)
        for seed in (4, 5)
        for sample in make_samples(
            name, tokens=tokens, count=1, seed=seed, tokenizer=WordTokenizer(), language=language, data=DATA
        )
    ]
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]


@pytest.mark.parametrize(("name", "language"), CASES)
def test_a_seed_keeps_its_bytes(name, language):
    assert digest(name, language) == json.loads(DIGESTS.read_text())[f"{name} {language}"]


if __name__ == "__main__":
    DIGESTS.write_text(json.dumps({f"{name} {language}": digest(name, language) for name, language in CASES}, indent=1))
