"""Tell whether a Chinese clause says a gold in answer to the question, or of something else.

谁赢了？      "孙立战胜了赵明远", "赵明远输给了孙立": the loser
谁是导演？    "林若冰是编剧", "他是林若冰的老师": another role, another person
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from bookwheel.text.normalization import simplify

_TO_WHOM: Final = re.compile("[给向致]了?$")
_ASKS_WHOM: Final = re.compile("[给向致]了?(?:谁|哪|什么)")
_OVERCOMES: Final = re.compile("(?:战胜|击败|打败)了?$")
_LOSES: Final = re.compile("输|败|不敌")
_CONTEST: Final = re.compile("[赢胜]|冠军|打败")
_IS: Final = re.compile("是(?:一?个|一?位|一?名)?([\u3400-\u9fff]{2,4})")
_NEAR: Final = 12


def is_beside_in_chinese(before: Sequence[str], after: Sequence[str], question: str) -> bool:
    """Return whether a Chinese clause says the gold of another role or of another person."""
    head, tail, question = "".join(before[-_NEAR:]), "".join(after[:_NEAR]), simplify(question)
    if _TO_WHOM.search(head) and not _ASKS_WHOM.search(question):
        return True
    return _is_other_person(head, tail, question)


def _is_other_person(head: str, tail: str, question: str) -> bool:
    if "谁" not in question and "哪位" not in question:
        return False
    if (tail.startswith("的") and "谁的" not in question) or _OVERCOMES.search(head):
        return True
    if _CONTEST.search(question) and _LOSES.match(tail):
        return True
    said = _IS.match(tail)
    return said is not None and not set(pairwise(said[1])) & set(pairwise(question))
