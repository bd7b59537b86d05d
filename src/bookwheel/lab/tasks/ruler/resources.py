"""What RULER's prompts are made of: sentences, essays, words, questions.

The sentences are ours by default, or RULER's own, read from a checkout of it as data; nothing of it runs. The others
come from the checkout's `json` folder, or from the data folder.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import InputError
from bookwheel.lab.tasks.data_dir import load_json, read_text
from bookwheel.lab.tasks.imports.records import read_records
from bookwheel.lab.tasks.material import BOOKS, OWN_ADJECTIVES, OWN_NOUNS, coin_word, draw_distinct

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from random import Random

    from bookwheel.lab.tasks.data_dir import DataDir


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptTemplate:
    """One family's prompt."""

    text: str
    prefix: str
    reply_tokens: int
    """The tokens of the length that are kept free for the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wordings:
    """All sentences."""

    needles: PromptTemplate
    """With {type_needle_v} and {query}."""
    chain: PromptTemplate
    """With {query} and {num_v}."""
    common: PromptTemplate
    frequent: PromptTemplate
    passages: PromptTemplate
    """With {query}."""
    needle: str
    """With {type_needle_v}, {key} and {value}."""
    noise: str
    is_official: bool = False


OURS: Final = Wordings(
    needles=PromptTemplate(
        text="Some secret {type_needle_v} stand in the text below. Keep them in mind, for they will be asked for.\n"
        "{context}\nWhat are all the secret {type_needle_v} that belong to {query}?",
        prefix=" The secret {type_needle_v} that belong to {query} are",
        reply_tokens=128,
    ),
    chain=PromptTemplate(
        text="Follow the variables in this text, and what each of them is set to.\n\n{context}\n"
        "Question: Which variables hold the value {query}, by one step or by several?",
        prefix=" Answer: {num_v} variables of the text hold the value {query}: ",
        reply_tokens=30,
    ),
    common=PromptTemplate(
        text="Here is a numbered list of words. Some come again and again; note which.\n{context}\n"
        "Question: Which 10 words stand in the list more often than the others?",
        prefix=" Answer: More often than the others stand these 10:",
        reply_tokens=120,
    ),
    frequent=PromptTemplate(
        text="Count how often each made-up word comes in this row. {context}\n"
        "Question: Leave the dots aside and explain nothing. Which three words come most often?",
        prefix=" Answer: The three words that come most often:",
        reply_tokens=50,
    ),
    passages=PromptTemplate(
        text="Some documents follow, and then a question about them. Give its answer alone.\n\n{context}\n\n"
        "Give the answer alone, as the documents have it.\n\nQuestion: {query}",
        prefix=" Answer:",
        reply_tokens=32,
    ),
    needle="To {key} belongs one of the secret {type_needle_v}, namely {value}.",
    noise="The harbour is calm. The bread is warm. Clouds drift by. Someone comes. Someone goes again.",
)
_FAMILIES: Final = {
    "needles": "niah",
    "chain": "variable_tracking",
    "common": "common_words_extraction",
    "frequent": "freq_words_extraction",
    "passages": "qa",
}
_SCRIPTS: Final = "scripts/data/synthetic"


def find_scripts(checkout: Path) -> Path:
    """Return the folder of the scripts in a checkout of RULER."""
    folder = checkout / _SCRIPTS
    if not (folder / "constants.py").is_file():
        raise InputError(f"{checkout} is no checkout of RULER: it has no {_SCRIPTS}/constants.py")
    return folder


def load_wordings(checkout: Path) -> Wordings:
    """Return RULER's own sentences, from its `constants.py` and `niah.py`."""
    folder = find_scripts(checkout)
    tasks = read_literals(folder / "constants.py").get("TASKS", {})
    script = read_literals(folder / "niah.py")
    try:
        templates = {
            ours: PromptTemplate(
                text=tasks[theirs]["template"],
                prefix=tasks[theirs]["answer_prefix"],
                reply_tokens=int(tasks[theirs]["tokens_to_generate"]),
            )
            for ours, theirs in _FAMILIES.items()
        }
        return Wordings(**templates, needle=script["needle"], noise=script["haystack"], is_official=True)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{folder}: its constants are not those that are known here: {error!r}") from error


