"""Questions about real paragraphs, hidden among other real paragraphs.

    qa_1                RULER's SQuAD task (CMRC 2018 in Chinese)
    qa_2                RULER's HotpotQA task (DRCD in Chinese): distractors are other questions' paragraphs first
    hqa                 RULER-HQA as MemAgent has it: a HotpotQA question, its ten paragraphs, and paragraphs of a
                        large pool, shuffled; `paragraphs=200` sets their number instead of the tokens
    hqa_2wiki           the same with 2WikiMultihopQA
    hqa_musique         the same with MuSiQue
    cmrc, drcd          Chinese reading comprehension

No distractor bears the title of one of the question's own paragraphs, unless `article=true` asks for the other
paragraphs of the same article first: they are the hardest to tell from the right one. The question is the same at every
length. The answer is judged by `contains`, but by `choice` where the question itself holds a gold answer or the gold is
a plain yes or no: there, finding it in a longer answer would prove nothing, so what the answer says is judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from random import Random
from typing import TYPE_CHECKING, Final

from bookwheel.errors import InputError
from bookwheel.lab.scoring.choices import is_polar
from bookwheel.lab.scoring.normalization import contains_words, words
from bookwheel.lab.tasks.answerable import ABSENT
from bookwheel.lab.tasks.assembly import AssembledDocument, SourcePassage, count_tokens, join, length_error
from bookwheel.lab.tasks.base import GoldEvidence, InfeasibleSample
from bookwheel.lab.tasks.data_dir import DataDir
from bookwheel.lab.tasks.definition import AtLeastOne, DepthOptions, SampleDraft, SampleRequest, Task
from bookwheel.lab.tasks.formats import Paragraph, QuestionItem, load_items, load_question_set
from bookwheel.lab.tasks.imports.records import read_records
from bookwheel.lab.tasks.material import open_essays

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionFiles:
    """The files of a task's questions, and the choice of its distractors."""

    files: Mapping[tuple[str, str], str]
    """By language and split."""
    neighbours: bool = True
    """True: the other questions' paragraphs come before those of the pool."""


SOURCES: Final = {
    "qa_1": QuestionFiles(
        files={
            ("en", "dev"): "qa_en/squad_v1.1_dev.json",
            ("en", "train"): "qa_en/squad_v1.1_train_subset.json",
            ("zh", "dev"): "qa_zh/cmrc2018_dev.json",
            ("zh", "train"): "qa_zh/cmrc2018_trial.json",
        }
    ),
    "qa_2": QuestionFiles(
        files={
            ("en", "dev"): "qa_en/hotpotqa_dev.jsonl",
            ("en", "train"): "qa_en/hotpotqa_train.jsonl",
            ("zh", "dev"): "qa_zh/drcd_dev_test.json",
        }
    ),
    "hqa": QuestionFiles(
        files={("en", "dev"): "qa_en/hotpotqa_dev.jsonl", ("en", "train"): "qa_en/hotpotqa_train.jsonl"},
        neighbours=False,
    ),
    "hqa_2wiki": QuestionFiles(
        files={("en", "dev"): "qa_en/2wikimultihopqa_dev.jsonl", ("en", "train"): "qa_en/2wikimultihopqa_train.jsonl"},
        neighbours=False,
    ),
    "hqa_musique": QuestionFiles(
        files={("en", "dev"): "qa_en/musique_dev.jsonl", ("en", "train"): "qa_en/musique_train.jsonl"},
        neighbours=False,
    ),
    "cmrc": QuestionFiles(
        files={("zh", "dev"): "qa_zh/cmrc2018_dev.json", ("zh", "train"): "qa_zh/cmrc2018_trial.json"}
    ),
    "drcd": QuestionFiles(files={("zh", "dev"): "qa_zh/drcd_dev_test.json"}),
}
_WIKI: Final = "wiki/wiki_paragraphs_en.jsonl"
_HEADS: Final = {"en": "Passage: {title}\n{text}\n\n", "zh": "【{title}】\n{text}\n\n"}
# Tokens that the paper's lengths have a paragraph: 50 are its 7K, 25,600 its 3.5M.
_NOMINAL: Final = 140


def build(request: SampleRequest) -> SampleDraft:
    """Return the question with this index, in the seed's order."""
    path = _find_file(request.task, request.language, request.split, request.data_dir)
    item = _pick_item(request, path)
    distractors = _draw_distractors(request, path, item)
    if "paragraphs" in request.options:
        body, length = _fill_paragraphs(request, item, distractors)
    else:
        body, length = _fill_tokens(request, item, distractors), None
    return SampleDraft(
        question=item.question,
        golds=item.golds or (ABSENT[request.language],),
        metric=_choose_metric(item),
        body=body,
        length=length,
        metadata={"source": path.name, "question_id": item.id, **request.options},
    )


