"""Tell which answers decline: those that say that the document does not say.

A whole answer is judged, by its first sentence that is not only an opening, in any of many wordings; one that declines
and then guesses ("…, but it was probably Ada") has answered. A score knows what was asked, and that nobody could know.
So it takes more for a refusal than a reader does (`text/remarks.py`), who stops, or asks again, only where one sentence
is sure to say so.
"""

from __future__ import annotations

import re
from typing import Final

from bookwheel.patterns import compile_late
from bookwheel.text.lexicon import MONTHS
from bookwheel.text.remarks import TOLD, is_absence

_SENTENCE_END: Final = compile_late(r"(?<=[.!?])\s+|[\n;；。！？]+")
_ASKS: Final = compile_late(r"[?？]\s*$")
_OPENING: Final = compile_late(
    r"^\W*(?:(?:the|this|your|you)\s+(?:question|query|user)?\s*(?:asks?|asked|wants?|is asking|is about|concerns)\b|"
    r"(?:let me|i (?:have |'ve )?(?:read|checked|searched|looked|reviewed|went)|after (?:reading|reviewing|checking))\b"
    r"(?!.*\b(?:no|not|nothing|n't)\b)|sorry\W*$|i(?:'m| am) sorry\W*$|unfortunately\W*$|hm+\W*$|based on the[^,]*\W*$|"
    r"抱歉\W*$|对不起\W*$)"
)
_NAMED_DOCUMENT: Final = (
    r"(?:documents?|texts?|books?|passages?|sections?|memory|memories|notes?|articles?|context|story|source|report|"
    r"letters?|record|records|material|excerpts?|content|pages?|chapter|information|details?|data|contract|lease|agreement|"
    r"policy|invoice|minutes|manual|clause|warranty|leaflet|notice|brochure|flyer|guide|announcement|transcript|e-?mail|message)"
)
_DOCUMENT: Final = rf"(?:{_NAMED_DOCUMENT}|it|author)"
_DECLINES: Final = compile_late(
    rf"""
    (?:^\W*|\b(?:is|are|was|were|be|been|as|remains?|stays?|left|it's)\s(?:\w+\s){{0,2}})
        (?:un|in)(?:answerable|known|specified|stated|mentioned|disclosed|clear|available|determined|certain|
        determinable)\b(?!\s+\w+\s+[a-z]+\s+(?:built|did|made|was|is)\b)
    | \bno\s(?:\w+\s){{1,5}}?(?:is|are|was|were)\s(?:\w+\s)?
        (?:{TOLD}|named)\b
    | \bunder\ (?:investigation|examination|review)\b
    | \bsays?\ nothing\ (?:about|of)\b | \bno\ (?:definition|reason|explanation|such\ \w+)\b
    | \bnot\ (?:by\ |for\ |to\ )?(?:who|whom|whose|what|when|where|why|how|which)\b
    | \b(?:no|any|enough|sufficient|insufficient|lack\ of|lacks?|lacking|missing|without)\s(?:\w+\s){{0,3}}?
        (?:answer|information|info|mention|record|evidence|indication|details?|data|reference|trace|statement|clue|word|
        figure|number|date|name|value|context|account)\b
    | (?:\b(?:not|never|nowhere|cannot|unable\ to|fails?\ to|failed\ to|impossible\ to|no\ way\ to|hard\ to|unsure)
        |n't)\b
        (?:\W+\w+){{0,4}}?\W+
        (?:give|given|named|said|says?|stated?|states|mention\w*|specif\w*|provid\w*|available|record\w*|answer\w*|disclos\w*|list\w*|
        reveal\w*|cover\w*|address\w*|discuss\w*|includ\w*|contain\w*|indicat\w*|describ\w*|determin\w*|identif\w*|know|
        known|tell|told|find|found|locate\w*|infer\w*|ascertain\w*|clear|sure|certain|present|explain\w*|report\w*|noted?|
        supported|touch\w*|refer\w*|appear|establish\w*|confirm\w*|deduc\w*|conclud\w*|see|supply|supplied|detailed?)\b
    | \b{_DOCUMENT}\b(?:\W+\w+){{0,4}}?\W+(?:silent|omits?|leaves?\W+(?:\w+\W+){{0,3}}?(?:open|out|unsaid|unanswered)|
        skips?|lacks?|never|nothing|says?\ nothing|tells?\ (?:us\ )?nothing|leave\ (?:it|this|that)\ open)\b
    | \b(?:nothing|nobody|no\ one|none|nowhere|no\ part)\b(?:\W+\w+){{0,6}}?\W+
        (?:{_NAMED_DOCUMENT}|says?|tells?|mentions?|states?|answers?|about)\b
    | \b(?:information|details?|answer|data)\ (?:is|are|was|were)\s(?:\w+\s)?(?:missing|absent|omitted)\b
    | \b(?:beyond|outside)\W+(?:the\W+)?(?:scope|what)\b | \bleft\ (?:open|unsaid|unanswered|unstated)\b
    | \b(?:can|could|do|does|did|would)\s?(?:not|n't)\ (?:say|answer|tell|know)\b | \bno\ idea\b | \bi\ don't\ know\b
    | ^\W*(?:unknown|none|n/?a|no\ answer|(?:not|none|nobody)\ (?:(?:is|was|are|were)\ )?
        (?:given|found|stated|mentioned|known|available|specified|there|answerable|named|discussed|listed))\W*$
    | \b(?:is|are|was|were)(?:\ simply)?(?:n't|\ not|\ nowhere)\ (?:in|within|part\ of|anywhere)\b
    | 没有(?:任何|明确|直接)?(?:提|说|写|给|记|交代|答案|信息|涉及|相关|线索|依据|这)
    | 未(?:曾|有)?(?:提|说|写|给|记|交代|涉及|明确|透露|载明)
    | 无法|不能(?:确定|回答|得知|判断)|不知道|不清楚|未知|不详|不得而知|没提|没说|没写|找不到|查不到|只字未提
    | 无(?:此|相关|从|答案)|不在(?:文中|文档|文章)
    | 并(?:未|没有|不)|缺乏|缺少|不足以
    """,
    re.VERBOSE,
)
# A denial of a fact: "Ada did not sign", "it is not 7 but 8". Its subject is no document and nobody who reads one.
_ABOUT_READING: Final = compile_late(
    rf"\b{_DOCUMENT}\b|\b(?:i|we|you|one|there|this|that|answer|question|unanswerable|unknown|unclear|unspecified|"
    r"unstated|nowhere|mention\w*|discuss\w*|stated|given|known|specified|determin\w*|indicat\w*|provided|disclosed|recorded|reveal\w*|n/?a|none|"
    r"possible|nothing|nobody|found|listed|insufficient|available|undisclosed|names?|named|detailed|said)\b|"
    r"文|书|资料|记忆|笔记|材料|原著|答案|信息|提|说|知|确定|回答|不详|清楚|找|查|记载|透露|无|相关"
)
_GUESS: Final = compile_late(
    r"\b(?:but|however|though|although|still|nevertheless|yet|that said|even so|"
    r"i(?:'d| would)?\s+(?:guess|say|assume|think|believe)|my (?:best )?guess|presumably|probably|likely|perhaps)\b"
    r"[^.!?\n]*?\b(?:is|was|were|are|be|been|in|by|on|"
    r"guess|say|believe|think|assume|probably|likely|suggests?|points? to|impl(?:y|ies)|so)\b\s+(?P<answer>[^.!?\n]+)"
)
_LIKELY: Final = compile_late(
    r"\bbut (?:it|he|she|they|that) (?:is|was|were|are) (?:most |very )?(?:probably|likely|presumably) an?\b"
)
_CHINESE_GUESS: Final = compile_late(
    r"(?:但|不过|然而|只是)[^。！？\n]*?(?:应该|可能|大概|估计|我猜|就是|答案是|推测)(?P<answer>[^。！？\n]+)"
)
# "Ada Quill, though the year is not given."
_ANSWER_FIRST: Final = compile_late(
    r"^(?![^,]*\b(?:is|are|was|were|has|have|mentions?|describes?|says?|sorry|afraid)\b)[A-Z0-9][\w'.-]*+(?:\s[\w'.-]++){0,3},\s"
    r"(?:though|although|but)\b"
)
_CONCESSION: Final = compile_late(r"^\W*(?:although|though|even though|while|whilst)\b[^,.]*,\s*(?=\S)", re.IGNORECASE)
_LITTLE: Final = compile_late(rf"^\W*(?:the\s)?(?:{_NAMED_DOCUMENT}|it|author)\b.*\b(?:only|just|merely)\b")
# "It just says 40. No other number is given."
_OTHERS: Final = compile_late(r"\b(?:others?|else|more|further)\b")
_HOLLOW: Final = compile_late(
    r"\b(?:not|no|nothing|never|n't|only|unclear|unknown|mention\w*|other|different|elsewhere|say|said|tell|told)\b"
)
_NAME: Final = compile_late(r"(?<![.!?]\s)(?<!^)\b[A-Z][a-z]+\b|\d")


