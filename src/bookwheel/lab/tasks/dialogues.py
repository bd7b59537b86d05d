"""Long conversations.

nth_request    a user asks an assistant for piece after piece; which title did the n-th of several like ones get?
dialogue       two people talk over many dated sessions; what was said of something by one of them, last?
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Annotated, Final

from annotated_types import Ge, Le

from bookwheel.lab.tasks import filler, lexicon
from bookwheel.lab.tasks.assembly import assemble
from bookwheel.lab.tasks.definition import SampleDraft, SampleRequest, Task
from bookwheel.lab.tasks.facts import Fact

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

FORMS: Final = ("riddle", "toast", "short letter", "fable", "lullaby", "speech", "recipe", "diary entry")
TOPICS: Final = ("lanterns", "rain", "a lost key", "the sea", "winter", "an old dog", "bread", "the moon", "clocks")
ASKS: Final = (
    "Please write a {form} about {topic}.",
    "Could I have a {form} about {topic}?",
    "Now a {form} about {topic}, if you would.",
    "I would like a {form} about {topic}.",
)
ORDINALS: Final = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


def build_nth_request(request: SampleRequest) -> SampleDraft:
    """Hide several similar requests among others, and ask for one by its number."""
    rng = request.rng
    alike = request.read_int("alike", 4)
    wanted = (rng.choice(FORMS), rng.choice(TOPICS))
    titles = _draw_titles(rng)
    own = [next(titles) for _ in range(alike)]
    asked = rng.randrange(alike)
    facts: list[Fact] = []
    for at, place in enumerate(sorted(rng.random() for _ in own)):
        note = f"{wanted[0]} about {wanted[1]}, the {ORDINALS[at]}: {own[at]}" if at <= asked else ""
        facts.append(Fact(text=_draw_exchange(rng, wanted, own[at]), place=place, note=note))
    return SampleDraft(
        question=f"The user asks for a {wanted[0]} about {wanted[1]} more than once. Under which title does the "
        f"assistant give the {ORDINALS[asked]} of them? Give the title alone.",
        golds=(own[asked],),
        metric="exact",
        body=assemble(
            _draw_exchanges(rng, wanted, titles),
            [fact.to_passage("\n\n") for fact in facts],
            tokens=request.tokens,
            tokenizer=request.tokenizer,
            task=request.task,
        ),
        metadata={"alike": alike, "asked": asked + 1},
    )


def _draw_titles(rng: Random) -> Iterator[str]:
    """Yield titles without repeats: with a place added once the plain ones are used up."""
    used: set[str] = set()
    while True:
        title = f"{rng.choice(lexicon.OWN_ADJECTIVES)} {rng.choice(lexicon.OWN_NOUNS)}".title()
        if title in used:
            title = f"{title} of {lexicon.draw_place(rng)}"
        if title not in used:
            used.add(title)
            yield title


def _draw_exchange(rng: Random, wanted: tuple[str, str], title: str) -> str:
    asked = rng.choice(ASKS).format(form=wanted[0], topic=wanted[1])
    lines = filler.prose("en", rng)
    body = "".join(next(lines) for _ in range(rng.randrange(2, 5))).replace("\n\n", " ").strip()
    return f"User: {asked}\nAssistant: {title}\n{body}"


def _draw_exchanges(rng: Random, barred: tuple[str, str], titles: Iterator[str]) -> Iterator[str]:
    while True:
        wanted = (rng.choice(FORMS), rng.choice(TOPICS))
        if wanted != barred:
            yield _draw_exchange(rng, wanted, next(titles)) + "\n\n"


_STATEMENTS: Final = (
    ("dog", "By the way, my dog is called {value}.", "I have a new dog, and this one is called {value}.", "name"),
    ("boat", "I have named my boat {value}.", "I had the boat painted, and it is called {value} now.", "name"),
    ("doctor", "My doctor is someone called {value}.", "I have changed doctors; I go to {value} now.", "name"),
    ("office", "My office is at {value}.", "They have moved my office to {value}.", "place"),
    (
        "favourite inn",
        "There is no better inn than the {value}.",
        "I take it back, the {value} is the better inn.",
        "name",
    ),
)
_SMALL_TALK: Final = {
    "en": (
        "Did you sleep well?",
        "The weather has not made up its mind.",
        "I never know what to say about that.",
        "You told me so last time.",
        "Shall we talk about something else?",
        "I have been thinking about it all week.",
        "That is what everybody says.",
        "Let me get some tea first.",
        "Well, it cannot be helped.",
        "I was late again.",
    ),
    "zh": (
        "昨晚睡得好吗？",
        "这天气说变就变。",
        "这种事我从来不知道怎么说。",
        "你上次就说过了。",
        "我们说点别的吧。",
        "我想了整整一个星期。",
        "大家都这么说。",
        "我先去泡杯茶。",
        "唉，没办法的事。",
        "我又来晚了。",
    ),
}
_HEADINGS: Final = {
    "en": "\n== Session {session}, {day.day} {day:%B} {day.year} ==\n",
    "zh": "\n== 第{session}次谈话，{day.year}年{day.month}月{day.day}日 ==\n",
}
COLONS: Final = {"en": ": ", "zh": "："}
"""What stands between a speaker and what they say."""
# Turns of one session.
_SESSION: Final = 24


def build_dialogue(request: SampleRequest) -> SampleDraft:
    """Let one speaker state a thing and perhaps change it later, while the other states the same of their own."""
    rng = request.rng
    speaker, other = rng.sample(lexicon.GIVEN, 2)
    thing, first, later, asked = rng.choice(_STATEMENTS)
    values: dict[str, None] = {}
    while len(values) < 4:  # noqa: PLR2004 - two of each speaker
        values[lexicon.coin_word(rng).capitalize()] = None
    own, others = list(values)[:2], list(values)[2:]
    changed = rng.random() < 0.5  # noqa: PLR2004 - half of the samples
    facts: list[Fact] = []
    for who, speaker_values in ((speaker, own), (other, others)):
        places = sorted(rng.random() for _ in speaker_values)
        for at, (value, place) in enumerate(zip(speaker_values, places, strict=True)):
            if at == 0 or changed:
                text = f"{who}: {(later if at else first).format(value=value)}"
                note = f"{speaker}'s {thing}: {value}" if who == speaker else ""
                facts.append(Fact(text=text, place=place, note=note, key=thing))
    return SampleDraft(
        question=f"What is the {asked} of {speaker}'s {thing}, by the last that was said of it? "
        f"Give the {asked} alone.",
        golds=(own[changed],),
        metric="exact",
        body=assemble(
            draw_turns(rng, (speaker, other)),
            [fact.to_passage("\n") for fact in facts],
            tokens=request.tokens,
            tokenizer=request.tokenizer,
            task=request.task,
        ),
        metadata={"changed": changed},
    )


def draw_turns(rng: Random, speakers: tuple[str, str], language: str = "en") -> Iterator[str]:
    """Yield turns of a conversation, in sessions some days apart."""
    day, session, turn = date(2019, 3, 1), 0, 0
    lines = filler.prose(language, rng)
    while True:
        if turn % _SESSION == 0:
            session += 1
            day = _next_session_day(day, rng.randrange(1, 9))
            yield _HEADINGS[language].format(session=session, day=day)
        said = next(lines).strip() if rng.random() < 0.6 else rng.choice(_SMALL_TALK[language])  # noqa: PLR2004 - a mixture
        yield f"{speakers[turn % 2]}{COLONS[language]}{said}\n"
        turn += 1


def _next_session_day(day: date, days: int) -> date:
    """Return the next session's day. After the year 9000 the calendar starts again, because dates end at 9999."""
    return day + timedelta(days=days) if day.year < 9000 else date(2019, 3, 1)  # noqa: PLR2004 - a far year


@dataclass(frozen=True, slots=True, kw_only=True)
class AlikeOptions:
    """The option of `nth_request`."""

    alike: Annotated[int, Ge(1), Le(len(ORDINALS))] | None = None
    """Requests alike; 4 by default."""


TASKS: Final = (
    Task(
        name="nth_request",
        description="the n-th of several like requests",
        build=build_nth_request,
        options=AlikeOptions,
    ),
    Task(name="dialogue", description="what was last said, over many sessions", build=build_dialogue),
)
