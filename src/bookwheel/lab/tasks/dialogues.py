"""Long conversations.

nth_request    a user asks an assistant for piece after piece; which title did the n-th of several like ones get?
recite         the text that the n-th of several equal requests got, word for word. The requests are worded alike and
               the texts are made in one way, so a search finds all of them or none; only their order tells them apart,
               as in MRCR. The answer begins with a code, so that nothing earns by chance
dialogue       two people talk over many dated sessions; what was said of something by one of them, last?
profile        what somebody says of themselves over many sessions, changes, and takes back:

    Ada: My dog is called Trealvoon.
    Ada: Trealvoon has gone to my sister. Brindle came instead.        the thing itself is not named again
    Ada: Consider what I said of Brindle withdrawn.

A change of a profile names the old value and the new one only, so a search for the thing finds where the chain begins
and nothing of how it goes on. The last word counts: a value, one that was taken up again, or that it was withdrawn.
"""

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from itertools import islice, pairwise
from random import Random
from typing import Annotated, Final

from bookwheel.lab.tasks.definition import BOTH, AtLeastOne, SampleDraft, SampleRequest, task
from bookwheel.lab.tasks.material import (
    GAPS,
    Fact,
    Wordings,
    draw_names,
    draw_place,
    hide,
    list_words,
    spread,
    write_prose,
)
from bookwheel.schema import Ge, Le

_MOST: Final = 8
"""Like requests of one sample."""
_UpToMost = Annotated[int, Ge(1), Le(_MOST)]
_CODE_LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
# Turns of one session.
_SESSION: Final = 24

Wanted = tuple[str, str]
"""The form and the topic of a piece that is asked for."""


class _Requests:
    """Requests of a user in their wordings, with what they get."""

    def __init__(self, request: SampleRequest) -> None:
        self.say = Wordings("talk", request)
        self.wanted = self._draw()

    def _draw(self) -> Wanted:
        return self.say("form"), self.say("topic")

    def ask(self, wanted: Wanted) -> str:
        """Return a request in one of its wordings, up to the text that it gets."""
        user, assistant = self.say["role"]
        asked = self.say("ask").format(form=wanted[0], topic=wanted[1])
        return f"{user}{asked}\n{assistant}"

    def draw_others(self, exchange: Callable[[Wanted], str]) -> Iterator[str]:
        """Yield requests for other pieces with what they get, forever."""
        while True:
            wanted = self._draw()
            if wanted != self.wanted:
                yield exchange(wanted) + "\n\n"


@task("nth_request", "the n-th of several like requests", alike=_UpToMost)
def build_nth_request(request: SampleRequest) -> SampleDraft:
    """Hide several similar requests among others, and ask for one by its number."""
    rng = request.rng
    alike: int = request.options.get("alike", 4)
    requests = _Requests(request)
    (form, topic), ordinals = requests.wanted, requests.say["ordinal"]
    titles = _draw_titles(rng)
    own = list(islice(titles, alike))
    asked = rng.randrange(alike)

    def exchange(wanted: Wanted, title: str) -> str:
        start = requests.ask(wanted)
        body = "".join(islice(write_prose("en", rng), rng.randrange(2, 5))).replace("\n\n", " ").strip()
        return f"{start}{title}\n{body}"

    def tell(at: int) -> tuple[str, str]:
        note = f"{form} about {topic}, the {ordinals[at]}: {own[at]}" if at <= asked else ""
        return exchange(requests.wanted, own[at]), note

    facts = spread(rng, alike, tell)
    others = requests.draw_others(lambda other: exchange(other, next(titles)))
    return SampleDraft(
        question=f"The user asks for a {form} about {topic} more than once. Under which title does the "
        f"assistant give the {ordinals[asked]} of them? Give the title alone.",
        golds=(own[asked],),
        metric="exact",
        body=hide(request, facts, others, "\n\n"),
        metadata={"alike": alike, "asked": asked + 1},
    )


def _draw_titles(rng: Random) -> Iterator[str]:
    """Yield titles without repeats: with a place added once the plain ones are used up."""
    used: set[str] = set()
    while True:
        title = f"{rng.choice(list_words('adjectives'))} {rng.choice(list_words('nouns'))}".title()
        if title in used:
            title = f"{title} of {draw_place(rng)}"
        if title not in used:
            used.add(title)
            yield title


@task("recite", "the text that the n-th of eight equal requests got, word for word", languages=BOTH, needles=_UpToMost)
def build_recital(request: SampleRequest) -> SampleDraft:
    """Hide equal requests among others, and ask for the text that one of them got."""
    rng, language = request.rng, request.language
    needles: int = request.options.get("needles", _MOST)
    requests = _Requests(request)
    say = requests.say
    code = "".join(rng.choices(_CODE_LETTERS, k=8))
    lines = write_prose(language, rng)

    def write() -> str:
        return GAPS[language].join((next(lines).strip(), next(lines).strip()))

    def exchange(wanted: Wanted, text: str) -> str:
        return requests.ask(wanted) + text

    texts = [write() for _ in range(needles)]
    asked = rng.randrange(needles)
    names = dict(zip(("form", "topic"), requests.wanted, strict=True))
    names |= {"ordinal": say["ordinal"][asked], "code": code}
    counted, kept = say["note"]

    def tell(at: int) -> tuple[str, str]:
        note = counted.format(number=at + 1, **names) if at < asked else kept.format(text=texts[at], **names)
        return exchange(requests.wanted, texts[at]), note if at <= asked else ""

    facts = spread(rng, needles, tell, "recite")
    others = requests.draw_others(lambda other: exchange(other, write()))
    return SampleDraft(
        question=say["recital"].format(**names),
        golds=(texts[asked], code),
        metric="verbatim",
        body=hide(request, facts, others, "\n\n"),
        metadata={"needles": needles, "asked": asked + 1},
    )


