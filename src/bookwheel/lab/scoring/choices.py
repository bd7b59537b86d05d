"""Judge answers to yes/no and either/or questions by what they say, not by which words they hold.

gold "no"       "No, only the first was." is right; "There is no doubt: yes." is wrong
gold "Riga"     asked "Which is older, Riga or Turku?": "Riga is older than Turku." is right,
                "Riga or Turku" and "Turku, and not Riga" are wrong
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from bookwheel.lab.scoring.commitment import asserts_any, mentions
from bookwheel.lab.scoring.declining import declines
from bookwheel.lab.scoring.forms import list_forms
from bookwheel.lab.scoring.relevance import has_opposite
from bookwheel.text import lexicon
from bookwheel.text.normalization import find_words, simplify, words

_YES: Final = lexicon.words("yes yeah yep correct true indeed affirmative right")
_NO: Final = lexicon.words("no nope incorrect false negative wrong")
# "No doubt", "no problem": what follows is the answer.
_HOLLOW: Final = lexicon.words("doubt matter problem")
_CHINESE_YES: Final = re.compile(
    r"^(?:答案[是为]?[:：“\"]?)?(?:是的|是|对|对的|正确|没错|有|会|能|可以|支持|允许|(?:能|可以)[\u3400-\u9fff])"
    r"(?:[，,。.!！；;”\"]|$)"
)
_CHINESE_NO: Final = re.compile(r"^(?:答案[是为]?[:：“\"]?)?(?:不是|不|否|不对|错|没有|并非|不会|不能|不可以)")
_CHINESE_BARE_NO: Final = re.compile(_CHINESE_NO.pattern + r"(?:的)?(?:[，,。.!！；;”\"]|$)")
_AUXILIARY: Final = r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|must)"
_ASKS_WHETHER: Final = re.compile(
    rf"{_AUXILIARY}\b(?!.*\bor\b)|.*(?:吗|是否)",
    re.IGNORECASE,
)
_BEFORE_CHOICE: Final = re.compile(
    r"^(?:\W|(?:the|final|short|my|answer|is|was|would|be|to|question|this|so|well|thus|therefore|it|s)\b)*",
    re.IGNORECASE,
)
_AGREES: Final = re.compile(
    r"^\W*(?:i (?:think|believe|guess) so|that(?:['’]s| is) (?:right|correct|true)|certainly|definitely|absolutely|"
    r"of course)\b(?!\W+not\b)",
    re.IGNORECASE,
)
_BRIEF_REPLY: Final = re.compile(
    rf"^\W*(?:it|he|she|they|there|we|you|i)\s{_AUXILIARY}"
    r"(\snot|n['’]t)?(?:\W*$|[.;:—–,](?!\s(?:but|though|however|not)\b))",
    re.IGNORECASE,
)
# "They are of the same age": an answer that decides for neither.
_TIE: Final = re.compile(r"\b(?:the same|equally|equal|neither|tied|as \w+ as)\b|一样|相同|同样", re.IGNORECASE)
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|[\n。！？；;]+")
_CONCLUSION: Final = re.compile(
    r"\b(?:so|therefore|thus|hence|consequently|in conclusion|overall|the answer is|meaning|which means)\b|"
    r"因此|所以|故|答案是",
    re.IGNORECASE,
)
_POLAR: Final = {
    **dict.fromkeys(["yes", "true", "是", "对", "可以", "能", "有"], True),
    **dict.fromkeys(["no", "false", "否", "不是", "不可以", "不能", "没有"], False),
}
_DENIED: Final = re.compile(
    r"\b(?:not|hardly|never|neither|nor|isn't|wasn't|aren't|weren't|don't|doesn't|didn't|cannot|can't|only one|"
    r"different|differ|unlike|whereas|(?:declined|refused|failed) to)\b|"
    r"\bno (?!doubt|matter|problem|longer than)\w|不|并非|没有|只有",
    re.IGNORECASE,
)
_AFFIRMED: Final = re.compile(r"\b(?:both|the same|same|also|as well|each|share)\b|都|均|相同|一样", re.IGNORECASE)
_FORBIDS: Final = re.compile(
    r"\b(?:prohibit\w*|forbid\w*|forbidden|banned|bans?|exclud\w+|ruled out|prevent\w*|illegal|impossible)\b|禁止|不得",
    re.IGNORECASE,
)
_EXCEPTION: Final = re.compile(r",? but not\b.*", re.IGNORECASE | re.DOTALL)
# "Originally not, but since May it is": what holds is said behind the "but".
_FORMERLY: Final = re.compile(r"^(?:originally|initially|formerly|at first)\b[^.;]*?\bbut\s", re.IGNORECASE)
_SAYS: Final = re.compile(r"\b(yes|no)\b(?=\W*$|\s*[,.;:!\n\"”*])", re.IGNORECASE)
_BOTH: Final = re.compile(r"\b(?:both|the same|same)\b", re.IGNORECASE)
_CONTRAST: Final = re.compile(r"\b(?:while|whereas|but)\b", re.IGNORECASE)
_CLAUSE: Final = re.compile(r"[;\n；。]|(?<=[.!?])\s")
_OPTIONS: Final = re.compile(
    r"(?:between|[,:，：]|\b(?:is|was|are|were|did|does|has)\b)\s*"
    r"([^,:，：?？]+?)\s*(?:\bor\b|\band\b|还是|或)\s*([^,:?？]+)[?？]?\s*$"
)
# "Did A or B sail first?": the predicate stands behind the second option.
_EITHER: Final = re.compile(
    rf"(?:^|[,，]\s*)(?:{_AUXILIARY}\s+(?:it\s+)?|是)"
    r"(.+?)\s*(?:\bor\b|还是|或)\s*(.+?)[?？\s]*$",
    re.IGNORECASE,
)
# One character is no name.
_LEAST_CHARACTERS: Final = 2
# Comparatives by the side of the scale that they name.
_SCALE: Final = {
    word: side
    for side, forms in {
        -1: "first earlier earliest before older oldest elder",
        1: "later latest last after younger youngest newer recent recently",
        2: "more larger bigger longer taller higher greater faster largest biggest longest highest fastest most",
        -2: "less smaller shorter lower fewer slower slowest smallest shortest lowest least",
    }.items()
    for word in forms.split()
}
_POINTERS: Final = lexicon.words("it them this that him")
_OF_LEAVE: Final = lexicon.words("may allow permit")
_SHARE_ASKED: Final = 0.75
_OPTION: Final = re.compile(r"(?:^|[\s(])([A-H])[.):]\s*(\S.*?)(?=\s*(?:[\s(][B-H][.):]\s|$))", re.MULTILINE)
_OPTION_LETTER: Final = re.compile(
    r"(?i:answer|option|choice|correct(?:\s\w+)?|答案)\W{0,4}(?i:is|are|would be|was|选项|[是为选])?\W{0,6}([A-H])"
    r"(?![\w'’])|^\W*([A-H])(?=\W|$)|\(([A-H])\)"
)
# "B, A is wrong" picks one.
_SECOND_LETTER: Final = re.compile(r"^\W*(?:or|and|或|和|/|、|&)\W*[A-H](?!\w)|^\W*,\W*[A-H]\W*$")


def list_options(question: str) -> dict[str, str]:
    """Return the options of a multiple-choice question by their letters: "A. Ost  B. Bo"."""
    options = dict(_OPTION.findall(question))
    return options if {"A", "B"} <= options.keys() else {}


def picks_option(answer: str, golds: Sequence[str], options: Mapping[str, str]) -> bool:
    """Return whether an answer decides for the right option, by its letter or by its text."""
    letters = [gold for gold in golds if gold in options]
    match = _OPTION_LETTER.search(answer.replace("**", ""))
    if match:
        letter = next(filter(None, match.groups()))
        return letter in letters and not _SECOND_LETTER.match(answer.replace("**", "")[match.end() :].lstrip(")."))
    right = [options[letter] for letter in letters] + [gold for gold in golds if gold not in options]
    others = [text for letter, text in options.items() if letter not in letters]
    chosen = asserts_any(answer, right)
    return chosen is not None and not asserts_any(answer, [text for text in others if text not in chosen], alone=False)


def is_polar(golds: Sequence[str], question: str = "") -> bool:
    """Return whether all golds are a yes, or all a no; a yes/no question may have golds in other words beside them."""
    sides = {read_polar(gold) for gold in golds}
    return sides - ({None} if _ASKS_WHETHER.match(question) else set()) in ({True}, {False})


def read_polar(gold: str) -> bool | None:
    """Return True for a gold that is a yes, False for a no, None for any other."""
    return _POLAR.get(gold.strip().casefold())


def says_yes(answer: str, question: str = "") -> bool | None:
    """Return True for yes, False for no, None where the answer says neither or both, or that the document does not say.

    The first word decides; a sentence that only restates the facts is read for "both" and "not", and for whether it
    says what the question asks.
    """
    text = _FORMERLY.sub("", answer.strip().strip("*\"'“”").strip())
    if _CHINESE_NO.search(text):
        # "没有提到" begins with a no, and says that it is not mentioned.
        return None if not _CHINESE_BARE_NO.search(text) and declines(simplify(text)) else False
    if _CHINESE_YES.search(text):
        return True
    if short := _BRIEF_REPLY.match(text):
        return not short[1]
    if _AGREES.search(text):
        return True
    bare = _BEFORE_CHOICE.sub("", text)
    first = next(iter(words(bare)), "")
    if first in _YES or first in _NO:
        return _weigh_lead(first, bare, question)
    return _weigh_statement(text, question)


def _weigh_lead(first: str, text: str, question: str) -> bool | None:
    """Return what an answer says that opens with yes or no; None where it takes it back at once or names both."""
    rest = words(text)[1:2]
    if rest in (["or"], ["and"]):
        return None
    # "No auditors are mentioned" is no no; "No. It is not mentioned that …" is one.
    if first == "no" and not re.match(r"no\s*[,.;:!—–-]", text, re.IGNORECASE) and declines(simplify(text)):
        return None
    return _weigh_statement(text, question) if first == "no" and {*rest} & _HOLLOW else first in _YES


def _weigh_statement(text: str, question: str) -> bool | None:
    """Return what a statement says of a yes/no question; None where no word of it tells."""
    if text.rstrip().endswith(("?", "？")):
        return None
    parts = [part for part in _SENTENCE.split(text) if part.strip()]
    conclusions = [part for part in parts if _CONCLUSION.search(part)]
    decisive = conclusions[-1] if conclusions else text
    inside = {match[1].casefold() for match in _SAYS.finditer(decisive)}
    has_declined = declines(simplify(text))
    if len(inside) == 1 and (conclusions or not has_declined):
        return "yes" in inside
    if has_declined:
        return None
    if not conclusions:
        decisive = _choose_clause(text, question)
    # "Permitted in the garden, but not indoors", where the garden is asked about.
    exception = _EXCEPTION.search(decisive)
    if exception and _find_asked(decisive[: exception.start()]) == _find_asked(question):
        decisive = decisive[: exception.start()]
    is_split = _BOTH.search(question) and _CONTRAST.search(text) and not _BOTH.search(text)
    if is_split or _DENIED.search(decisive) or (_FORBIDS.search(decisive) and not _FORBIDS.search(question)):
        return False
    if has_opposite(words(decisive), words(question)):
        return False
    affirms = _AFFIRMED.search(decisive) and (_BOTH.search(question) or not _BOTH.search(decisive))
    return True if affirms or _restates(decisive, question) else None


def _choose_clause(text: str, question: str) -> str:
    """Return the first of the clauses that say most of what is asked; what belongs to no question says nothing."""
    asked = _find_asked(question)
    clauses = [clause for clause in _CLAUSE.split(text) if clause.strip()]
    best = max(clauses, key=lambda clause: len(asked & _find_asked(clause)), default=text)
    return best if asked & _find_asked(best) else text


def _find_asked(text: str) -> set[str]:
    return lexicon.find_content(words(text)) - _OF_LEAVE


def _restates(statement: str, question: str) -> bool:
    """Return whether a statement says what the question asks, in most of its words."""
    than = [set(words(text.rpartition(" than ")[2])) for text in (question, statement) if " than " in text]
    if len(than) == 2 and not than[0] & than[1] - lexicon.FUNCTION_WORDS:  # noqa: PLR2004 - "A than B" against "B than A"
        return False
    asked, said = _find_asked(question), _find_asked(statement)
    if len(said) > 1 and said <= asked:
        return True
    count = len(asked & said)
    # "Tom sold it to Ada", of the red house, but "It covers fire damage" says nothing of water damage.
    return count > 1 and count + bool(_POINTERS & set(words(statement)[1:])) >= _SHARE_ASKED * len(asked)


def picks_gold(answer: str, golds: Sequence[str], question: str) -> bool:
    """Return whether an answer to an either/or question picks a gold and not the other option."""
    for option in golds:  # "Boyd Merriman, 1st Baron Merriman" is an option of one name
        question = question.replace(option, option.partition(",")[0])
    golds = [*golds, *(form for option in golds for form in list_forms(option, question))]
    other = find_other_option(question, golds, answer)
    gold = asserts_any(answer, golds, question=question)
    if gold is None:
        # "The Comet is slower", where the faster is asked.
        is_other = bool(other) and not any(mentions(answer, one) for one in golds) and mentions(answer, other)
        return is_other and _compares_against(words(answer), question)
    if not other:
        return not _repeats_question(answer, question)
    if not mentions(answer, other):
        return not _compares_against(words(answer), question)
    return _decides_for(answer, gold, other, question)


def find_other_option(question: str, golds: Sequence[str], answer: str = "") -> str:
    """Return the option of an either/or question that is no gold; empty where none can be told.

    Where the predicate follows the second option, the option is as much of both as the answer repeats.
    """
    either = _EITHER.search(question.strip())
    match = either or _OPTIONS.search(question.strip())
    if not match:
        return ""
    options = [match[1], _cut_predicate(match[2], answer) if either else match[2]]
    # "Which film came out first, A or B" leaves whole titles; other forms leave words of the question around them.
    right = [any(find_words(words(option), words(gold), most=1) for gold in golds) for option in options]
    return options[right.index(False)] if sum(right) == 1 else ""


def _cut_predicate(option: str, answer: str) -> str:
    """Return the longest beginning of the option that stands in the answer; the whole where none does."""
    parts = words(option)
    least = 1 if option.isascii() else _LEAST_CHARACTERS
    beginnings = (" ".join(parts[:end]) for end in range(len(parts), least - 1, -1))
    return next((text for text in beginnings if mentions(answer, text)), option)


def _repeats_question(answer: str, question: str) -> bool:
    """Return whether the answer only says the question again."""
    asked, given = words(question), words(answer)
    return len(given) > len(asked) / 2 and set(given) <= set(asked)


def _decides_for(answer: str, gold: str, other: str, question: str) -> bool:
    """Return whether an answer that names both options decides for the gold."""
    parts = [part for part in _SENTENCE.split(answer) if part.strip()]
    for part in reversed(parts):
        if _CONCLUSION.search(part):
            tail = _CONCLUSION.split(part)[-1]
            if mentions(tail, gold) != mentions(tail, other):
                return mentions(tail, gold)
    if asserts_any(answer, [other], question=question) is None:
        return True
    if _TIE.search(answer) and not set(words(answer)) & _SCALE.keys():
        return False
    sentence = next((part for part in parts if mentions(part, gold) or mentions(part, other)), answer)
    row = words(sentence)
    places = {True: find_words(row, words(gold), most=1), False: find_words(row, words(other), most=1)}
    leads = min((side for side in places if places[side]), key=lambda side: places[side][0])
    return leads != _compares_against(row, question)


def _compares_against(row: Sequence[str], question: str) -> bool:
    """Return whether the sentence compares on the other side of the scale: "A is younger", where the older is asked."""
    asked = {_SCALE[word] for word in words(question) if word in _SCALE}
    said = next((_SCALE[word] for word in row if word in _SCALE), None)
    return said is not None and -said in asked and said not in asked
