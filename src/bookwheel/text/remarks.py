"""Tell what of a reply or an answer says nothing of the document, by one table of words.

    is_refusal     "I cannot help with that."                    the model does not do it
    is_remark      "No new information in this section."         there is nothing to note
    is_absence     "… but the year is not stated"                somewhere it says that the document does not tell
    says_absent    "The document does not say who paid."         it says so, and tells nothing beside

They are not one, for each keeps what another may drop. Who reads on with a remark loses nothing, while "no fee is
stated" is worth a note; a sentence with `is_absence` may tell much else, so that it is only asked again; and
`says_absent` is shown as the verdict. Scores know what was asked, and that nobody could know: they take more for a
refusal (`lab/scoring/declining.py`).
"""

from __future__ import annotations

import re
from typing import Final

from bookwheel.flags import Flag
from bookwheel.patterns import compile_late
from bookwheel.text.matching import parse_words
from bookwheel.types import Answer

SECTION: Final = r"(?:section|passage|excerpt|chunk|segment|text|abschnitt|sección|sezione|sectie)"
MEMORY: Final = r"(?:memory|memories|notes|gedächtnis|notizen|mémoire|memoria|appunti)"
TOLD: Final = "given|said|stated|mentioned|specified|recorded|listed"
"""What something is that a document has; "no fee is stated" says nothing of fees."""
_SOURCE: Final = "(?:document|text|book|passages?|sections?|memory|notes?)"
_REFUSAL: Final = compile_late(
    r"(?:i(?:'| a)?m sorry|sorry\b|i apologi[sz]e|i can(?:not|'t)|i(?: am|'m) (?:unable|not able)|as an ai\b|"
    r"抱歉|对不起|很抱歉|我无法|我不能|作为(?:一个)?(?:ai|人工智能))"
)
_NEWS: Final = (
    r"(?:new|relevant|relat\w+|additional|further|useful|changes?|updates?|information|facts?|details?|needed|"
    r"to (?:add|note|update))"
)
_WHERE: Final = (
    r"(?:\s+(?:here|found|given|present|provided|mentioned|"
    r"(?:in|from|about|for|to|on|regarding|with)\b[^.\n]{0,90}))*"
)
_SUBJECT: Final = rf"(?:(?:there (?:is|are|was|were)|i (?:see|found|find|have)|(?:this|the) {SECTION} \w+)\s+)?"
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
    r"(?:keine (?:neue|weitere)n? (?:informationen|angaben|fakten)|nichts neues|keine änderung\w*)\b[^.\n]{0,60}",
    "无",
)
_REMARK: Final = compile_late("|".join(rf"\W*(?:{remark})\W*" for remark in _REMARKS))
_CLAUSE: Final = compile_late(r"[.!。！;,，；()（）]")
_LONGEST_REFUSAL: Final = 160
_ABSENCE: Final = compile_late(
    rf"""
    (?:not|never|nowhere|n't)\s(?:\w+\s){{0,2}}?(?:{TOLD}|provided|available|answerable|answered|disclosed)\b
    | (?:not|nowhere)\s(?:\w+\s)?(?:in|within|part\ of)\s(?:\w+\s){{0,2}}?{_SOURCE}\b
    | (?:not|n't|isn't|never)\s(?:known|found|there)\s*[.!]?$
    | {_SOURCE}\s(?:\w+\s){{0,3}}?
        (?:(?:do(?:es)?|did|has|have|can)\s?(?:not|n't|never|no|nothing)|says?\ no|gives?\ no|holds?\ no|contains?\ no)
    | there\ (?:is|are|was|were)\ (?:no|nothing|not\ any)\b
    | \b(?:{_SOURCE}|policy|contract|agreement|minutes|it)\ (?:is|are)\ silent\ (?:on|about|as\ to)\b
    | \bno\ (?:\w+\ ){{1,5}}?(?:is|are|was|were)\ (?:{TOLD}|named|provided)\s*[.!]?$
    | \bno\ (?:\w+\ ){{1,5}}?(?:is|are)\ (?:stated|mentioned|named)\ for\b
    | \bno\ (?:figure|date|name|number|amount|price|sum)\ is\ given\ for\b
    | \bnothing\ in\ (?:the\ )?{_SOURCE}\ (?:gives?|says?|names?|tells?|states?)\b
    | \b{_SOURCE}\ leaves?\ (?:it|that|this)\ open\b | \bwhether\b.{{1,80}}\bis\ left\ open\b
    | \bneither\b.{{1,80}}\bnor\b.{{1,80}}\b(?:names?|says?|states?|mentions?)\b
    | (?:do|does|did|could|can)\s?(?:not|n't)\s(?:\w+\s)?(?:know|tell|answer|say|find|determine)\b
    | (?:doesn't|didn't|don't)\s(?:\w+\s)?(?:say|state|mention|tell|give|specify|contain|hold|provide|answer|know)\b
    | (?:^|\s)no\s(?:\w+\s){{0,2}}?(?:answer|information|mention|record|evidence|indication)\b
    | (?:cannot|can't|couldn't|impossible\ to)\s(?:\w+\s){{0,2}}?
        (?:answer|answered|say|tell|determine|determined|know|known|find)\b
    | (?:unanswerable|unknown|unspecified|unstated|n/a|none|no\ answer)\s*[.!]?$
    | (?:文中|文章|文本|文档|原文|资料|记忆|书中|里面)?(?:中|里|内)?(?:并|都|均|也|完全)?
        (?:没有|没|未|无)(?:任何|明确|直接)?(?:提到|提及|说明|载明|说|写|给出|记载|交代|回答|相关|答案|信息)
    | (?:记忆|笔记)(?:中|里|内)(?:并|都|均|也)?(?:没有|未见|无)
    | \b(?:the|this)\s(?:document|text|section|passage|notes)\s(?:has|have|contains?|names?|gives?|mentions?)\s
        (?:no|none|nothing)\b(?!\s(?:other|more|further)\b)(?!.*\b(?:than|but|except)\b)
    | (?:无法|不能)(?:从\w{{0,8}})?(?:回答|确定|得知|判断|知道)|不知道|未知|不得而知|不在(?:文中|文档)|只字未提
    """,
    re.VERBOSE,
)
# German, French, Spanish, Italian and Japanese.
_ABSENCE_ABROAD: Final = compile_late(
    r"""
    \bgeht\b[^.]{0,60}\bnicht\b[^.]{0,20}\bhervor\b
    | \bnicht\s(?:\w+\s)?(?:angegeben|erwähnt|genannt|bekannt|ersichtlich|vermerkt|zu\sentnehmen|zu\sfinden)\b
    | \bkeine?\s(?:angaben?|information(?:en)?|antwort|hinweise?|auskunft)\b
    | \b(?:sagt|nennt|erwähnt|enthält|steht|stehen)\s(?:es|das|dies|dazu|darüber)?\s?(?:nicht|nichts)\b
    | \bn(?:e\s|')(?:\w+\s|l'){0,2}?(?:dit|précise|mentionne|indique|donne|contient|fournit)(?:nt)?\s
        (?:pas|rien|aucune?)\b
    | \bn'(?:est|était|sont)\spas\s(?:\w+\s)?(?:précisé|mentionné|indiqué|connu|dit|donné|fourni)
    | \baucune?\s(?:information|mention|indication|réponse)\b
    | \bno\s(?:\w{2}\s){0,2}?(?:dice|menciona|indica|especifica|precisa|aclara|consta|figura|aparece|contiene)\b
    | \bno\sestá\s(?:indicad|especificad|mencionad) | \bno\shay\s(?:información|mención|datos)\b
    | \bninguna\s(?:información|mención|indicación|respuesta)\b
    | \bnon\s(?:\w{2}\s)?(?:dice|menziona|indica|specifica|precisa|risulta|contiene)\b
    | (?:記載|言及|記述|情報|明記)(?:が|は|も)?(?:され)?(?:て)?(?:は)?
        (?:ありません|ない|なし|無い|無し|いません|いない|おりません|見当たりません)
    | (?:書かれて|述べられて|触れられて|示されて)(?:は)?(?:いません|いない|おりません) | [分わ]かりません
    """,
    re.VERBOSE,
)
# A denial that speaks of the document or of knowing, unlike "Ada was not given the key".
_ABOUT_DOCUMENT: Final = compile_late(
    r"\b(?:documents?|text|book|passages?|sections?|memory|notes?|information|details?|answer\w*|mention\w*|evidence|"
    r"records?|context|source|know|determined?|tell|say|find|found|indication|unanswerable|stated|specified|silent)\b"
    r"|\bno (?:\w+ ){1,5}?(?:is|are|was|were) (?:given|named)\s*[.!]?$|\bis (?:given|named) for\b|\bleft open\b"
    r"|\bneither\b.*\bnames?\b"
    r"|\b(?:dokument\w*|unterlagen?|vertrag\w*|angaben?|documento|texto?|texte|hervor)\b|文書|資料|記載|情報"
    r"|文中|文章|文本|文档|原文|资料|记忆|书中|答案|信息|提到|提及|载明|只字未提|回答|确定|得知|不知道|未知"
)
_BESIDE: Final = compile_late(r"[;；]|,\s(?:but|yet)\b|[，,]但是?")
# A condition, or code, that speaks of no answer: the sentence tells what happens then.
_SUPPOSED: Final = compile_late(
    r"^\W*(?:if|unless|in case|wenn|falls|sofern)\b[^,]*,|^\W*(?:如果|若|假如)[^，,]*[，,]|`[^`]*[(={][^`]*`",
    re.IGNORECASE,
)
_SHORTEST_DENIAL: Final = 4
_ENOUGH_TOLD: Final = 4