@task("dialogue", "what was last said, over many sessions")
def build_dialogue(request: SampleRequest) -> SampleDraft:
    """Let one speaker state a thing and perhaps change it later, while the other states the same of their own."""
    rng = request.rng
    speaker, other = rng.sample(list_words("given"), 2)
    thing, first, later, asked = Wordings("talk", request)("statement")
    names = draw_names(rng, "en")
    own, others = list(islice(names, 2)), list(islice(names, 2))
    changed = rng.random() < 0.5  # noqa: PLR2004 - half of the samples

    def tell(who: str, values: list[str]) -> list[Fact]:
        def state(at: int) -> tuple[str, str]:
            note = f"{speaker}'s {thing}: {values[at]}" if who == speaker else ""
            return f"{who}: {(later if at else first).format(value=values[at])}", note

        return spread(rng, len(values), state, thing)[: 1 + changed]

    return SampleDraft(
        question=f"What is the {asked} of {speaker}'s {thing}, by the last that was said of it? "
        f"Give the {asked} alone.",
        golds=(own[changed],),
        metric="exact",
        body=hide(request, tell(speaker, own) + tell(other, others), _draw_turns(request, (speaker, other)), "\n"),
        metadata={"changed": changed},
    )


def _draw_turns(request: SampleRequest, speakers: tuple[str, str]) -> Iterator[str]:
    """Yield turns of a conversation, in sessions some days apart."""
    rng, say = request.rng, Wordings("talk", request)
    day, session, turn = date(2019, 3, 1), 0, 0
    lines = write_prose(request.language, rng)
    while True:
        if turn % _SESSION == 0:
            session += 1
            days = rng.randrange(1, 9)
            # After the year 9000 the calendar starts again, because dates end at 9999.
            day = day + timedelta(days=days) if day.year < 9000 else date(2019, 3, 1)  # noqa: PLR2004 - a far year
            yield say["heading"].format(session=session, day=day)
        remark = next(lines).strip() if rng.random() < 0.6 else say("small_talk")  # noqa: PLR2004 - a mixture
        yield f"{speakers[turn % 2]}{say['colon']}{remark}\n"
        turn += 1


_ENDS: Final = ("changed", "changed", "withdrawn", "restored")
"""How a chain ends; half of them with a change."""


@task(
    "profile",
    "what somebody's thing is called in the end, after changes and withdrawals over many sessions",
    languages=BOTH,
    changes=AtLeastOne,
)
def build_profile(request: SampleRequest) -> SampleDraft:
    """Let two people state like things and change them, and ask for one of them as it stands in the end."""
    rng, say = request.rng, Wordings("talk", request)
    changes: int = request.options.get("changes", 3)
    who, other = rng.sample(list_words("given", request.language), 2)
    mine, also = rng.sample(say["thing"], 2)
    names = draw_names(rng, request.language)
    my_names, their_names, also_names = (list(islice(names, changes + 1)) for _ in range(3))
    end = rng.choice(_ENDS)
    own = _tell_chain(say, mine, my_names, end)

    def place(speaker: str, chain: list[tuple[str, str]], noted: str = "") -> list[Fact]:
        def state(at: int) -> tuple[str, str]:
            text, value = chain[at]
            return f"{speaker}{say['colon']}{text}", f"{speaker}, {noted}: {value}" if noted else ""

        return spread(rng, len(chain), state, noted)

    facts = place(who, own, mine[0])
    # The other person has a thing of that kind too, and the same person has another one.
    for speaker, thing, values in ((other, mine, their_names), (who, also, also_names)):
        facts += place(speaker, _tell_chain(say, thing, values, rng.choice(_ENDS)))
    return SampleDraft(
        question=say["profile"].format(who=who, thing=mine[0]),
        golds=(own[-1][1],),
        metric="exact",
        body=hide(request, facts, _draw_turns(request, (who, other)), "\n"),
        metadata={"changes": changes, "end": end},
    )


def _tell_chain(say: Wordings, thing: tuple[str, str, str], values: list[str], end: str) -> list[tuple[str, str]]:
    """Return the statements about a thing in order, each with what holds after it."""
    _, first, change = thing
    withdrawal, renewal = say["later"]
    chain = [(first.format(new=values[0]), values[0])]
    chain += [(change.format(old=old, new=new), new) for old, new in pairwise(values)]
    last = values[-1]
    if end != "changed":
        chain.append((withdrawal.format(old=last), say["withdrawn"]))
    if end == "restored":
        chain.append((renewal.format(old=last), last))
    return chain