def read_literals(path: Path) -> dict[str, Any]:
    """Return the plain values that a script assigns to names; the first one where there are several."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    values: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            try:
                values.setdefault(node.targets[0].id, ast.literal_eval(node.value))
            except ValueError:
                continue
    return values


_SQUAD: Final = ("squad.json", ("qa_en/squad_v2.0_dev.json", "qa_en/squad_v1.1_dev.json"))
_HOTPOT: Final = ("hotpotqa.json", ("qa_en/hotpotqa_dev.json", "qa_en/hotpotqa_dev.jsonl"))
# Long lists of common words need more words than the lists have; RULER takes them from a second list.
_COINED: Final = 60_000


class KeyNames:
    """All names of an adjective and a noun, sorted, without making the millions of them."""

    def __init__(self, adjectives: Sequence[str], nouns: Sequence[str]) -> None:
        self._nouns = sorted(set(nouns))
        self._groups: list[list[str]] = []
        for key in sorted({f"{adjective}-" for adjective in adjectives}):
            # Where one beginning is that of another ("blue-", "blue-eyed-"), their names are sorted among each other.
            if self._groups and key.startswith(self._groups[-1][0]):
                self._groups[-1].append(key)
            else:
                self._groups.append([key])
        self._mixed = {
            at: sorted({key + noun for key in keys for noun in self._nouns})
            for at, keys in enumerate(self._groups)
            if len(keys) > 1
        }
        sizes = (len(self._mixed[at]) if at in self._mixed else len(self._nouns) for at in range(len(self._groups)))
        self._ends = list(accumulate(sizes))

    def __len__(self) -> int:
        return self._ends[-1]

    def __getitem__(self, place: int) -> str:
        group = bisect_right(self._ends, place)
        offset = place - (self._ends[group - 1] if group else 0)
        mixed = self._mixed.get(group)
        return mixed[offset] if mixed else self._groups[group][0] + self._nouns[offset]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageQuestion:
    """A question with the numbers of its own documents, and of others of the same article."""

    query: str
    outputs: tuple[str, ...]
    own: tuple[int, ...]
    id: str = ""
    article: tuple[int, ...] = ()


class Resources:
    """The inputs of a run."""

    def __init__(self, checkout: Path | None, data_dir: DataDir) -> None:
        self._folder = find_scripts(checkout) / "json" if checkout else None
        self._data_dir = data_dir
        self.wordings: Wordings = load_wordings(checkout) if checkout else OURS

    @cached_property
    def essay(self) -> list[str]:
        """The words of the essays."""
        path = self._find("PaulGrahamEssays.json")
        if path is not None:
            return str(load_json(path)["text"]).split()
        narrow, wide = BOOKS["en"]
        paths = self._data_dir.list_books(narrow) or self._data_dir.list_books(wide)
        if not paths:
            raise InputError("this task hides needles in essays; point --data to a folder with books/en_*.txt[.gz]")
        return read_text(paths[0]).split()

    @cached_property
    def keys(self) -> KeyNames:
        """The names that needles may have."""
        lists = self._data_dir.raw_words
        return KeyNames(lists.get("adjectives") or OWN_ADJECTIVES, lists.get("nouns") or OWN_NOUNS)

    @cached_property
    def vocabulary(self) -> list[str]:
        """All words of the lists, sorted."""
        lists = self._data_dir.raw_words
        return sorted({word for listed in lists.values() for word in listed}) or sorted({*OWN_ADJECTIVES, *OWN_NOUNS})

    def further_words(self, rng: Random) -> list[str]:
        """Return the second list, for more words than the first has; made-up ones where there is none."""
        path = self._find("english_words.json")
        if path is not None:
            return list(load_json(path).values())
        return list(islice(draw_distinct(lambda: coin_word(rng)), _COINED))

    def _find(self, name: str) -> Path | None:
        """Return the path of one of RULER's files; None without a checkout, InputError where it has none."""
        if self._folder is None:
            return None
        path = self._folder / name
        if not path.is_file():
            raise InputError(f"{path} is missing; RULER's download scripts put it there")
        return path

    def load_questions(self, task: str) -> tuple[list[PassageQuestion], list[str]]:
        """Return the questions of `qa_1` or `qa_2`, and all documents."""
        name, others = _SQUAD if task == "qa_1" else _HOTPOT
        path = self._find(name) or next(filter(None, map(self._data_dir.find, others)), None)
        if path is None:
            raise InputError(f"this task needs {' or '.join(others)} in the data folder, or a checkout of RULER")
        if task != "qa_1":
            return load_hotpot(path)
        try:
            return _read_squad([record for _, _, record in read_records(path)])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path} is no file of SQuAD: {error!r}") from error


def _read_squad(articles: Sequence[dict[str, Any]]) -> tuple[list[PassageQuestion], list[str]]:
    paragraphs = [[paragraph["context"] for paragraph in article["paragraphs"]] for article in articles]
    documents = sorted({text for article in paragraphs for text in article})
    numbers = {text: number for number, text in enumerate(documents)}
    questions = [
        PassageQuestion(
            query=asked["question"],
            outputs=tuple(answer["text"] for answer in asked["answers"]),
            own=(numbers[paragraph["context"]],),
            article=tuple(numbers[text] for text in article if text != paragraph["context"]),
        )
        for record, article in zip(articles, paragraphs, strict=True)
        for paragraph in record["paragraphs"]
        for asked in paragraph["qas"]
        if not asked.get("is_impossible")
    ]
    return questions, documents


@lru_cache(maxsize=2)
def load_hotpot(path: Path, *, has_answers: bool = True) -> tuple[list[PassageQuestion], list[str]]:
    """Load the questions of a file of HotpotQA, and all their paragraphs with titles, sorted, each once."""
    asked: list[tuple[str, list[str], list[str], str]] = []
    for _, where, record in read_records(path):
        try:
            texts = [f"{title}\n{''.join(sentences)}" for title, sentences in record["context"]]
            identity = str(record.get("id", record.get("_id", where)))
            asked.append((record["question"], [record["answer"]] if has_answers else [], texts, identity))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path}, {where}: not a question of HotpotQA with its paragraphs: {error!r}") from error
    documents = sorted({text for _, _, own, _ in asked for text in own})
    numbers = {text: number for number, text in enumerate(documents)}
    questions = [
        PassageQuestion(query=query, outputs=tuple(answers), own=tuple(numbers[text] for text in own), id=identity)
        for query, answers, own, identity in asked
    ]
    return questions, documents
