"""Words that tell that something is not as it was: a value that is put right, put off, given up, or handed over.

    tells_change     "from 3 March", "instead", "no longer", "takes over", 改为, 推迟
    find_changes     these, and words that often stand in such a sentence: "later", "only", "fewer", 晚, 只

The first are few and sure enough to let a newer line stand in an older one's place. The second only rank: what puts a
sentence right may have no other word that anybody would look for.
"""

from __future__ import annotations

import re
from typing import Final

from bookwheel.patterns import compile_late

_CHANGES: Final = (
    r"\b(?:now|new|no longer|instead|any ?more|another|after all|these days|as of|from (?:now|today|this)|current\w*|"
    r"correct\w*|recomput\w*|recalculat\w*|"
    r"chang\w*|mov(?:es?|ed|ing)|switch\w*|replac\w*|postpon\w*|delay\w*|slip\w*|rais\w*|lower\w*|"
    r"dropp?\w*|goes (?:up|down|on)|final\w*|t(?:akes?|ook) over|left)\b|"
    r"现在|如今|改|换|不再|从[^，。]{1,8}起|推迟|提前|更新|交给"
)
_HINTS: Final = (
    # English.
    r"\b(?:later|earlier|sooner|longer|less|fewer|only|rather|already|until|elsewhere|still|further|wiser|mistak\w*|"
    r"wrong\w*|error\w*|err?at\w+|amend\w*|vari(?:ation|ed)\w*|withdr[ae]w\w*|cancel\w*|void|agree\w*|sorry|"
    r"unfortunately|gone|g[ia]ve[sn]? (?:up|way)|went (?:up|down)|put (?:\w+ ){0,4}(?:back|off|right)|twice|half|"
    r"t(?:ook|aken?|akes) (?:\w+ ){1,6}off|in (?:his|her|its|their) (?:place|stead)|success\w+|doubl\w*|not|never|"
    r"nobody|nothing|meant|would|decided|asked|all the same|out of|no need|p\. ?s\.)\b|"
    # German.
    r"\b(?:doch|statt\w*|anstelle\w*|nicht mehr|künftig|neu\w*|geändert\w*|änder\w*|versch[io]e?b\w*|später|früher|"
    r"abgesagt|entf[aä]ll\w*|über(?:nimmt|nommen|nahm)|ersetz\w*|nachfolg\w*|gestrichen|weniger|nur|bleibt|erst|"
    r"vertagt|korrig\w*|berichtig\w*|irrtum\w*|fehler\w*|leider|halb\w*|doppelt\w*|nicht|kein\w*|nimmt|stelle)\b|"
    # French, Spanish.
    r"\b(?:désormais|finalement|au lieu|remplac\w*|report\w*|annul\w*|retir\w*|nouve\w*|corrig\w*|erreur|plutôt|"
    r"seulement|moins|ne|ya no|en (?:vez|lugar)|finalmente|cambi\w*|aplaz\w*|retras\w*|anul\w*|nuev\w*|sustitu\w*|"
    r"s[oó]lo|menos)\b|"
    # Chinese, Japanese.
    r"取消|作废|更正|撤|延|往后|晚|早|接|代替|只|少|减|增|翻|仍|还是|照旧|原来|重新|放弃|不[干用要必换]|没|"
    r"変更|中止|取り消|訂正|ではなく|代わり|今後|やめ"
)
_CHANGE: Final = compile_late(_CHANGES, re.IGNORECASE)
_ANY: Final = compile_late(f"{_CHANGES}|{_HINTS}", re.IGNORECASE)


def tells_change(line: str) -> bool:
    """Return whether a word tells that something is not as it was."""
    return bool(_CHANGE.search(line))


def find_changes(text: str) -> set[str]:
    """Return the different words that may tell of a change."""
    return {found[0].casefold() for found in _ANY.finditer(text)}
