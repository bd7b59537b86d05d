"""Tell notes from remarks: replies that refuse, or only say that there was nothing new.

A remark must be one in every clause, so that "No new tenants are allowed after 2031" stays the fact that it is.
"""

from __future__ import annotations

import re
from typing import Final

_REFUSAL: Final = re.compile(
    r"(?:i(?:'| a)?m sorry|sorry,|i apologi[sz]e|i can(?:not|'t)|i(?: am|'m) (?:unable|not able)|as an ai\b|"
    r"抱歉|对不起|很抱歉|我无法|我不能|作为(?:一个)?(?:ai|人工智能))",
    re.IGNORECASE,
)
_NEWS: Final = (
    r"(?:new|relevant|relat\w+|additional|further|useful|changes?|updates?|information|facts?|details?|needed|"
    r"to (?:add|note|update))"
)
_WHERE: Final = (
    r"(?:\s+(?:here|found|given|present|provided|mentioned|"
    r"(?:in|from|about|for|to|on|regarding|with)\b[^.\n]{0,90}))*"
)
_SUBJECT: Final = (
    r"(?:(?:there (?:is|are|was|were)|i (?:see|found|find)|(?:this|the) (?:section|text|passage) \w+)\s+)?"
)
_REMARKS: Final = (
    rf"{_SUBJECT}(?:no|nothing|not any|does not|doesn't|not)\b(?:\s+[\w'-]+){{0,6}}?\s+{_NEWS}(?:\s+{_NEWS})*{_WHERE}",
    (
        r"(?:the |my )?(?:old |previous |current )?(?:memory|notes?)\s+(?:(?:remains?|stays?|is|are)\s+)+"
        r"(?:unchanged|the same|as (?:is|it is|they are))"
    ),
    rf"(?:unchanged|no change|same as (?:before|above)|nothing|n/?a|none){_WHERE}",
    (
        r"(?:本节|本段|这一?[节段])?(?:内容)?(?:中|里)?(?:并)?(?:没有|无|未)(?:任何)?"
        r"(?:新|相关|需要|变化|更新|提供|提及|涉及)[^。\n]{0,20}"
    ),
    r"(?:旧|原有?)?(?:记忆|笔记)?(?:保持)?不变",
    r"无需(?:更新|修改)[^。\n]{0,10}",
    "无",
)
_REMARK: Final = re.compile("|".join(rf"\W*(?:{remark})\W*" for remark in _REMARKS), re.IGNORECASE)
_ABSENCE: Final = re.compile(
    r"""
    (?:not|never|nowhere|n't)\s(?:\w+\s){0,2}?
        (?:given|said|stated|mentioned|specified|provided|available|recorded|answerable|answered|disclosed|listed)\b
    | (?:not|nowhere)\s(?:\w+\s)?(?:in|within|part\ of)\s(?:\w+\s){0,2}?(?:document|text|book|passages?|notes?|memory)\b
    | (?:not|n't|isn't|never)\s(?:known|found|there)\s*[.!]?$
    | (?:document|text|book|passages?|sections?|memory|notes?)\s(?:\w+\s){0,3}?
        (?:(?:do(?:es)?|did|has|have|can)\s?(?:not|n't|never|no|nothing)|says?\ no|gives?\ no|holds?\ no|contains?\ no)
    | there\ (?:is|are|was|were)\ (?:no|nothing|not\ any)\b
    | (?:do|does|did|could|can)\s?(?:not|n't)\s(?:\w+\s)?(?:know|tell|answer|say|find|determine)\b
    | (?:doesn't|didn't|don't)\s(?:\w+\s)?(?:say|state|mention|tell|give|specify|contain|hold|provide|answer|know)\b
    | (?:^|\s)no\s(?:\w+\s){0,2}?(?:answer|information|mention|record|evidence|indication)\b
    | (?:cannot|can't|couldn't|impossible\ to)\s(?:\w+\s){0,2}?
        (?:answer|answered|say|tell|determine|determined|know|known|find)\b
    | (?:unanswerable|unknown|unspecified|unstated|n/a|none|no\ answer)\s*[.!]?$
    | (?:文中|文章|文本|文档|原文|资料|记忆|书中|里面)?(?:中|里|内)?(?:并|都|均|也|完全)?
        (?:没有|没|未|无)(?:任何|明确|直接)?(?:提到|提及|说明|说|写|给出|记载|交代|回答|相关|答案|信息)
    | (?:无法|不能)(?:从\w{0,8})?(?:回答|确定|得知|判断|知道)|不知道|未知|不得而知|不在(?:文中|文档)
    """,
    re.VERBOSE,
)
# A denial that speaks of the document or of knowing, unlike "Ada was not given the key".
_ABOUT_DOCUMENT: Final = re.compile(
    r"\b(?:documents?|text|book|passages?|sections?|memory|notes?|information|details?|answer\w*|mention\w*|evidence|"
    r"records?|context|source|know|determined?|tell|say|find|found|indication|unanswerable)\b"
    r"|文中|文章|文本|文档|原文|资料|记忆|书中|答案|信息|提到|提及|回答|确定|得知|不知道|未知"
)
_SHORTEST_DENIAL: Final = 4
_CLAUSE: Final = re.compile(r"[.!。！;,，；()（）]")


def is_refusal(text: str) -> bool:
    """Return whether the reply declines to do the work."""
    return bool(_REFUSAL.match(text))


def is_remark(text: str) -> bool:
    """Return whether every clause of the reply says that nothing is new."""
    return all(_REMARK.fullmatch(clause) for clause in _CLAUSE.split(text) if clause.strip())


def is_absence(text: str) -> bool:
    """Return whether a sentence of an answer, in lower case, says that the text does not give one."""
    return _ABSENCE.search(text) is not None


def says_absent(sentence: str) -> bool:
    """Return whether a sentence of an answer says that the document does not have the answer."""
    text = sentence.strip().casefold().replace("’", "'")
    return is_absence(text) and (len(text.split()) <= _SHORTEST_DENIAL or bool(_ABOUT_DOCUMENT.search(text)))
