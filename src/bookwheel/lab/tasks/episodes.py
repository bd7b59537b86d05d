"""What goes on over many sessions: facts that are told, change, hang on each other, and are to be forgotten.

    exact       what was said once                                       the name of Ada's boat
    aggregate   what was said in parts over sessions                     all towns that Ada named
    track       what changed; the newest holds                           the boat was renamed, three times
    deletion    what was said and is to be forgotten                     "not in the document" is right
    cascade     what hangs on something that changed                     the password is always the name of Bo's boat
    absence     what hangs on something that is to be forgotten          again, "not in the document" is right

The kinds are those of MEME, the sessions are ours. An episode has 10 to 200 sessions with small talk and like facts
of others. With the option `probe=before` the change, or the wish to forget, is not there yet, and the first value is
right.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from itertools import islice
from typing import Annotated, Final, Literal

from bookwheel.lab.tasks.assembly import SourcePassage
from bookwheel.lab.tasks.definition import BOTH, SampleDraft, SampleRequest, task
from bookwheel.lab.tasks.material import (
    ABSENT,
    Fact,
    Wordings,
    draw_names,
    list_words,
    write_prose,
)
from bookwheel.schema import Ge, Le

KINDS: Final = ("exact", "aggregate", "track", "deletion", "cascade", "absence")
_Sessions = Annotated[int, Ge(10), Le(200)]
# Tokens of a session where only those of the document are given.
_SESSION_TOKENS: Final = 160
_CHANGES: Final = 3
_TOWNS: Final = 4
_FIRST_DAY: Final = date(2019, 3, 1)


class _Story:
    """The facts of one episode, by the sessions that they are told in."""

    def __init__(self, request: SampleRequest, kind: str) -> None:
        self.rng, self.say, self.language = request.rng, Wordings("episode", request), request.language
        self.talk = Wordings("talk", request)
        given = request.options.get("sessions")
        self.sessions: int = given or max(10, min(200, request.tokens // _SESSION_TOKENS))
        self.is_before = request.options.get("probe") == "before"
        # What is to be forgotten is no evidence.
        self.has_notes = self.is_before or kind not in {"deletion", "absence"}
        self.who, self.other = self.rng.sample(list_words("given", self.language), 2)
        self.names = draw_names(self.rng, self.language)
        self.facts = list[tuple[int, Fact]]()

    def draw_sessions(self, size: int) -> list[int]:
        """Return the numbers of different sessions in their order."""
        return sorted(self.rng.sample(range(1, self.sessions + 1), size))

    def tell(self, told_in: int, who: str, kind: str, note: str = "", key: str = "", **words: str) -> None:
        """Let somebody say a sentence of a kind in a session."""
        text = f"{who}{self.talk['colon']}{self.say(kind).format(**words)}"
        self.facts.append((told_in, Fact(text=text, place=0.0, note=note if self.has_notes else "", key=key)))

    def build_passages(self) -> list[SourcePassage]:
        """Return the headings of the sessions with the facts between them."""
        passages, day = list[SourcePassage](), _FIRST_DAY
        for session in range(1, self.sessions + 1):
            day += timedelta(days=self.rng.randrange(1, 9))
            start = (session - 1) / self.sessions
            heading = self.talk["heading"].format(session=session, day=day)
            passages.append(SourcePassage(text=heading, place=start))
            for number, fact in self.facts:
                if number == session:
                    within = start + self.rng.uniform(0.3, 0.9) / self.sessions
                    passages.append(replace(fact, place=within).to_passage("\n"))
        return sorted(passages, key=lambda passage: passage.place)

    def draw_turns(self) -> Iterator[str]:
        """Yield small talk of the two, forever."""
        lines = write_prose(self.language, self.rng)
        while True:
            for speaker in (self.who, self.other):
                is_prose = self.rng.random() < 0.6  # noqa: PLR2004 - a mixture
                remark = next(lines).strip() if is_prose else self.talk("small_talk")
                yield f"{speaker}{self.talk['colon']}{remark}\n"


def build_episode(request: SampleRequest, kind: str) -> SampleDraft:
    """Tell the facts of a kind over the sessions, with like facts of the other person, and ask for one of them."""
    story = _Story(request, kind)
    question, golds, metric = _BUILDERS[kind](story)
    _add_decoys(story, kind)
    body = request.assemble(story.draw_turns(), story.build_passages())
    return SampleDraft(
        question=question,
        golds=golds,
        metric=metric,
        body=body,
        metadata={"kind": kind, "sessions": story.sessions, "probe": "before" if story.is_before else "after"},
    )


_Asked = tuple[str, tuple[str, ...], str]


def _ask_absent(story: _Story, question: str, value: str) -> _Asked:
    if story.is_before:
        return question, (value,), "contains"
    return question, (ABSENT[story.language],), "unanswerable"


def _tell_once(story: _Story) -> _Asked:
    (session,) = story.draw_sessions(1)
    thing, value = story.say("thing"), next(story.names)
    story.tell(session, story.who, "say", f"{story.who}, {thing}: {value}", "fact", thing=thing, value=value)
    return story.say["name"].format(who=story.who, thing=thing), (value,), "contains"


def _tell_towns(story: _Story) -> _Asked:
    towns = list(islice(story.names, _TOWNS))
    for number, session in enumerate(story.draw_sessions(_TOWNS)):
        seen = towns[: number + 1]
        story.tell(session, story.who, "visit", f"{story.who}: {', '.join(seen)}", "towns", value=towns[number])
    return story.say["towns"].format(who=story.who), tuple(towns), "share_of"


def _tell_changes(story: _Story) -> _Asked:
    thing, values = story.say("thing"), list(islice(story.names, _CHANGES + 1))
    sessions = story.draw_sessions(_CHANGES + 1)
    last = 0 if story.is_before else _CHANGES
    for number in range(last + 1):
        note = f"{story.who}, {thing}: {values[number]}"
        kind = "change" if number else "say"
        story.tell(sessions[number], story.who, kind, note, "fact", thing=thing, value=values[number])
    return story.say["name"].format(who=story.who, thing=thing), (values[last],), "contains"


def _tell_and_forget(story: _Story) -> _Asked:
    told, asked = story.draw_sessions(2)
    thing, value = story.say("thing"), next(story.names)
    story.tell(told, story.who, "say", f"{story.who}, {thing}: {value}", "fact", thing=thing, value=value)
    if not story.is_before:
        story.tell(asked, story.who, "forget", session=str(told))
    return _ask_absent(story, story.say["name"].format(who=story.who, thing=thing), value)


def _tell_link(story: _Story, told: int, linked: int) -> tuple[str, str, str]:
    """Let the password of something be the name of the other's thing; return the question, that thing and its name."""
    thing, lock, value = story.say("thing"), story.say("lock"), next(story.names)
    note = f"{story.other}, {thing}: {value}"
    story.tell(told, story.other, "say", note, "fact", thing=thing, value=value)
    note = f"{story.who}, {lock}: {story.other}, {thing}"
    story.tell(linked, story.who, "link", note, "link", lock=lock, other=story.other, thing=thing)
    return story.say["password"].format(who=story.who, lock=lock), thing, value


