"""Rows of what somebody is to do, where a request asks for obligations, actions or tasks.

    2.2 Not later than June, the Tenant shall fit a damper.     the Tenant | fit a damper | Not later than June
    ACTION: the clerk to send the objection before 24 March.    the clerk | send the objection … | 24 March
    乙方应于每月5日前支付租金。                                  乙方 | 于每月5日前支付租金 | 每月5日前

Purely words: who stands before a "shall", a "must" or, where actions are asked for, a "to". What may be done, what is
hoped for and what is to be done by nobody who is named are no duties.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from bookwheel.text import lexicon

_ASKED: Final = re.compile(
    r"\b(?:obligations?|dut(?:y|ies)|commitments?|undertakings?|actions?|tasks?|to-?dos?|responsibilit\w+|promises?|"
    r"(?:must|has to|have to|agreed to|promised to) do)\b|义务|职责|责任|任务|待办|行动|要做",
    re.IGNORECASE,
)
_ACTIONS: Final = re.compile(r"\b(?:actions?|tasks?|to-?dos?|agreed|told)\b|任务|待办|行动", re.IGNORECASE)
_NAME: Final = r"[A-Z][\w.'’-]*"
_WHO: Final = (
    rf"(?:(?:[Tt]he|[Ee]ach|[Ee]very|[Bb]oth) (?:[\w'’-]+ ){{0,2}}?[\w'’-]+|{_NAME}(?: (?:&|of|and|{_NAME})(?= ))*)"
)
_BOUND: Final = (
    r"shall|must|will|ha(?:s|ve) to|(?:is|are) (?:required |obliged )?to|agree[sd]? to|undert(?:akes?|ook) to|"
    r"promise[sd]? to"
)
_BESIDE: Final = r"(?:still |also |therefore |then |now |each )?"
_BEFORE: Final = r"(?:^|(?<=[,;:.)] )|(?<=\bthat )|(?<=\band ))"
_NOT_DONE: Final = r"(?!be (?!responsible|liable)|not be |have |mean |include |apply |remain |cease |\w+ \d)"
_PATTERN: Final = r"{before}(?P<who>{who}) {beside}(?:{bound}) (?:also )?{not_done}(?P<what>[a-z].*)"
_DUTY: Final = re.compile(
    _PATTERN.format(before=_BEFORE, who=_WHO, beside=_BESIDE, bound=_BOUND, not_done=_NOT_DONE), re.DOTALL
)
_ACTION: Final = re.compile(
    _PATTERN.format(before=_BEFORE, who=_WHO, beside=_BESIDE, bound=f"{_BOUND}|to", not_done=_NOT_DONE), re.DOTALL
)
_CHINESE: Final = re.compile(
    r"(?:^|(?<=[，。；：:、,;\s]))(?P<who>[^\W\d_]{1,12}?)(?:应当|应该|应|必须|须|需要|需|不得|负责|承诺)(?P<what>[^。；;]{2,})"
)
_FILLED: Final = frozenset(
    {"it", "there", "this", "that", "these", "those", "nothing", "which", "who", "what", "nobody"}
)
_HOPED: Final = re.compile(
    r"\b(?:hoped|hopes|suggested|suggests|wishes|wished|likes?|asks?|asked) (?:\w+ )?(?:that|if)\b"
)
_AGAIN: Final = re.compile(r"(?:He|She|They|It|he|she|they) .*?\b(?:do|does|done) (?:so|it|this|that)\b")
_TIME: Final = (
    rf"(?:days?|weeks?|months?|years?|terms?|meetings?|request|notice|receipt|end|{'|'.join(lexicon.MONTH_NAMES)}|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|tomorrow|once|completion)"
)
_DEADLINE: Final = re.compile(
    r"\b(?:within|before|by|until|till|(?:no|not) later than|throughout|on|at|for)\s+(?:[\w'’-]+\s+){0,5}?"
    rf"(?:\d{{1,2}}(?:st|nd|rd|th)? )?{_TIME}\b(?: \d{{4}}| meeting| of [^,.;()]{{3,30}}| before [^,.;()]{{3,30}})?"
    r"|[^，。；、\s]{1,10}(?:之前|以前|前|内|之内)(?=[，,向将把支付缴交])",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Duty:
    """Who is to do what."""

    who: str
    what: str
    until: str
    """As the sentence words it; empty where it says none."""


def asks_for_duties(sentence: str) -> bool:
    """Return whether a request is for what somebody is to do."""
    return bool(_ASKED.search(sentence.partition(":")[0].partition("：")[0]))


def find_duty(text: str, sentence: str) -> Duty | None:
    """Return the duty that a sentence of a document states, for a request of them; None where it states none."""
    text = " ".join(text.split())
    found = (_ACTION if _ACTIONS.search(sentence) else _DUTY).search(text) or _CHINESE.search(text)
    if not found or found["who"].casefold().split()[0] in _FILLED or _HOPED.search(text, 0, found.start("who")):
        return None
    return Duty(who=found["who"], what=found["what"].rstrip(" .。;；"), until=find_deadline(text))


def find_deadline(text: str) -> str:
    """Return until when a sentence says that something is done, as it words it; empty where it does not."""
    found = _DEADLINE.search(text)
    return found[0] if found else ""


def says_again(text: str) -> bool:
    """Return whether a sentence only says more of the duty before it: "He will do so by Friday"."""
    return bool(_AGAIN.match(" ".join(text.split())))
