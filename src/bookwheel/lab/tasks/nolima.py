"""NoLiMa's samples from its downloaded files: a needle at 26 depths of a book, asked without its words.

    FOLDER/needlesets/needle_set.json     or another set: [{id, system_prompt, needle, questions, tests, character_set}]
    FOLDER/haystack/rand_shuffle/*.txt    books, each line a place for a needle

The order is theirs, with the books by name: book by book, question by question, depth by depth. The line that a needle
follows is the first whose token stands at the depth or behind it; characters are drawn by their seed, 42 and the first
four digits of the id.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bookwheel.errors import InputError
from bookwheel.lab.tasks.base import GoldEvidence, Sample, SampleDocument
from bookwheel.lab.tasks.data_dir import load_json, read_text
from bookwheel.lab.tasks.ruler.prompts import LegacyNumpy
from bookwheel.text.tokens import FastTokenizer, Tokenizer

_SETS: Final = "needlesets"
_BOOKS: Final = "haystack/rand_shuffle"
_DEPTHS: Final = 26
_SEED: Final = 42
_CHARACTER: Final = "{CHAR}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Test:
    """A needle with its question."""

    name: str
    needle: str
    question: str
    golds: tuple[str, ...]
    characters: tuple[str, ...]
    seed: int
    metadata: Mapping[str, str]


def make_nolima(folder: Path, length: int, tokenizer: Tokenizer, needles: str = "needle_set.json") -> Iterator[Sample]:
    """Yield all samples of so many tokens, without their needles, for one of the sets of needles."""
    needle_set = folder / _SETS / needles
    if not isinstance(tokenizer, FastTokenizer):
        raise InputError("NoLiMa's books are cut at tokens: give --tokenizer the path of the model's tokenizer.json")
    books = sorted((folder / _BOOKS).glob("*.txt"))
    if not books or not needle_set.is_file():
        raise InputError(
            f"{folder} needs {_SETS}/{needles} and {_BOOKS}/*.txt, as NoLiMa's download script puts them there"
        )
    try:
        tests = list(_list_tests(load_json(needle_set)))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{needle_set} is no set of needles that is known here: {error!r}") from error
    for number, path in enumerate(books):
        book = _Book(read_text(path), tokenizer)
        for test in tests:
            random = LegacyNumpy(test.seed + number)
            for step in range(_DEPTHS):
                at = random.randint(0, len(test.characters)) if test.characters else 0
                character = test.characters[at] if test.characters else ""
                yield _make_sample(
                    book, test, character, step / (_DEPTHS - 1), length, f"{path.stem}-{test.name}-{step}"
                )


def _make_sample(book: "_Book", test: _Test, character: str, depth: float, length: int, name: str) -> Sample:
    needle, question = (text.replace(_CHARACTER, character) for text in (test.needle, test.question))
    before, after = book.cut(length, depth)
    start = len(before) + 1
    text = f"{before} {needle}\n{after}"
    return Sample(
        id=name,
        task="nolima",
        question=question,
        golds=test.golds or (character,),
        document=SampleDocument(name, [text]),
        metric="holds",
        length=length,
        tokens=book.tokenizer.count(text),
        evidence=(GoldEvidence(start=start, end=start + len(needle), note=needle),),
        metadata={"depth": depth, **test.metadata},
    )


def _list_tests(sets: Sequence[Mapping[str, Any]]) -> Iterator[_Test]:
    for one in sets:
        if "distractors" in one:
            raise InputError(f"the needle {one['id']} has distractors; only NoLiMa's sets without them can be made")
        for kind, question in one["questions"].items():
            for name, test in one["tests"].items():
                needle, asked = one["needle"], question
                for place, value in enumerate(test["input_args"], start=1):
                    # Theirs begins anew from the question with each argument that stands in it.
                    asked = question.replace(f"{{{place}}}", value) if f"{{{place}}}" in question else asked
                    needle = needle.replace(f"{{{place}}}", value)
                golds = test.get("gold_answers") or ()
                characters = tuple(one.get("character_set", ())) if _CHARACTER in needle else ()
                if not golds and not characters:
                    raise InputError(f"the needle {one['id']} has neither answers nor characters")
                yield _Test(
                    name=f"{one['id']}_{name}_{kind}",
                    needle=needle,
                    question=asked,
                    golds=() if characters else (golds,) if isinstance(golds, str) else tuple(golds),
                    characters=characters,
                    seed=_SEED + int(str(one["id"])[:4]),
                    metadata={key: one[key] for key in ("system_prompt", "task_template") if one.get(key)},
                )


class _Book:
    """A book with the places of its tokens."""

    def __init__(self, text: str, tokenizer: FastTokenizer) -> None:
        self.text = text
        self.tokenizer = tokenizer
        _, ends = tokenizer.encode_ends(text)
        self.edges = [0, *ends]
        self.breaks = [0, *(at for at in range(len(ends)) if "\n" in text[self.edges[at] : ends[at]])]

    def cut(self, length: int, depth: float) -> tuple[str, str]:
        """Return the text before and behind the needle, of so many tokens in all."""
        place = next((at for at in self.breaks if at / (length + 1) >= depth), 0)
        start = place - round(length * depth)
        end = start + length
        if start < 0 or end > len(self.edges) - 1:
            raise InputError(f"the book is too short for {length} tokens at a depth of {depth:.0%}")
        before = self.text[self.edges[start] : self.edges[place + 1]]
        return before[: max(before.rfind("\n"), 0)], self.text[self.edges[place + 1] : self.edges[end]]
