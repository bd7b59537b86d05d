"""What RULER's prompts are made of: sentences, essays, words, questions.

The sentences are ours by default, or RULER's own, read from a checkout of it as data; nothing of it runs. The others
come from the checkout's `json` folder, or from the data folder.
"""

import hashlib
import json
import shutil
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from importlib.util import find_spec
from itertools import accumulate, islice
from pathlib import Path
from random import Random
from typing import Final

from bookwheel.errors import InputError, find_install_command
from bookwheel.lab.tasks.data_dir import DataDir, load_json, read_all_records, read_literals, read_text
from bookwheel.lab.tasks.formats import PassageQuestion, load_hotpot, number_squad
from bookwheel.lab.tasks.material import ESSAYS, coin_word, draw_distinct, list_words, load_wordings, split_sentences
from bookwheel.plugins import require_extra


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptTemplate:
    """One family's prompt."""

    text: str
    prefix: str
    reply_tokens: int
    """The tokens of the length that are kept free for the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RulerSentences:
    """All sentences, ours or RULER's own."""

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


_FAMILIES: Final = {
    "needles": "niah",
    "chain": "variable_tracking",
    "common": "common_words_extraction",
    "frequent": "freq_words_extraction",
    "passages": "qa",
}
NLTK_FOLDER: Final = "nltk_data"
"""The folder of a data folder where nltk looks for its splitter."""
_PUNKT: Final = "punkt_tab"
# Packages that hold a copy of it.
_WITH_PUNKT: Final = (("llama_index.core", f"_static/nltk_cache/tokenizers/{_PUNKT}"),)
_WONDERWORDS: Final = "d5d824355ae7b50a"
_SCRIPTS: Final = "scripts/data/synthetic"


def find_scripts(checkout: Path) -> Path:
    """Return the folder of the scripts in a checkout of RULER."""
    folder = checkout / _SCRIPTS
    if not (folder / "constants.py").is_file():
        raise InputError(f"{checkout} is no checkout of RULER: it has no {_SCRIPTS}/constants.py")
    return folder


def load_sentences(checkout: Path | None) -> RulerSentences:
    """Return our sentences, or RULER's own from the `constants.py` and `niah.py` of a checkout."""
    if checkout is None:
        ours = load_wordings()["ruler"]["en"]
        return RulerSentences(**{**ours, **{name: PromptTemplate(**ours[name]) for name in _FAMILIES}})
    folder = find_scripts(checkout)
    tasks, script = read_literals(folder / "constants.py").get("TASKS", [{}])[0], read_literals(folder / "niah.py")
    try:
        templates = {
            ours: PromptTemplate(
                text=tasks[theirs]["template"],
                prefix=tasks[theirs]["answer_prefix"],
                reply_tokens=int(tasks[theirs]["tokens_to_generate"]),
            )
            for ours, theirs in _FAMILIES.items()
        }
        return RulerSentences(**templates, needle=script["needle"][0], noise=script["haystack"][0])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{folder}: its constants are not those that are known here: {error!r}") from error


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


def read_word_lists() -> dict[str, list[str]]:
    """Return the lists of the package wonderwords as RULER reads them; InputError where it is not installed."""
    if find_spec("wonderwords") is None:
        raise InputError("RULER's words are those of the package wonderwords; `pip install wonderwords==3.0.1`")
    assets = files("wonderwords.assets")
    return {
        f"{kind}s": [word.rstrip() for word in assets.joinpath(f"{kind}list.txt").read_text("utf-8").splitlines()]
        for kind in ("noun", "adjective", "verb")
    }


