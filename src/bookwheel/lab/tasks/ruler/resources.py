"""What RULER's prompts are made of: essays, words, questions. From a checkout's `json` folder, or the data folder."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import InputError
from bookwheel.lab.tasks import lexicon
from bookwheel.lab.tasks.data_dir import load_json, load_raw_words, read_text
from bookwheel.lab.tasks.filler import BOOKS
from bookwheel.lab.tasks.imports.records import read_records
from bookwheel.lab.tasks.ruler.wordings import OURS, Wordings, find_scripts, load_wordings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from random import Random

    from bookwheel.lab.tasks.data_dir import DataDir

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
        lists = load_raw_words(self._data_dir)
        return KeyNames(lists.get("adjectives") or lexicon.OWN_ADJECTIVES, lists.get("nouns") or lexicon.OWN_NOUNS)

    @cached_property
    def vocabulary(self) -> list[str]:
        """All words of the lists, sorted."""
        lists = load_raw_words(self._data_dir)
        return sorted({word for listed in lists.values() for word in listed}) or sorted(
            {*lexicon.OWN_ADJECTIVES, *lexicon.OWN_NOUNS}
        )

    def further_words(self, rng: Random) -> list[str]:
        """Return the second list, for more words than the first has; made-up ones where there is none."""
        path = self._find("english_words.json")
        if path is not None:
            return list(load_json(path).values())
        coined: dict[str, None] = {}
        while len(coined) < _COINED:
            coined[lexicon.coin_word(rng)] = None
        return list(coined)

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
        records = [record for _, _, record in read_records(path)]
        try:
            return _read_squad(records) if task == "qa_1" else read_hotpot(records)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path} is no file of {'SQuAD' if task == 'qa_1' else 'HotpotQA'}: {error!r}") from error


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


def read_hotpot(records: Sequence[dict[str, Any]]) -> tuple[list[PassageQuestion], list[str]]:
    """Return the questions of HotpotQA's records, and all their paragraphs with titles, sorted."""
    texts = [[f"{title}\n{''.join(sentences)}" for title, sentences in record["context"]] for record in records]
    documents = sorted({text for own in texts for text in own})
    numbers = {text: number for number, text in enumerate(documents)}
    questions = [
        PassageQuestion(query=record["question"], outputs=(record["answer"],), own=tuple(numbers[text] for text in own))
        for record, own in zip(records, texts, strict=True)
    ]
    return questions, documents