def describe_left_out(task: str, language: str, split: str, data: Path | None) -> list[str]:
    """Return a sentence for each reason why questions of the task's file are not used."""
    if task not in SOURCES:
        return []
    path = _find_file(task, language, split, DataDir.locate(data))
    questions = load_question_set(path)
    return [
        f"{count} questions of {path.name} are left out: {reason} ({len(questions.items)} are used)"
        for reason, count in questions.left_out.items()
    ]


def _find_file(task: str, language: str, split: str, data: DataDir) -> Path:
    if data.file is not None:
        return data.file
    name = SOURCES[task].files.get((language, split))
    if name is None:
        raise InputError(
            f"the task {task} has no {split} questions in {language!r}; "
            f"use another --split, or point --data to a file of yours"
        )
    return data.require(name, f"the task {task}")


def _pick_item(request: SampleRequest, path: Path) -> QuestionItem:
    items = _list_items(path, int(request.options.get("skip_titles") or 0))
    if request.index >= len(items):
        raise InputError(
            f"{path} holds {len(items)} questions that can be answered from their paragraphs and "
            f"{request.index + 1} were asked for; lower --count, or take further seeds"
        )
    return items[_shuffle(len(items), f"{request.task} {request.seed}")[request.index]]


@lru_cache(maxsize=4)
def _list_items(path: Path, skip_titles: int) -> list[QuestionItem]:
    """Return the questions of a file, without those on its first so many titles."""
    items = load_items(path)
    titles = dict.fromkeys(item.paragraphs[0].title for item in items if skip_titles)
    skipped = set(islice(titles, skip_titles))
    return [item for item in items if item.paragraphs[0].title not in skipped]


@lru_cache(maxsize=4)
def _shuffle(size: int, seed: str) -> list[int]:
    return Random(seed).sample(range(size), size)  # noqa: S311 - not for secrets


def _choose_metric(item: QuestionItem) -> str:
    if not item.golds:
        return "unanswerable"
    asked = words(item.question)
    inside = any(contains_words(asked, words(gold)) for gold in item.golds)
    return "choice" if inside or is_polar(item.golds) else "contains"


def _fill_tokens(request: SampleRequest, item: QuestionItem, distractors: Iterator[str]) -> AssembledDocument:
    """Build a document by tokens, with all of the question's paragraphs that fit.

    Those with support are always in it.
    """
    own = _place_own(request, item)
    # An unanswerable question needs the paragraph that it is asked about.
    needed = [passage for passage in own if passage.evidence] or own
    extra = [passage for passage in own if passage not in needed]
    least = count_tokens([passage.text for passage in needed], request.tokenizer)
    if least > request.tokens:
        raise length_error(request.task, request.tokens, least)
    passages = list(needed)
    for passage in extra:
        least += request.tokenizer.count(passage.text)
        if least <= request.tokens:
            passages.append(passage)
    return request.assemble(distractors, passages)


def _fill_paragraphs(
    request: SampleRequest, item: QuestionItem, distractors: Iterator[str]
) -> tuple[AssembledDocument, int]:
    """Build a document by number of paragraphs; return it with the paper's length for that number."""
    wanted = request.read_int("paragraphs", 1)
    own = _place_own(request, item)
    if wanted < len(own):
        raise InfeasibleSample(
            f"this question brings {len(own)} paragraphs and {wanted} were asked for; ask for more paragraphs"
        )
    others = list(islice(distractors, wanted - len(own)))
    if len(others) < wanted - len(own):
        raise InfeasibleSample(
            f"there are {len(others) + len(own)} paragraphs for the task {request.task} and {wanted} were asked for; "
            f"ask for fewer, or point --data to a folder with a larger wiki/"
        )
    return join(others, own, request.tokenizer), wanted * _NOMINAL


def _place_own(request: SampleRequest, item: QuestionItem) -> list[SourcePassage]:
    """Return the question's own paragraphs in a seeded order, each with a random place."""
    passages = [_build_passage(paragraph, request) for paragraph in item.paragraphs]
    request.rng.shuffle(passages)
    return passages


def _build_passage(paragraph: Paragraph, request: SampleRequest) -> SourcePassage:
    text = _render_paragraph(paragraph.title, paragraph.text, request)
    offset = text.index(paragraph.text)
    label = f"{paragraph.title}: " if paragraph.title else ""
    evidence = tuple(
        GoldEvidence(start=offset + start, end=offset + end, note=label + " ".join(paragraph.text[start:end].split()))
        for start, end in paragraph.support
    )
    return SourcePassage(text=text, evidence=evidence, place=request.draw_place() if evidence else request.rng.random())