def write_splitter(folder: Path) -> str:
    """Put nltk's punkt into a folder: downloaded, or copied from a package that brings it. Return where it is from."""
    require_extra("RULER's splitter", "published", "nltk")
    import nltk

    if nltk.download(_PUNKT, download_dir=str(folder), quiet=True):
        return "nltk's own download"
    for package, place in _WITH_PUNKT:
        try:
            found = find_spec(package)
        except ModuleNotFoundError:  # the package around it is not there
            continue
        source = Path(found.origin).parent / place if found and found.origin else None
        if source and source.is_dir():
            shutil.copytree(source, folder / "tokenizers" / _PUNKT, dirs_exist_ok=True)
            return f"the package {package}"
    raise InputError(
        f"nltk's downloads cannot be reached; unpack its {_PUNKT}.zip into {folder / 'tokenizers'}, or "
        "`pip install llama-index-core`, which brings it"
    )


class Resources:
    """The inputs of a run.

    With a checkout everything is RULER's own, and what is missing is an error; `splitter` may be `ours` by request.
    """

    def __init__(self, checkout: Path | None, data_dir: DataDir, splitter: str = "") -> None:
        self._folder = find_scripts(checkout) / "json" if checkout else None
        self._data_dir = data_dir
        self._splitter = splitter or ("punkt" if checkout else "ours")
        self.sentences = load_sentences(checkout)

    @cached_property
    def origins(self) -> dict[str, str]:
        """Where sentences, words and the rule that splits essays are from, for a sample's metadata."""
        words = "ours"
        if self._data_dir.raw_words:
            listed = json.dumps([sorted(set(self._list_words(kind))) for kind in ("nouns", "adjectives", "verbs")])
            digest = hashlib.sha256(listed.encode()).hexdigest()[:16]
            words = "wonderwords 3.0.1" if digest == _WONDERWORDS else f"a list of {digest}"
        return {"sentences": "RULER" if self._folder else "ours", "words": words, "splitter": self._splitter}

    def split(self, text: str) -> list[str]:
        """Return the sentences of an essay: by nltk's punkt, as RULER splits them, or by our rule."""
        if self._splitter == "ours":
            return split_sentences(text)
        try:
            import nltk

            own = str(self._data_dir.root / NLTK_FOLDER) if self._data_dir.root else ""
            if own and own not in nltk.data.path:
                nltk.data.path.insert(0, own)
            return list(nltk.sent_tokenize(text))
        except (ImportError, LookupError) as error:
            raise InputError(
                f"RULER splits essays by nltk's punkt: {find_install_command('published')}, and "
                f"`bookwheel data splitter --out FOLDER/{NLTK_FOLDER}` puts it there for `--data "
                "FOLDER`. Or take our rule by `--option splitter=ours`: the needles then stand elsewhere"
            ) from error

    def _list_words(self, kind: str) -> list[str]:
        lists = self._data_dir.raw_words
        if self._folder and not lists:
            raise InputError(
                "RULER's keys and words are those of the package wonderwords, and the data folder has no list of them; "
                "`bookwheel data words --out FOLDER/wordlists/wonderwords_lists.json` writes it for `--data FOLDER`"
            )
        own = list_words(kind) if kind != "verbs" else []
        return [word.rstrip() for word in lists.get(kind, ())] if lists else own

    @cached_property
    def essay(self) -> list[str]:
        """The words of the essays."""
        path = self._find("PaulGrahamEssays.json")
        if path is not None:
            return str(load_json(path)["text"]).split()
        paths = self._data_dir.list_books(*ESSAYS["en"])
        if not paths:
            raise InputError("this task hides needles in essays; point --data to a folder with books/en_*.txt[.gz]")
        return read_text(paths[0]).split()

    @cached_property
    def keys(self) -> KeyNames:
        return KeyNames(self._list_words("adjectives"), self._list_words("nouns"))

    @cached_property
    def vocabulary(self) -> list[str]:
        """All words of the lists, sorted."""
        return sorted({word for kind in ("nouns", "adjectives", "verbs") for word in self._list_words(kind)})

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
            return number_squad([record for _, _, record in read_all_records(path)])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path} is no file of SQuAD: {error!r}") from error
