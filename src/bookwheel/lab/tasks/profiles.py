"""`profile`: what somebody says of themselves over many sessions, changes, and takes back.

    Ada: My dog is called Trealvoon.
    Ada: Trealvoon has gone to my sister. Brindle came instead.        the thing itself is not named again
    Ada: Consider what I said of Brindle withdrawn.

A change names the old value and the new one only, so a search for the thing finds where the chain begins and nothing of
how it goes on. The last word counts: a value, one that was taken up again, or that it was withdrawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from bookwheel.lab.tasks import lexicon
from bookwheel.lab.tasks.assembly import assemble
from bookwheel.lab.tasks.definition import AtLeastOne, SampleDraft, SampleRequest, Task
from bookwheel.lab.tasks.dialogues import COLONS, draw_turns
from bookwheel.lab.tasks.facts import Fact

if TYPE_CHECKING:
    from random import Random

_CHANGES: Final = 3
_ENDS: Final = ("changed", "changed", "withdrawn", "restored")
"""How a chain ends; half of them with a change."""
_THINGS: Final = {
    "en": (
        ("dog", "By the way, my dog is called {new}.", "{old} has gone to my sister. {new} came instead."),
        ("doctor", "My doctor is someone called {new}.", "{old} has retired. I go to {new} now."),
        ("boat", "I have named my boat {new}.", "{old} is painted over. She goes by {new} from today."),
        ("favourite inn", "My favourite inn is the {new}.", "The {old} has closed, so it is the {new} for me."),
        ("teacher", "My teacher is called {new}.", "{old} has moved away. {new} takes me on now."),
    ),
    "zh": (
        ("狗", "对了，我的狗叫{new}。", "{old}送给我姐姐了，换来了{new}。"),
        ("医生", "我的医生叫{new}。", "{old}退休了，现在我去找{new}。"),
        ("船", "我给我的船起名叫{new}。", "{old}这个名字已经涂掉了，从今天起叫{new}。"),
        ("老师", "我的老师叫{new}。", "{old}搬走了，现在由{new}来带我。"),
    ),
}
_WITHDRAWN: Final = {"en": "withdrawn", "zh": "已撤回"}
_LATER: Final = {
    "en": ("Consider what I said of {old} withdrawn.", "What I took back about {old} holds after all."),
    "zh": ("我说过的关于{old}的话，就当已撤回。", "我收回的关于{old}的话，还是算数的。"),
}
_QUESTIONS: Final = {
    "en": (
        "What is the name of {who}'s {thing}, by the last that {who} said? Give the name alone, or “withdrawn” if "
        "{who} took it back."
    ),
    "zh": "按{who}最后所说，{who}的{thing}叫什么？只写名字；如果{who}收回了这话，就写“已撤回”。",
}


def build(request: SampleRequest) -> SampleDraft:
    """Let two people state like things and change them, and ask for one of them as it stands in the end."""
    rng, language = request.rng, request.language
    changes = request.read_int("changes", _CHANGES)
    pair = rng.sample(lexicon.ZH_GIVEN if language == "zh" else lexicon.GIVEN, 2)
    who, other = pair
    mine, also = rng.sample(_THINGS[language], 2)
    names = _draw_names(rng, 3 * (changes + 1), language)
    size = changes + 1
    end = rng.choice(_ENDS)
    own = _tell_chain(language, mine, names[:size], end)
    facts = _place_chain(rng, language, who, own, noted=mine[0])
    # The other person has a thing of that kind too, and the same person has another one.
    for speaker, thing, values in ((other, mine, names[size : 2 * size]), (who, also, names[2 * size :])):
        facts += _place_chain(rng, language, speaker, _tell_chain(language, thing, values, rng.choice(_ENDS)))
    return SampleDraft(
        question=_QUESTIONS[language].format(who=who, thing=mine[0]),
        golds=(own[-1][1],),
        metric="exact",
        body=assemble(
            draw_turns(rng, (who, other), language),
            [fact.to_passage("\n") for fact in facts],
            tokens=request.tokens,
            tokenizer=request.tokenizer,
            task=request.task,
        ),
        metadata={"changes": changes, "end": end},
    )


def _draw_names(rng: Random, count: int, language: str) -> list[str]:
    names: dict[str, None] = {}
    while len(names) < count:
        if language == "zh":
            names["".join(rng.choice(part) for part in (lexicon.ZH_ADJECTIVES, lexicon.ZH_MIDDLES))] = None
        else:
            names[lexicon.coin_word(rng).capitalize()] = None
    return list(names)


def _tell_chain(language: str, thing: tuple[str, str, str], values: list[str], end: str) -> list[tuple[str, str]]:
    """Return the statements about a thing in order, each with what holds after it."""
    _, first, change = thing
    withdrawal, renewal = _LATER[language]
    chain = [(first.format(new=values[0]), values[0])]
    chain += [(change.format(old=old, new=new), new) for old, new in pairwise(values)]
    last = values[-1]
    if end != "changed":
        chain.append((withdrawal.format(old=last), _WITHDRAWN[language]))
    if end == "restored":
        chain.append((renewal.format(old=last), last))
    return chain


def _place_chain(
    rng: Random, language: str, speaker: str, chain: list[tuple[str, str]], *, noted: str = ""
) -> list[Fact]:
    """Return the statements at random places in their order; those about the thing that is asked for have notes."""
    places = sorted(rng.random() for _ in chain)
    colon = COLONS[language]
    return [
        Fact(
            text=f"{speaker}{colon}{text}",
            place=place,
            note=f"{speaker}, {noted}: {value}" if noted else "",
            key=noted,
        )
        for (text, value), place in zip(chain, places, strict=True)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileOptions:
    """The option of `profile`."""

    changes: AtLeastOne | None = None
    """How often each thing changes; 3 by default."""


TASKS: Final = (
    Task(
        name="profile",
        description="what somebody's thing is called in the end, after changes and withdrawals over many sessions",
        build=build,
        languages=("en", "zh"),
        options=ProfileOptions,
    ),
)
