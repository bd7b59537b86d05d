"""Long conversations.

nth_request    a user asks an assistant for piece after piece; which title did the n-th of several like ones get?
dialogue       two people talk over many dated sessions; what was said of something by one of them, last?
recite         the text that the n-th of several equal requests got, word for word. The requests are worded alike and
               the texts are made in one way, so a search finds all of them or none; only their order tells them apart,
               as in MRCR. The answer begins with a code, so that nothing earns by chance
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Final

from annotated_types import Ge, Le

from bookwheel.lab.tasks.definition import SampleDraft, SampleRequest, Task
from bookwheel.lab.tasks.material import (
    GAPS,
    GIVEN,
    OWN_ADJECTIVES,
    OWN_NOUNS,
    Fact,
    coin_word,
    draw_distinct,
    draw_place,
    hide,
    write_prose,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

_MOST: Final = 8
"""Like requests of one sample."""
_FORMS: Final = {
    "en": ("riddle", "toast", "short letter", "fable", "lullaby", "speech", "recipe", "diary entry"),
    "zh": ("谜语", "祝酒词", "短信", "寓言", "摇篮曲", "演说", "菜谱", "日记"),
}
_TOPICS: Final = {
    "en": ("lanterns", "rain", "a lost key", "the sea", "winter", "an old dog", "bread", "the moon", "clocks"),
    "zh": ("灯笼", "下雨", "丢失的钥匙", "大海", "冬天", "老狗", "面包", "月亮", "钟表"),
}
_ASKS: Final = {
    "en": (
        "Please write a {form} about {topic}.",
        "Could I have a {form} about {topic}?",
        "Now a {form} about {topic}, if you would.",
        "I would like a {form} about {topic}.",
    ),
    "zh": (
        "请写一篇关于{topic}的{form}。",
        "能给我一篇关于{topic}的{form}吗？",
        "再来一篇关于{topic}的{form}吧。",
    ),
}
_ORDINALS: Final = {
    "en": ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"),
    "zh": ("第一", "第二", "第三", "第四", "第五", "第六", "第七", "第八"),
}
_ROLES: Final = {"en": ("User: ", "Assistant: "), "zh": ("用户：", "助手：")}


def _draw_wanted(rng: Random, language: str) -> tuple[str, str]:
    return rng.choice(_FORMS[language]), rng.choice(_TOPICS[language])


def _draw_request(rng: Random, language: str, wanted: tuple[str, str]) -> str:
    """Return a request in one of its wordings, up to the text that it gets."""
    user, assistant = _ROLES[language]
    asked = rng.choice(_ASKS[language]).format(form=wanted[0], topic=wanted[1])
    return f"{user}{asked}\n{assistant}"


def _draw_others(
    rng: Random, language: str, barred: tuple[str, str], exchange: Callable[[tuple[str, str]], str]
) -> Iterator[str]:
    """Yield requests for other pieces with what they get, forever."""
    while True:
        wanted = _draw_wanted(rng, language)
        if wanted != barred:
            yield exchange(wanted) + "\n\n"


def build_nth_request(request: SampleRequest) -> SampleDraft:
    """Hide several similar requests among others, and ask for one by its number."""
    rng, ordinals = request.rng, _ORDINALS["en"]
    alike = request.read_int("alike", 4)
    form, topic = wanted = _draw_wanted(rng, "en")
    titles = _draw_titles(rng)
    own = list(islice(titles, alike))
    asked = rng.randrange(alike)

    def exchange(wanted: tuple[str, str], title: str) -> str:
        request = _draw_request(rng, "en", wanted)
        body = "".join(islice(write_prose("en", rng), rng.randrange(2, 5))).replace("\n\n", " ").strip()
        return f"{request}{title}\n{body}"

    facts: list[Fact] = []
    for at, place in enumerate(sorted(rng.random() for _ in own)):
        note = f"{form} about {topic}, the {ordinals[at]}: {own[at]}" if at <= asked else ""
        facts.append(Fact(text=exchange(wanted, own[at]), place=place, note=note))
    return SampleDraft(
        question=f"The user asks for a {form} about {topic} more than once. Under which title does the "
        f"assistant give the {ordinals[asked]} of them? Give the title alone.",
        golds=(own[asked],),
        metric="exact",
        body=hide(request, facts, _draw_others(rng, "en", wanted, lambda other: exchange(other, next(titles))), "\n\n"),
        metadata={"alike": alike, "asked": asked + 1},
    )


def _draw_titles(rng: Random) -> Iterator[str]:
    """Yield titles without repeats: with a place added once the plain ones are used up."""
    used: set[str] = set()
    while True:
        title = f"{rng.choice(OWN_ADJECTIVES)} {rng.choice(OWN_NOUNS)}".title()
        if title in used:
            title = f"{title} of {draw_place(rng)}"
        if title not in used:
            used.add(title)
            yield title


_CODE_LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_CODE_LENGTH: Final = 8
_QUESTIONS: Final = {
    "en": (
        "The user asks for a {form} about {topic} more than once. Begin with {code} and then repeat, word for word, "
        "what the assistant wrote for the {ordinal} of these requests. Give nothing else."
    ),
    "zh": (
        "用户不止一次要一篇关于{topic}的{form}。先写{code}，然后一字不差地重复助手为其中{ordinal}次请求所写的内容。"
        "不要写别的。"
    ),
}
_NOTES: Final = {
    "en": ("{number} requests for a {form} about {topic} so far", "The {ordinal} {form} about {topic}: {text}"),
    "zh": ("关于{topic}的{form}，至今{number}次请求", "{ordinal}篇关于{topic}的{form}：{text}"),
}


def build_recital(request: SampleRequest) -> SampleDraft:
    """Hide equal requests among others, and ask for the text that one of them got."""
    rng, language = request.rng, request.language
    needles = request.read_int("needles", _MOST)
    form, topic = wanted = _draw_wanted(rng, language)
    code = "".join(rng.choices(_CODE_LETTERS, k=_CODE_LENGTH))
    lines = write_prose(language, rng)

    def write() -> str:
        return GAPS[language].join((next(lines).strip(), next(lines).strip()))

    def exchange(wanted: tuple[str, str], text: str) -> str:
        return _draw_request(rng, language, wanted) + text

    texts = [write() for _ in range(needles)]
    asked = rng.randrange(needles)
    names = {"form": form, "topic": topic, "ordinal": _ORDINALS[language][asked], "code": code}
    counted, kept = _NOTES[language]
    facts: list[Fact] = []
    for at, place in enumerate(sorted(rng.random() for _ in texts)):
        note = counted.format(number=at + 1, **names) if at < asked else kept.format(text=texts[at], **names)
        text = exchange(wanted, texts[at])
        facts.append(Fact(text=text, place=place, note=note if at <= asked else "", key="recite"))
    return SampleDraft(
        question=_QUESTIONS[language].format(**names),
        golds=(texts[asked], code),
        metric="verbatim",
        body=hide(request, facts, _draw_others(rng, language, wanted, lambda other: exchange(other, write())), "\n\n"),
        metadata={"needles": needles, "asked": asked + 1},
    )


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
    speaker, other = rng.sample(GIVEN, 2)
    thing, first, later, asked = rng.choice(_STATEMENTS)
    names = draw_distinct(lambda: coin_word(rng).capitalize())
    own, others = list(islice(names, 2)), list(islice(names, 2))
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
        body=hide(request, facts, draw_turns(rng, (speaker, other)), "\n"),
        metadata={"changed": changed},
    )


def draw_turns(rng: Random, speakers: tuple[str, str], language: str = "en") -> Iterator[str]:
    """Yield turns of a conversation, in sessions some days apart."""
    day, session, turn = date(2019, 3, 1), 0, 0
    lines = write_prose(language, rng)
    while True:
        if turn % _SESSION == 0:
            session += 1
            days = rng.randrange(1, 9)
            # After the year 9000 the calendar starts again, because dates end at 9999.
            day = day + timedelta(days=days) if day.year < 9000 else date(2019, 3, 1)  # noqa: PLR2004 - a far year
            yield _HEADINGS[language].format(session=session, day=day)
        said = next(lines).strip() if rng.random() < 0.6 else rng.choice(_SMALL_TALK[language])  # noqa: PLR2004 - a mixture
        yield f"{speakers[turn % 2]}{COLONS[language]}{said}\n"
        turn += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AlikeOptions:
    """The option of `nth_request`."""

    alike: Annotated[int, Ge(1), Le(_MOST)] | None = None
    """Requests alike; 4 by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecitalOptions:
    """The option of `recite`."""

    needles: Annotated[int, Ge(1), Le(_MOST)] | None = None
    """Equal requests; 8 by default."""


TASKS: Final = (
    Task(
        name="nth_request",
        description="the n-th of several like requests",
        build=build_nth_request,
        options=AlikeOptions,
    ),
    Task(name="dialogue", description="what was last said, over many sessions", build=build_dialogue),
    Task(
        name="recite",
        description="the text that the n-th of eight equal requests got, word for word",
        build=build_recital,
        languages=("en", "zh"),
        options=RecitalOptions,
    ),
)
