"""Tell whether a Chinese clause says a gold in answer to the question, or of something else.

谁赢了？      "孙立战胜了赵明远", "赵明远输给了孙立": the loser
谁是导演？    "林若冰是编剧", "他是林若冰的老师": another role, another person
何时建成？    "1957年开始修建": another event
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from bookwheel.text.normalization import simplify

_TO_WHOM: Final = re.compile("[给向致]了?$")
_ASKS_WHOM: Final = re.compile("[给向致]了?(?:谁|哪|什么)")
_HERS: Final = re.compile("那里|那儿|手[里中上]|处")
_OVERCOMES: Final = re.compile("(?:战胜|击败|打败)了?$")
_LOSES: Final = re.compile("输|败|不敌")
_CONTEST: Final = re.compile("[赢胜]|冠军|打败")
_IS: Final = re.compile("是(?:一?个|一?位|一?名)?([\u3400-\u9fff]{2,4})")
_OTHER_ENDS: Final = (
    ("开始|起用|启用", "直到|用到|沿用到|至|结束"),
    ("结束|为止|停止", "从|自|始于|开始"),
    ("出生|生于", "死于|去世|逝世"),
)
_ROLE: Final = re.compile("(?:^|[，,])?([\u3400-\u9fff][者人长员家师手演主剧])是$")
_ASKED_ROLE: Final = re.compile("[\u3400-\u9fff][者长员家师手演主剧](?:是谁|$|[?？])")
_NEAR: Final = 12


def is_beside_in_chinese(before: Sequence[str], after: Sequence[str], question: str) -> bool:
    """Return whether a Chinese clause says the gold of another role, of another person or of another event."""
    head, tail, question = "".join(before[-_NEAR:]), "".join(after[:_NEAR]), simplify(question)
    if _TO_WHOM.search(head) and not _ASKS_WHOM.search(question):
        return True
    if head.endswith("从") and _HERS.match(tail) and "从" not in question:
        return True
    if _is_other_person(head, tail, question):
        return True
    for one, other in _OTHER_ENDS:
        is_asked = re.search(one, question) and not re.match(f".{{0,2}}(?:{one})", tail)
        if is_asked and (re.search(f"(?:{other})[^，。]{{0,3}}$", head) or re.match(f"年?(?:{other})", tail)):
            return True
    return False


def _is_other_person(head: str, tail: str, question: str) -> bool:
    if "谁" not in question and "哪位" not in question:
        return False
    if (tail.startswith("的") and "谁的" not in question) or _OVERCOMES.search(head):
        return True
    if _CONTEST.search(question) and _LOSES.match(tail):
        return True
    role = _ROLE.search(head)
    if role and role[1] not in question and _ASKED_ROLE.search(question):
        return True
    said = _IS.match(tail)
    return said is not None and not set(pairwise(said[1])) & set(pairwise(question))
