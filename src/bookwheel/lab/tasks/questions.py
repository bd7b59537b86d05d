"""Questions about real paragraphs, hidden among other real paragraphs.

    qa_1                RULER's SQuAD task (CMRC 2018 in Chinese)
    qa_2                RULER's HotpotQA task (DRCD in Chinese): distractors are other questions' paragraphs first
    hqa                 RULER-HQA as MemAgent has it: a HotpotQA question, its ten paragraphs, and paragraphs of a
                        large pool, shuffled; `paragraphs=200` sets their number instead of the tokens
    hqa_2wiki           the same with 2WikiMultihopQA
    hqa_musique         the same with MuSiQue
    cmrc, drcd          Chinese reading comprehension
    memagent_hqa        MemAgent's documents of HotpotQA paragraphs, as its script writes them

No distractor bears the title of one of the question's own paragraphs, unless `article=true` asks for the other
paragraphs of the same article first: they are the hardest to tell from the right one. The question is the same at every
length. The answer is judged by `contains`, but by `choice` where the question itself holds a gold answer or the gold is
a plain yes or no: there, finding it in a longer answer would prove nothing, so what the answer says is judged.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from random import Random
from typing import Final

from bookwheel.errors import InputError
from bookwheel.lab.scoring.choices import is_polar
from bookwheel.lab.tasks.assembly import (
    AssembledDocument,
    SourcePassage,
    count_tokens,
    join,
    length_error,
    number_documents,
)
from bookwheel.lab.tasks.base import GoldEvidence, InfeasibleSample
from bookwheel.lab.tasks.data_dir import DataDir, read_all_records
from bookwheel.lab.tasks.definition import AtLeastOne, Percent, SampleDraft, SampleRequest, task
from bookwheel.lab.tasks.formats import (
    QuestionItem,
    load_hotpot,
    load_items,
    load_question_set,
)
from bookwheel.lab.tasks.material import ABSENT, open_essays
from bookwheel.text.normalization import contains_words, words


@dataclass(frozen=True, slots=True)
class QuestionSource:
    """A task's question files by language and split, and the choice of its distractors."""

    about: str
    files: dict[tuple[str, str], str]
    neighbours: bool = True
    """True: the other questions' paragraphs come before those of the pool."""

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(language for language, _ in self.files))


_HOTPOT: Final = {("en", "dev"): "qa_en/hotpotqa_dev.jsonl", ("en", "train"): "qa_en/hotpotqa_train.jsonl"}
_WIKI2: Final = {split: name.replace("hotpotqa", "2wikimultihopqa") for split, name in _HOTPOT.items()}
_MUSIQUE: Final = {split: name.replace("hotpotqa", "musique") for split, name in _HOTPOT.items()}
_SQUAD: Final = {("en", "dev"): "qa_en/squad_v1.1_dev.json", ("en", "train"): "qa_en/squad_v1.1_train_subset.json"}
_CMRC: Final = {("zh", "dev"): "qa_zh/cmrc2018_dev.json", ("zh", "train"): "qa_zh/cmrc2018_trial.json"}
_DRCD: Final = {("zh", "dev"): "qa_zh/drcd_dev_test.json"}
SOURCES: Final = {
    "qa_1": QuestionSource("RULER: SQuAD (zh: CMRC 2018) among other paragraphs", _SQUAD | _CMRC),
    "qa_2": QuestionSource("RULER: HotpotQA (zh: DRCD) among other paragraphs", _HOTPOT | _DRCD),
    "hqa": QuestionSource("RULER-HQA: HotpotQA among 50 to 25,600 paragraphs", _HOTPOT, neighbours=False),
    "hqa_2wiki": QuestionSource("the same with 2WikiMultihopQA", _WIKI2, neighbours=False),
    "hqa_musique": QuestionSource("the same with MuSiQue", _MUSIQUE, neighbours=False),
    "cmrc": QuestionSource("CMRC 2018 among other Chinese paragraphs", _CMRC),
    "drcd": QuestionSource("DRCD among other Chinese paragraphs", _DRCD),
}
_HEADS: Final = {"en": "Passage: {title}\n{text}\n\n", "zh": "【{title}】\n{text}\n\n"}
# Tokens that the paper's lengths have a paragraph: 50 are its 7K, 25,600 its 3.5M.
_NOMINAL: Final = 140
# Characters of a paragraph taken from a book.
_PAGE: Final = 240


def build(request: SampleRequest) -> SampleDraft:
    """Return the question with this index, in the seed's order."""
    path = _find_file(request.task, request.language, request.split, request.data_dir)
    item = _pick_item(request, path)
    distractors = _draw_distractors(request, path, item)
    own = [_build_passage(request, item, number) for number in range(len(item.paragraphs))]
    request.rng.shuffle(own)
    count = request.options.get("paragraphs")
    asked = words(item.question)
    is_inside = any(contains_words(asked, words(gold)) for gold in item.golds)
    metric = "choice" if is_inside or is_polar(item.golds) else "contains"
    return SampleDraft(
        question=item.question,
        golds=item.golds or (ABSENT[request.language],),
        metric=item.metric or (metric if item.golds else "unanswerable"),
        body=_fill_paragraphs(request, count, own, distractors) if count else _fill_tokens(request, own, distractors),
        length=count * _NOMINAL if count else None,
        metadata={"source": path.name, "question_id": item.id, **request.options},
    )