def _render_paragraph(title: str, text: str, request: SampleRequest) -> str:
    has_head = title and request.options.get("titles") is not False
    return _HEADS[request.language].format(title=title, text=text) if has_head else f"{text}\n\n"


def _draw_distractors(request: SampleRequest, path: Path, item: QuestionItem) -> Iterator[str]:
    """Yield other paragraphs in a seeded order, without repeats and without the question's own titles."""
    source = SOURCES[request.task]
    wiki = request.data_dir.find(_WIKI) if request.language == "en" else None
    pools = [_load_neighbours(path)] if source.neighbours or wiki is None else []
    if wiki is not None:
        pools.append(_load_pool(wiki))
    own_titles = {_normalize_title(paragraph.title) for paragraph in item.paragraphs if paragraph.title}
    seen = {paragraph.text for paragraph in item.paragraphs}
    article: Iterator[tuple[str, str]] = iter(())
    if request.options.get("article"):
        own = [one for one in _load_neighbours(path) if _normalize_title(one[0]) in own_titles]
        article = _shuffle_pool(own, request.rng)
    others = (one for pool in pools for one in _shuffle_pool(pool, request.rng))
    foreign = (one for one in others if _normalize_title(one[0]) not in own_titles)
    for title, text in chain(article, foreign):
        if text not in seen:
            seen.add(text)
            yield _render_paragraph(title, text, request)
    if request.language == "zh":
        yield from _book_paragraphs(request)


def _shuffle_pool(pool: Sequence[tuple[str, str]], rng: Random) -> Iterator[tuple[str, str]]:
    for at in rng.sample(range(len(pool)), len(pool)):
        yield pool[at]


# A question set has some ten thousand titles, and `article` compares all of them for every question.
@lru_cache(maxsize=1 << 15)
def _normalize_title(title: str) -> str:
    return " ".join(words(title.replace("_", " ")))


@lru_cache(maxsize=4)
def _load_neighbours(path: Path) -> list[tuple[str, str]]:
    """Load all paragraphs of a question set, without repeats."""
    paragraphs = chain.from_iterable(item.paragraphs for item in load_items(path))
    return list({paragraph.text: (paragraph.title, paragraph.text) for paragraph in paragraphs}.values())


@lru_cache(maxsize=2)
def _load_pool(path: Path) -> list[tuple[str, str]]:
    """Load the pool of paragraphs; InputError names the line of a bad one."""
    pool: list[tuple[str, str]] = []
    for _, where, record in read_records(path):
        if not isinstance(record, dict) or not isinstance(record.get("text"), str):
            raise InputError(f"{path}, {where}: expected an object with title and text")
        pool.append((str(record.get("title", "")), record["text"].strip()))
    return pool


def _book_paragraphs(request: SampleRequest) -> Iterator[str]:
    """Yield paragraphs of Chinese books, for documents that need more than the question set has."""
    paragraph = ""
    for sentence in open_essays(request.language, request.data_dir, request.rng)[0]:
        paragraph += sentence
        if len(paragraph) > _PAGE:
            yield f"{paragraph.strip()}\n\n"
            paragraph = ""


# Characters of a paragraph taken from a book.
_PAGE: Final = 240

_ABOUT: Final = {
    "qa_1": ("RULER: SQuAD (zh: CMRC 2018) among other paragraphs", ("en", "zh")),
    "qa_2": ("RULER: HotpotQA (zh: DRCD) among other paragraphs", ("en", "zh")),
    "hqa": ("RULER-HQA: HotpotQA among 50 to 25,600 paragraphs", ("en",)),
    "hqa_2wiki": ("the same with 2WikiMultihopQA", ("en",)),
    "hqa_musique": ("the same with MuSiQue", ("en",)),
    "cmrc": ("CMRC 2018 among other Chinese paragraphs", ("zh",)),
    "drcd": ("DRCD among other Chinese paragraphs", ("zh",)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ParagraphOptions(DepthOptions):
    """The options of questions among paragraphs."""

    paragraphs: AtLeastOne | None = None
    """Their number, in place of tokens."""
    article: bool | None = None
    """True: the other paragraphs of the same article come first."""
    titles: bool | None = None
    """False: the paragraphs stand without their titles."""
    skip_titles: AtLeastOne | None = None
    """No questions on so many titles that come first in the file: they are left to measure on."""


TASKS: Final = tuple(
    Task(name=name, description=about, build=build, languages=languages, options=ParagraphOptions)
    for name, (about, languages) in _ABOUT.items()
)
