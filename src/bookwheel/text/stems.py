"""The stems of English words: what all forms of a word share, and words of the same meaning with it.

>>> stem("signed"), stem("signs"), stem("wrote") == stem("writes")
('sign', 'sign', True)
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from bookwheel.text import lexicon


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """Return what all forms of a word share, and words of the same meaning with it."""
    word = lexicon.IRREGULAR.get(word, word)
    return _EQUAL.get(base := _cut_ending(word), base)


def _cut_ending(word: str) -> str:
    for ending, least, instead in (("ies", 5, "y"), ("ied", 5, "y"), ("sses", 5, "ss"), ("ing", 6, ""), ("ed", 5, "")):
        if word.endswith(ending) and len(word) >= least:
            word = word[: -len(ending)] + instead
            break
    else:
        if word.endswith(("xes", "ches", "shes", "zes")):
            word = word[:-2]
        elif len(word) > 3 and word[-1] == "s" and word[-2] not in "siu":  # noqa: PLR2004 - "gas", "bus", "this" stay
            word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2] and word[-1] in "bdgmnprt":  # noqa: PLR2004 - "stopp" of "stopped"
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word[-1] == "e" else word  # noqa: PLR2004


_EQUAL: Final = {_cut_ending(word): _cut_ending(first) for word, first in lexicon.EQUAL.items()}
FORMS: Final[dict[str, tuple[str, ...]]] = {}
"""For each stem, the words that have it without beginning with it."""
for _word in (*lexicon.IRREGULAR, *lexicon.EQUAL):
    FORMS[stem(_word)] = (*FORMS.get(stem(_word), ()), _word)