def is_remark(text: str) -> bool:
    """Return whether every clause of the reply says that nothing is new, so "No new tenants after 2031" does not."""
    return all(_REMARK.fullmatch(clause) for clause in _CLAUSE.split(_fold(text)) if clause.strip())


def is_refusal(text: str) -> bool:
    """Return whether a short reply begins with one; a longer one says something, whatever it begins with."""
    return len(text) <= _LONGEST_REFUSAL and bool(_REFUSAL.match(_fold(text)))


def is_absence(text: str) -> bool:
    """Return whether a sentence of an answer says that the text does not give one."""
    return any(pattern.search(_fold(text)) for pattern in (_ABSENCE, _ABSENCE_ABROAD))


def has_no_answer(answer: Answer) -> bool:
    """Return whether an answer is none: it is empty, refuses, or says that the text does not give one."""
    return Flag.NO_ANSWER in answer.flags or is_absence(answer.text)


def says_absent(sentence: str) -> bool:
    """Return whether a sentence of an answer says that the document does not have the answer."""
    parts = [part for part in _BESIDE.split(_SUPPOSED.sub(" ", sentence)) if part.strip()]
    absent = [part for part in parts if _says_absent(part)]
    # What tells something beside it is an answer, whatever the rest leaves open.
    return bool(absent) and not any(_tells(part) for part in parts if part not in absent)


def _says_absent(part: str) -> bool:
    is_short = len(part.split()) <= _SHORTEST_DENIAL
    return is_absence(part) and (is_short or bool(_ABOUT_DOCUMENT.search(_fold(part))))


def _tells(part: str) -> bool:
    words = [word for word in parse_words(part) if word.is_distinctive]
    return len(words) >= _ENOUGH_TOLD or any(word.is_exact and word.text[0].isdigit() for word in words)


def _fold(text: str) -> str:
    return text.strip().casefold().replace("’", "'")
