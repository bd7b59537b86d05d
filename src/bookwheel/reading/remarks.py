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
_CLAUSE: Final = re.compile(r"[.!。！;,，；()（）]")


def is_refusal(text: str) -> bool:
    """Return whether the reply declines to do the work."""
    return bool(_REFUSAL.match(text))


def is_remark(text: str) -> bool:
    """Return whether every clause of the reply says that nothing is new."""
    return all(_REMARK.fullmatch(clause) for clause in _CLAUSE.split(text) if clause.strip())
