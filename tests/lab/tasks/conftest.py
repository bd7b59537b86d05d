"""Shared by the tests of tasks: data of our own in the official formats, tokenizers, an oracle."""

import random
import re
from collections import Counter
from pathlib import Path

import pytest

from bookwheel.lab.tasks import MemoryRule
from bookwheel.lab.tasks.material import write_prose
from bookwheel.text.normalization import contains_words, words
from bookwheel.text.tokens import FileTokenizer, WordTokenizer

FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.fixture(autouse=True)
def _no_other_data(monkeypatch):
    monkeypatch.delenv("BOOKWHEEL_DATA", raising=False)


@pytest.fixture
def fixtures():
    return FIXTURES


@pytest.fixture
def data():
    return FIXTURES / "data"


@pytest.fixture
def tokenizer():
    return WordTokenizer()


def _corpus():
    rng = random.Random(1)
    english, chinese = write_prose("en", rng), write_prose("zh", rng)
    return ["".join(next(lines) for _ in range(20)) for lines in (english, chinese) for _ in range(30)]


@pytest.fixture(scope="session")
def byte_tokenizer(tmp_path_factory):
    """Byte-level BPE, as Qwen and Llama 3 have it."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    fast = Tokenizer(models.BPE())
    fast.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    fast.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    fast.train_from_iterator(
        _corpus(), trainers.BpeTrainer(vocab_size=900, initial_alphabet=alphabet, show_progress=False)
    )
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    fast.save(str(path))
    return FileTokenizer(path)


@pytest.fixture(scope="session")
def prefix_tokenizer(tmp_path_factory):
    """A blank is put before every text that is counted, as Llama 2 has it: parts add up to more than the whole."""
    from tokenizers import Tokenizer, models, normalizers, trainers

    fast = Tokenizer(models.BPE(unk_token="<unk>"))
    fast.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    pieces = [piece for text in _corpus() for piece in re.findall(r"\s?\S+", text)]
    fast.train_from_iterator(
        pieces, trainers.BpeTrainer(vocab_size=1200, special_tokens=["<unk>"], show_progress=False)
    )
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    fast.save(str(path))
    return FileTokenizer(path)


def answer_from_evidence(sample):
    """An answer worked out from the quoted spans alone; the golds are only looked at to choose the span's part."""
    quotes = [sample.document.slice(found.start, found.end) for found in sample.evidence]
    if sample.memory is MemoryRule.TALLY:
        counts = Counter(re.findall(r"[a-z]+", quotes[0]))
        return ", ".join(word for word, _ in counts.most_common(len(sample.golds)))
    if not quotes:
        return {"en": "not in the document", "zh": "文中没有提到"}[sample.language]
    by_task = {
        "count": lambda: str(len(quotes)),
        "updated": lambda: re.findall(r"\d+", quotes[-1])[-1],
        "nth_request": lambda: quotes[-1].split("\n")[1].removeprefix("Assistant: "),
        "dialogue": lambda: re.findall(r"\b[A-Z][a-z]+", quotes[-1])[-1],
        "recite": lambda: sample.golds[1] + re.split(": |：", quotes[-1].split("\n")[1], maxsplit=1)[1],
        "ledger": lambda: _count_ledger(sample, quotes),
        "profile": lambda: _follow_profile(quotes),
        "vt": lambda: ", ".join(re.match(r"LET (\w+) =", quote)[1] for quote in quotes),
    }
    # A date between two dates, or a sum: it follows from the quotes and stands in none of them.
    if sample.metadata.get("derived"):
        return sample.golds[0]
    if sample.task in by_task:
        return by_task[sample.task]()
    if sample.metric in {"exact", "choice"}:
        found = [gold for gold in sample.golds if any(contains_words(words(quote), words(gold)) for quote in quotes)]
        return found[0] if found else sample.golds[0] if sample.golds[0] in {"yes", "no"} else ""
    return "\n".join(quotes)


def _count_ledger(sample, quotes):
    rows = [re.split(r" ?[|｜] ?", line) for quote in quotes for line in quote.split("\n")]
    if sample.metadata["ask"] == "count":
        return str(len(rows))
    column = 1 if sample.metadata["ask"] == "who" else 2
    ranked = Counter(row[column] for row in rows).most_common()
    return ranked[-1 if sample.metadata["ask"] == "least" else 0][0]


def _follow_profile(quotes):
    """The last word: a withdrawal, or the name that the last statement brings or takes up again."""
    gone = re.search("withdrawn|已撤回", quotes[-1])
    names = r"(?:called|boat|the|to|by|by) ([A-Z]\w+)|([A-Z]\w+) (?:came|takes|holds)|about ([A-Z]\w+)"
    chinese = "(?:叫|换来了|找|由|关于)(..)"
    found = re.findall(names if quotes[-1].isascii() else chinese, quotes[-1].split("：")[-1])
    return gone[0] if gone else "".join(found[-1])


@pytest.fixture
def oracle():
    return answer_from_evidence