for _name, _source in SOURCES.items():
    task(
        _name,
        _source.about,
        languages=_source.languages,
        depth=Percent,  # of the paragraphs with the answer
        paragraphs=AtLeastOne,  # their number, in place of tokens
        article=bool,
        titles=bool,  # False: the paragraphs stand without their titles
        skip_titles=AtLeastOne,  # no questions on so many titles that come first: they are left to measure on
    )(build)


def describe_left_out(task: str, language: str, split: str, data: Path | None) -> list[str]:
    """Return a sentence for each reason why questions of the task's file are not used."""
    if task not in SOURCES:
        return []
    path = _find_file(task, language, split, DataDir.locate(data))
    questions = load_question_set(path)
    return [
        f"left out of {path.name}: {count} of its questions: {reason} ({len(questions.items)} are used)"
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
            f"{path} holds {len(items)} questions that can be answered from their paragraphs, and more were asked for: "
            f"lower --count{_list_reasons(path)}"
        )
    return items[_shuffle(len(items), f"{request.task} {request.seed}")[request.index]]


def _list_reasons(path: Path) -> str:
    left_out = load_question_set(path).left_out
    return "".join(f"; {count} are left out: {reason}" for reason, count in left_out.items())


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


def _fill_tokens(request: SampleRequest, own: list[SourcePassage], distractors: Iterator[str]) -> AssembledDocument:
    """Build a document by tokens, with the question's paragraphs that fit; those with support are always in it."""
    # An unanswerable question needs the paragraph that it is asked about.
    needed = [passage for passage in own if passage.evidence] or own
    least = count_tokens([passage.text for passage in needed], request.tokenizer)
    if least > request.tokens:
        raise length_error(request.task, request.tokens, least)
    passages = list(needed)
    for passage in own:
        if passage not in needed:
            least += request.tokenizer.count(passage.text)
            if least <= request.tokens:
                passages.append(passage)
    return request.assemble(distractors, passages)


def _fill_paragraphs(
    request: SampleRequest, wanted: int, own: list[SourcePassage], distractors: Iterator[str]
) -> AssembledDocument:
    """Build a document by number of paragraphs."""
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
    return join(others, own, request.tokenizer)


def _build_passage(request: SampleRequest, item: QuestionItem, number: int) -> SourcePassage:
    """Return one of the question's own paragraphs with a random place."""
    paragraph = item.paragraphs[number]
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
    wiki = request.data_dir.find("wiki/wiki_paragraphs_en.jsonl") if request.language == "en" else None
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
    if request.language == "zh":  # documents may need more than the question set has
        paragraph = ""
        for sentence in open_essays(request.language, request.data_dir, request.rng)[0]:
            paragraph += sentence
            if len(paragraph) > _PAGE:
                yield f"{paragraph.strip()}\n\n"
                paragraph = ""


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
    for _, where, record in read_all_records(path):
        if not isinstance(record, dict) or not isinstance(record.get("text"), str):
            raise InputError(f"{path}, {where}: expected an object with title and text")
        pool.append((str(record.get("title", "")), record["text"].strip()))
    return pool


@task(
    "memagent_hqa",
    "RULER-HQA as MemAgent's script writes it: numbered documents, 140 tokens each by name",
    paragraphs=AtLeastOne,
)
def build_memagent(request: SampleRequest) -> SampleDraft:
    """Return the question with this index, in the file's order.

    The pool is every paragraph of the file, sorted, each once. A list begins with the question's own paragraphs and
    goes on with a draw from the rest; it is shuffled and numbered.
    """
    path = request.data_dir.file or request.data_dir.require(_HOTPOT["en", request.split], f"the task {request.task}")
    questions, documents = load_hotpot(path)
    if request.index >= len(questions):
        raise InputError(f"{path} holds {len(questions)} questions and {request.index + 1} were asked for")
    paragraphs = int(request.options.get("paragraphs", max(1, request.tokens // _NOMINAL)))
    question = questions[request.index]
    if paragraphs < len(question.own):
        raise InfeasibleSample(f"this question brings {len(question.own)} paragraphs and {paragraphs} were asked for")
    # Seeded anew for every question, so at one number of paragraphs each has its own in the same slots: a reader could
    # learn the places.
    numbers = question.choose_documents(len(documents), min(paragraphs, len(documents)), Random(42))  # noqa: S311
    Random(4).shuffle(numbers)  # noqa: S311 - not for secrets
    text = number_documents(documents[number] for number in numbers)
    item = next((one for one in load_items(path) if one.id == question.id), None)
    # The sentences that HotpotQA marks.
    quotes = [(p.title, p.text[start:end]) for p in (item.paragraphs if item else ()) for start, end in p.support]
    places = sorted(((text.find(quote), title, quote) for title, quote in quotes), key=lambda one: one[0])
    return SampleDraft(
        question=question.query,
        golds=question.outputs,
        metric="contains",
        length=paragraphs * _NOMINAL if "paragraphs" in request.options else None,
        body=AssembledDocument(
            pieces=(text,),
            tokens=count_tokens([text], request.tokenizer),
            evidence=tuple(
                GoldEvidence(start=place, end=place + len(quote), note=f"{title}: {quote}")
                for place, title, quote in places
                if place >= 0
            ),
        ),
        metadata={
            "source": path.name,
            "paragraphs": len(numbers),
            "slots": sorted(numbers.index(number) + 1 for number in question.own if number in numbers),
        },
    )