def declines(answer: str) -> bool | None:
    """Return whether the answer, in simplified characters, says that there is none; None where it asks instead."""
    original = answer.strip().replace("’", "'")
    sentences = [part.strip() for part in _SENTENCE_END.split(original) if part.strip(" \t*\"'“”")]
    telling = [part for part in sentences if not _OPENING.search(part.casefold())] or sentences
    if not telling:
        return False
    # "Although it is not stated, the owner appears to be Ada" gives an answer.
    first = _CONCESSION.sub("", telling[0])
    if _ANSWER_FIRST.search(first):
        return False
    if _ASKS.search(first) or _ASKS.search(original):
        return None
    said = first.casefold().replace("no doubt", "")
    is_denial = (_DECLINES.search(said) or is_absence(said)) and _ABOUT_READING.search(said)
    return bool(is_denial) and not _gives_guess(" ".join(telling))


def lacks(answer: str) -> bool:
    """Return whether an answer says how little the document says, and behind it that the rest is not there."""
    opening, _, rest = answer.partition(";" if ";" in answer else ".")
    return bool(_LITTLE.search(opening.casefold()) and not _OTHERS.search(rest) and declines(rest))


def _gives_guess(text: str) -> bool:
    """Return whether an answer follows after all, behind a "but" or an "I guess": with a name or a number in it."""
    match = _GUESS.search(text) or _CHINESE_GUESS.search(text)
    if not match:
        return False
    guess = match["answer"]
    if _HOLLOW.search(guess.casefold()):
        return False
    if _LIKELY.search(text):
        return True
    months = any(month in guess.casefold() for month in MONTHS if month != "may")
    return bool(_NAME.search(f"- {guess}")) or months or bool(_CHINESE_GUESS.search(text))
