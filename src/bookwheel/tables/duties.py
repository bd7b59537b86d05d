"""Rows of what somebody is to do, where a request asks for obligations, actions or tasks.

    2.2 Not later than June, the Tenant shall fit a damper.     the Tenant | fit a damper
    ACTION: the clerk to send the objection before 24 March.    the clerk | send the objection before 24 March
    乙方应于每月5日前支付租金。                                  乙方 | 于每月5日前支付租金

Purely words: who stands before a "shall", a "must" or, where actions are asked for, a "to". What may be done, what is
hoped for, what a thing does by itself and what is to be done by nobody who is named are no duties.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from bookwheel.text import lexicon

if TYPE_CHECKING:
    from collections.abc import Iterator

_BEFORE_ACTION: Final = (
    r"(?:^|\b(?:an?|all|and|any|each|every|list|new|next|of|open|or|our|the|their|these|what|which)\s+|['’]s?\s+)"
)
_ACTIONS: Final = re.compile(
    rf"{_BEFORE_ACTION}(?:actions?|tasks?)\b|\bto-?dos?\b|\b(?:agreed|told)\b|任务|待办|行动", re.IGNORECASE
)
_ASKED: Final = re.compile(
    rf"{_BEFORE_ACTION}(?:dut(?:y|ies)|actions?|tasks?)\b|"
    r"\b(?:obligations?|commitments?|undertakings?|to-?dos?|responsibilit\w+|promises?|"
    r"(?:must|has to|have to|agreed to|promised to) do)\b|义务|职责|(?<!有限)责任(?![公保险])|任务|待办|行动|要做",
    re.IGNORECASE,
)
"""Not: "every customs duty", "each enforcement action"."""
_LONGEST: Final = 1_000
"""Of a sentence, the characters that are looked at."""
_PEOPLE: Final = (
    r"(?:(?:sub)?contractor|agent|applicant|architect|auditor|author|authority|bank|board|borrower|builder|buyer|"
    r"caretaker|carrier|chair|chair(?:man|woman|person)|child|children|clerk|client|club|commission|committee|company|"
    r"council|councillor|customer|department|director|doctor|driver|editor|employee|employer|engineer|firm|government|"
    r"guest|head|hirer|host|household|insurer|keeper|landlord|lawyer|lender|lessee|lessor|licensee|licensor|manager|"
    r"member|ministry|neighbour|nurse|occupier|office|officer|operator|owner|parent|part(?:y|ie)|passenger|player|"
    r"provider|publisher|pupil|purchaser|recipient|resident|school|secretary|seller|society|solicitor|staff|student|"
    r"supplier|teacher|team|tenant|treasurer|trustee|user|vendor|visitor|volunteer|warden|worker)s?"
)
# A word with a capital that begins a sentence is mostly no name.
_NO_NAME: Final = (
    r"(?!(?:According|After|All|Although|An|And|Any|As|At|Because|Before|Both|But|By|Due|During|Each|Either|Every|For|"
    r"From|Further|He|How|I|If|In|It|Next|No|None|Nothing|Of|On|Once|Or|Owing|Prior|Says?|She|Since|So|Some|Subject|Such|"
    r"Thanks|That|The|Then|There|These|They|This|Those|Though|To|Unless|Until|We|What|When|Where|Which|While|Who|Why|"
    r"With|Yet|You|[A-Z][\w’']*(?:ing|ment|tion|sion|ance|ence|ity|ness))\b)"
)
_NAME: Final = r"[A-Z][\w.'’-]*"
_ONE_OF: Final = (
    rf"(?i:the|an?|any|all|each|every|both|no|either|neither)(?: [\w'’-]+){{0,2}}? (?i:{_PEOPLE})"
    r"(?: of (?:the |this |our )?[\w'’-]+)?"
)
_DEFINED: Final = rf"(?:[Tt]he|[Ee]ach|[Ee]very|[Aa]ny|[Nn]o|[Aa]n?) {_NAME}(?: {_NAME}){{0,3}}"
"""A word with a capital behind an article is one that a contract defines."""
_NAMES: Final = rf"{_NO_NAME}{_NAME}(?: (?:&|of|and|{_NAME})(?= )){{0,7}}"
_FULL_NAMES: Final = rf"(?:{_NO_NAME}{_NAME}(?: (?:&|of|and|{_NAME})(?= )){{1,7}}|(?i:{_PEOPLE}))"
_BINDS: Final = (
    r"shall|must|ha(?:s|ve) to|(?:is|are) (?:required |obliged )to|agree[sd]? to|undert(?:akes?|ook) to|promise[sd]? to"
)
_BESIDE: Final = r"(?: \([^()]{1,40}\))?(?:, [^,.;:]{3,60},)? (?:still |also |therefore |then |now |each )?"
_BEFORE: Final = r"(?:^|(?<=[,;:.)] )|(?<=\bthat )|(?<=\band ))"
_NOT_DONE: Final = (
    r"(?!be (?!responsible|liable)|not be |have |mean |include |apply |remain |cease |"
    r"(?:the|an?|this|that|its|his|her)\b|\w+ \d)"
)
_PATTERN: Final = (
    r"{before}(?:(?P<who>{one}|{defined}|{names}){beside}(?:{binds})|(?P<who_will>{one}|{full}){beside}(?:{will}))"
    r" (?:also )?{not_done}(?=[a-z])"
)
_PARTS: Final = {
    "before": _BEFORE, "one": _ONE_OF, "defined": _DEFINED, "names": _NAMES, "full": _FULL_NAMES,
    "beside": _BESIDE, "binds": _BINDS, "not_done": _NOT_DONE,
}  # fmt: skip
_DUTY: Final = re.compile(_PATTERN.format(**_PARTS, will="will|(?:is|are) to"))
_ACTION: Final = re.compile(_PATTERN.format(**_PARTS, will="will|(?:is |are )?to"))
_PEOPLE_ZH: Final = (
    r"(?:[^\W\d_]{0,10}?(?:方|人|者|公司|商|单位|部门|部|局|处|委员会|学校|厂|员|经理|主任|会计|律师|业主|住户|租户|客户|用户|学生|家长|老师|教师|医生)|"
    r"[王李张刘陈杨赵黄周吴徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦方白邹孟熊秦邱江][^\W\d_]{1,2}?)"
)
# Not within words: 供应商, 应收账款, 负责人.
_CHINESE: Final = re.compile(
    rf"(?:^|(?<=[，。；：:、,;\s]))(?P<who>{_PEOPLE_ZH})"
    r"(?:应当|应该|(?<![供相反响对适效感])应(?![收付急用对变届酬允声有邀聘试验答])|必须|须(?!知)|不得|负责(?!人)|承诺(?![书函]))(?=[^。；;]{2})"
)
_HOPED: Final = re.compile(
    r"\b(?:hoped|hopes|suggested|suggests|wishes|wished|likes?|asks?|asked) (?:\w+ )?(?:that|if)\b"
)
_AGAIN: Final = re.compile(r"(?:He|She|They|It|he|she|they) .*?\b(?:do|does|done) (?:so|it|this|that)\b")
_JOINED: Final = re.compile(r"(?:[,;]\s*|\s+|[，；。])(?:(?:and|but|while|whereas|that)\s+)*$")
"""What leads over to the next duty of a sentence."""
_TIME: Final = (
    rf"(?:days?|weeks?|months?|years?|terms?|meetings?|request|notice|receipt|end|"
    rf"(?-i:{'|'.join(map(str.capitalize, lexicon.MONTH_NAMES))})|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|tomorrow|once|completion)"
)
_NUMBER_ZH: Final = r"(?:\d{1,4}|[一二三四五六七八九十]{1,3})"
_DEADLINE: Final = re.compile(
    r"\b(?:within|before|by|until|till|(?:no|not) later than|throughout|on|at|for)\s+(?:[\w'’-]+\s+){0,5}?"
    rf"(?:\d{{1,2}}(?:st|nd|rd|th)? )?{_TIME}\b(?: \d{{4}}| meeting| of [^,.;()]{{3,30}}| before [^,.;()]{{3,30}})?"
    rf"|(?:每[年月周]|收到[^，。；、\s]{{1,8}})?(?:{_NUMBER_ZH}(?:年|月|日|号|天|周|个(?:月|工作日|星期))){{1,3}}(?:之前|以前|前|之内|以内|内)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Duty:
    """Who is to do what."""

    who: str
    what: str
    text: str
    """The part of its sentence that says so."""


def asks_for_duties(sentence: str) -> bool:
    """Return whether a request is for what somebody is to do."""
    return bool(_ASKED.search(sentence.partition(":")[0].partition("：")[0]))


def find_duties(text: str, sentence: str) -> Iterator[Duty]:
    """Yield the duties that a sentence of a document states, for a request of them."""
    text = " ".join(text[: 2 * _LONGEST].split())[:_LONGEST]
    pattern = _ACTION if _ACTIONS.search(sentence) else _DUTY
    found = [*(pattern if pattern.search(text) else _CHINESE).finditer(text)]
    found = [one for one in found if not _HOPED.search(text, 0, one.start())]
    starts = [0, *(one.start() for one in found[1:]), len(text)]
    for one, (start, end) in zip(found, pairwise(starts), strict=False):
        what = _JOINED.sub("", text[one.end() : end]) if end < len(text) else text[one.end() :]
        yield Duty(who=next(filter(None, one.groups())), what=what.rstrip(" .。;；"), text=text[start:end])


def find_deadline(text: str) -> str:
    """Return until when a sentence says that something is done, as it words it; empty where it does not."""
    found = _DEADLINE.search(text)
    return found[0] if found else ""


def says_again(text: str) -> bool:
    """Return whether a sentence only says more of the duty before it: "He will do so by Friday"."""
    return bool(_AGAIN.match(" ".join(text[:_LONGEST].split())))
