"""The samples that the local model's reader is measured on: several questions about each of some articles.

    python benchmarks/quality/reader_samples.py OUT [--articles 20] [--after 0] [--questions 10] [--absent 4]
        [--tokens 4000] [--around 0] [--items FILE] [--language en]

A document is the beginning of a Wikipedia article from SQuAD's development set, in its own order; `--around` puts other
articles before and after it. The questions `answered` are on its paragraphs, each on another one; the questions
`absent` are on later paragraphs of the same article, and none of their answers stands in the document. Questions on one
document follow each other, so that a model with a prompt cache computes its sections once.
"""

from __future__ import annotations

import argparse
import asyncio
from itertools import groupby, islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from bookwheel.environment import Environment
from bookwheel.lab.tasks import Sample, SampleDocument, write_samples
from bookwheel.lab.tasks.data_dir import DataDir
from bookwheel.lab.tasks.formats import load_items
from bookwheel.lab.tasks.material import ABSENT
from bookwheel.models.local import LocalModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bookwheel.lab.tasks.formats import QuestionItem
    from bookwheel.text.tokens import Tokenizer


def take_beginning(items: list[QuestionItem], tokenizer: Tokenizer, tokens: int) -> list[str]:
    """Return the article's first paragraphs, as many as fit."""
    paragraphs: list[str] = []
    for text in dict.fromkeys(item.paragraphs[0].text for item in items):
        if tokenizer.count("\n\n".join((*paragraphs, text))) > tokens:
            break
        paragraphs.append(text)
    return paragraphs


def surround(paragraphs: list[str], others: list[str], tokenizer: Tokenizer, tokens: int, random: Random) -> str:
    """Return the paragraphs as they follow each other, at a random place among so many tokens of other articles."""
    around: list[str] = []
    left = tokens
    for text in random.sample(others, len(others)):
        left -= tokenizer.count(text)
        if left < 0:
            break
        around.append(text)
    at = random.randint(0, len(around))
    return "\n\n".join((*around[:at], *paragraphs, *around[at:]))


def draw(items: list[QuestionItem], count: int, random: Random) -> list[QuestionItem]:
    """Draw questions, each on another paragraph."""
    shuffled = random.sample(items, len(items))
    return list({item.paragraphs[0].text: item for item in shuffled}.values())[:count]


def make_samples(
    title: str, items: list[QuestionItem], others: list[str], tokenizer: Tokenizer, options: argparse.Namespace
) -> Iterator[Sample]:
    """Yield the samples of one article; none where it is too short."""
    random = Random(f"reader/{title}")
    paragraphs = take_beginning(items, tokenizer, options.tokens)
    text = surround(paragraphs, others, tokenizer, options.around, Random(f"around/{title}"))
    inside = [item for item in items if item.paragraphs[0].text in paragraphs]
    outside = [
        item
        for item in items
        if item.paragraphs[0].text not in paragraphs
        and not any(gold.casefold() in text.casefold() for gold in item.golds)
    ]
    if len(paragraphs) < options.questions or len(outside) < options.absent:
        return
    absent_gold = ABSENT[options.language]
    answered = [(item, item.golds, "contains") for item in draw(inside, options.questions, random)]
    absent = [(item, (absent_gold,), "unanswerable") for item in draw(outside, options.absent, random)]
    for item, golds, metric in answered + absent:
        yield Sample(
            id=f"{title}/{item.id}",
            task="article" if metric == "contains" else "article-absent",
            question=item.question,
            golds=golds,
            document=SampleDocument(title, [text]),
            metric=metric,
            length=options.tokens + options.around,
            tokens=tokenizer.count(text),
            seed=0,
        )


async def main() -> None:
    """Write the samples of as many articles as are asked for, in a seeded order."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--articles", type=int, default=20)
    parser.add_argument("--after", type=int, default=0, help="articles to leave out first, as they were seen before")
    parser.add_argument("--questions", type=int, default=10)
    parser.add_argument("--absent", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=4000)
    parser.add_argument("--around", type=int, default=0, help="tokens of other articles around each")
    parser.add_argument(
        "--items", default="qa_en/squad_v1.1_dev.json", help="qa_en/squad_v1.1_train_subset.json to tune on"
    )
    parser.add_argument("--language", default="en", help="the language of the questions")
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    items = load_items(DataDir.locate(options.data).require(options.items, "this benchmark"))
    articles = [(title, list(group)) for title, group in groupby(items, lambda item: item.paragraphs[0].title)]
    Random(0).shuffle(articles)
    model = await LocalModel.open(threads=1, environment=Environment.load())
    texts = {title: list(dict.fromkeys(item.paragraphs[0].text for item in group)) for title, group in articles}
    drawn = (
        list(make_samples(title, group, others, model.tokenizer, options))
        for title, group in articles
        if (others := [text for other in texts if other != title for text in texts[other]])
    )
    chosen = list(islice(filter(None, drawn), options.after, options.after + options.articles))
    await model.aclose()
    count = write_samples([sample for samples in chosen for sample in samples], options.out, force=True)
    print(f"{count} samples of {len(chosen)} articles")


if __name__ == "__main__":
    asyncio.run(main())
