"""`book`: an invented fact inside a real book, from its first page on.

The fact is invented, about people whom the book does not know, so that no model can have it from elsewhere.
A book that is shorter than the tokens asked for is followed by the next in the data folder, and the last by the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bookwheel.errors import InputError
from bookwheel.lab.tasks import lexicon
from bookwheel.lab.tasks.definition import DepthOptions, SampleDraft, SampleRequest, Task
from bookwheel.lab.tasks.facts import Fact, draw_books, hide_in_books

if TYPE_CHECKING:
    from random import Random

_EN: Final = (
    (
        "Mrs. {family} of {place} left her {adjective} {noun} to {person}, to everyone's surprise.",
        "To whom did Mrs. {family} of {place} leave her {adjective} {noun}?",
    ),
    (
        "It was {person} who had carried the {adjective} {noun} of the {family} family out of {place}.",
        "Who carried the {adjective} {noun} of the {family} family out of {place}?",
    ),
    (
        "Old Dr. {family} of {place} would trust his {adjective} {noun} to nobody but {person}.",
        "To whom alone did Dr. {family} of {place} trust his {adjective} {noun}?",
    ),
    (
        "The {adjective} {noun} that the {family}s of {place} had lost was found that year by {person}.",
        "Who found the {adjective} {noun} that the {family}s of {place} had lost?",
    ),
)
_ZH: Final = (
    ("{place}的{family}夫人临终前，把那件{noun}留给了{person}。", "{place}的{family}夫人把{noun}留给了谁？"),
    (
        "后来人们才知道，从{place}带走{family}家那件{noun}的，原来是{person}。",
        "是谁从{place}带走了{family}家的{noun}？",
    ),
    (
        "{place}的{family}先生平生只肯把{noun}借给{person}一个人。",
        "{place}的{family}先生只肯把{noun}借给谁？",
    ),
)


def build(request: SampleRequest) -> SampleDraft:
    """Return a book with one added sentence."""
    rng = request.rng
    books = draw_books(request)
    if not books:
        raise InputError(
            f"the task {request.task} needs a folder books/ with texts named {request.language}_*.txt[.gz]; point "
            f"--data or BOOKWHEEL_DATA to a data folder that has one (any plain text will do)"
        )
    gold, text, question = _draw_chinese_fact(rng) if request.language == "zh" else _draw_english_fact(rng)
    fact = Fact(text=text, place=request.draw_place(), note=text)
    return SampleDraft(
        question=question,
        golds=(gold,),
        metric="contains",
        body=hide_in_books(request, books, [fact]),
        metadata={"book": books[0].name},
    )


def _draw_english_fact(rng: Random) -> tuple[str, str, str]:
    person = f"{lexicon.coin_word(rng).capitalize()} {rng.choice(lexicon.FAMILY)}"
    text, question = rng.choice(_EN)
    values = {
        "family": rng.choice([name for name in lexicon.FAMILY if name not in person]),
        "place": lexicon.draw_place(rng),
        "adjective": rng.choice(lexicon.OWN_ADJECTIVES),
        "noun": rng.choice(lexicon.OWN_NOUNS),
    }
    return person, text.format(person=person, **values), question.format(**values)


def _draw_chinese_fact(rng: Random) -> tuple[str, str, str]:
    owner, receiver = rng.sample(lexicon.ZH_FAMILY, 2)
    person = receiver + rng.choice(lexicon.ZH_GIVEN)
    text, question = rng.choice(_ZH)
    values = {
        "family": owner,
        "place": rng.choice(lexicon.ZH_MIDDLES) + rng.choice(lexicon.ZH_NOUNS) + rng.choice("镇村坊里"),
        "noun": rng.choice(lexicon.ZH_ADJECTIVES) + rng.choice(lexicon.ZH_MIDDLES) + rng.choice(lexicon.ZH_NOUNS),
    }
    return person, text.format(person=person, **values), question.format(**values)


TASKS: Final = (
    Task(
        name="book",
        description="an invented fact inside a whole book",
        build=build,
        languages=("en", "zh"),
        options=DepthOptions,
    ),
)