def _tell_cascade(story: _Story) -> _Asked:
    *first, changed = story.draw_sessions(3)
    question, thing, value = _tell_link(story, *story.rng.sample(first, 2))
    new = next(story.names)
    if not story.is_before:
        story.tell(changed, story.other, "change", f"{story.other}, {thing}: {new}", "fact", thing=thing, value=new)
    return question, (value if story.is_before else new,), "contains"


def _tell_absence(story: _Story) -> _Asked:
    *first, asked = story.draw_sessions(3)
    told, linked = story.rng.sample(first, 2)
    question, _, value = _tell_link(story, told, linked)
    if not story.is_before:
        story.tell(asked, story.other, "forget", session=str(told))
    return _ask_absent(story, question, value)


_BUILDERS: Final[dict[str, Callable[[_Story], _Asked]]] = dict(
    zip(KINDS, (_tell_once, _tell_towns, _tell_changes, _tell_and_forget, _tell_cascade, _tell_absence), strict=True)
)


def _add_decoys(story: _Story, kind: str) -> None:
    """Let the other person tell like facts, in sessions that nobody wants forgotten."""
    told = {session for session, _ in story.facts}
    free = [session for session in range(1, story.sessions + 1) if session not in told]
    if kind == "aggregate":
        for session in story.rng.sample(free, min(3, len(free))):
            story.tell(session, story.other, "visit", value=next(story.names))
        return
    used = {thing for thing in story.say["thing"] for _, fact in story.facts if thing in fact.text}
    for thing in story.rng.sample(story.say["thing"], len(story.say["thing"])):
        # A fact of the other's own thing would stand in the way of what hangs on it.
        if thing not in used or kind in {"exact", "track", "deletion"}:
            session = story.rng.choice(free)
            story.tell(session, story.other, "say", thing=thing, value=next(story.names))


for _kind, _line in (
    ("exact", "a fact that was told in one of many sessions"),
    ("aggregate", "what was told in parts over many sessions"),
    ("track", "a fact that changed three times"),
    ("deletion", "a fact that was told and is to be forgotten"),
    ("cascade", "a fact that hangs on one that changed"),
    ("absence", "a fact that hangs on one that is to be forgotten"),
):
    task(
        f"episode_{_kind}",
        f"{_line}; 10 to 200 sessions",
        languages=BOTH,
        sessions=_Sessions,
        probe=Literal["before", "after"],
    )(partial(build_episode, kind=_kind))
