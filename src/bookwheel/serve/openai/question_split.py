r"""Tell the question from the document where one message holds both. Pure.

A block in tags or fences that makes up most of the message is the document. Otherwise the question stands in the last
paragraph or in the first one, whichever reads like one:

>>> split_message("What is the rent? Here is the lease:\n\nThe rent is nine crowns.\n\nIt is due in May.")
('The rent is nine crowns.\n\nIt is due in May.', 'What is the rent? Here is the lease:')
>>> split_message("The rent is nine crowns.\n\nWhat is the rent?")
('The rent is nine crowns.', 'What is the rent?')
"""

import re
from typing import Final

# Characters. A question of several paragraphs is rare, and a first page without a break is no question.
_LONGEST_QUESTION: Final = 2000
_TAGS: Final = "context|documents?|docs?|text|passages?|content|files?|source|sources|article|chunk|data|input"
_TAGGED: Final = re.compile(
    rf"^[ \t]*<({_TAGS})\b[^<>\n]*>\n?(?P<inside>.*)</\1>", re.DOTALL | re.IGNORECASE | re.MULTILINE
)
_WRAPPED: Final = re.compile(rf"\s*<({_TAGS})\b([^<>\n]*)>(?P<inside>.*)</\1>\s*", re.DOTALL | re.IGNORECASE)
_NAME: Final = re.compile(r'\bname="([^"]+)"')
_FENCED: Final = tuple(
    re.compile(rf"^{fence}[^\n]*\n(?P<inside>.*)\n?^{fence}", re.DOTALL | re.MULTILINE)
    for fence in ("`{3}", '"{3}', "'{3}")
)
# Instructions around a block can be long: those of retrieval are some 2000 characters.
_LONGEST_AROUND: Final = 6000
_ENDS_AS_QUESTION: Final = re.compile(r"[?？](?:[\"'”’)\]\s]*)$")
_ASKS: Final = re.compile(
    r"^\W*(?:please\W+|can you\W+|could you\W+|i (?:need|want)\b.*|now\W+|then\W+|and\W+|task\W+|question\W+|q\W+|"
    r"query\W+)*(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|does|do|did|can|could|should|will|"
    r"answer|ask|analy[sz]e|check|classify|compare|count|define|describe|determine|evaluate|explain|extract|find|"
    r"give|identify|list|look|make|mention|name|outline|point|provide|quote|rank|read|rewrite|say|show|state|"
    r"summari[sz]e|summary|tell|translate|turn|use|write|according|based|based on|from the|in the (?:text|document)|"
    r"per|given)\b",
    re.IGNORECASE,
)
_ASKS_IN_CHINESE: Final = re.compile(
    r"请|什么|谁|哪|多少|几[个次]|为什么|怎么|怎样|如何|是否|吗[。？?]?$|总结|概括|翻译|列出|说明|解释|根据"
)
_POINTS_AT_TEXT: Final = re.compile(
    r"\b(?:here is|here are|here's|the following|below|given the|following (?:text|document|article|passage))\b|"
    r"以下|下面|下文|如下",
    re.IGNORECASE,
)
_SENTENCE_END: Final = re.compile(r"[.!?:。！？：]\s")


def split_message(text: str, *, must: bool = True) -> tuple[str, str] | None:
    """Return the document and the question of a message; None where it holds no question.

    Without `must`, only what reads like a question is taken for one. Otherwise a short last paragraph is too.
    """
    if found := _split_at_block(text):
        return found
    first, last = _split_first(text), _split_last(text)
    if first and _introduces(first[1]):
        # "Summarise the lease below: …" and a stray last line, or a second question at the end.
        both = _split_first(last[0]) if last and _reads_as_question(last[1]) else None
        return (both[0], f"{both[1]}\n\n{last[1]}") if both and last else first
    if last and _reads_as_question(last[1]):
        return last
    if first and _reads_as_question(first[1]):
        return first
    return last if must and last and len(last[1]) <= _LONGEST_QUESTION else None


def _split_at_block(text: str) -> tuple[str, str] | None:
    """Return the block in tags or fences, if it is most of the text, and what stands around it."""
    fenced = (fence.search(text) for fence in _FENCED if _has_one_block(fence, text))
    block = _TAGGED.search(text) or next((found for found in fenced if found), None)
    if block is None:
        return None
    inside = block["inside"]
    around = "\n\n".join(part for part in (text[: block.start()].strip(), text[block.end() :].strip()) if part)
    is_document = inside.strip() and len(inside) >= len(around) and 0 < len(around) <= _LONGEST_AROUND
    only = _find_only_source(inside)
    return (only["inside"] if only else inside, around) if is_document else None


def find_source_name(text: str) -> str | None:
    """Return the name of the one source that a message holds: `<source id="1" name="lease.pdf">`."""
    block = _TAGGED.search(text)
    only = _find_only_source(block["inside"]) if block else None
    name = _NAME.search(only[2]) if only else None
    return name[1] if name else None


def _find_only_source(inside: str) -> re.Match[str] | None:
    """Return the block that is all of another block. Its tag is no text: a question would find its words in it."""
    only = _WRAPPED.fullmatch(inside)
    is_only = only and only["inside"].strip() and f"<{only[1]}".casefold() not in only["inside"].casefold()
    return only if is_only else None


def _has_one_block(fence: re.Pattern[str], text: str) -> bool:
    """Return whether a fence opens and closes once: a document may have blocks of its own."""
    mark = fence.pattern.partition("[")[0]
    return len(re.findall(mark, text, re.MULTILINE)) == 2  # noqa: PLR2004


def _split_last(text: str) -> tuple[str, str] | None:
    """Return what stands before the last paragraph, or the last line if there is one paragraph, and that."""
    text = text.rstrip()
    for boundary in ("\n\n", "\n"):
        before, separator, last = text.rpartition(boundary)
        if separator and before.strip():
            return before, last
    return None


def _split_first(text: str) -> tuple[str, str] | None:
    """Return what follows the first paragraph, line or sentence that asks something, and that."""
    text = text.lstrip()
    paragraph, line = _cut_at(text, "\n\n"), _cut_at(text, "\n")
    for cut in (paragraph, line):
        if cut and (_ENDS_AS_QUESTION.search(cut[1]) or _is_colon(cut[1])):
            return cut
    return _cut_sentence(text) or paragraph or line


def _cut_at(text: str, boundary: str) -> tuple[str, str] | None:
    first, separator, rest = text.partition(boundary)
    if separator and rest.strip() and len(first) <= _LONGEST_QUESTION:
        return rest.lstrip("\n"), first.rstrip()
    return None


def _cut_sentence(text: str) -> tuple[str, str] | None:
    """Return what follows the sentences that ask, where all stands in one paragraph: "What is X? Here it is: …"."""
    ends = [end.end() for end in _SENTENCE_END.finditer(text[:_LONGEST_QUESTION])]
    opening = next((end for end in ends if _is_colon(text[:end]) and _POINTS_AT_TEXT.search(text[:end])), None)
    asked = next((end for end in ends if text[:end].rstrip()[-1] in "?？"), None)
    end = opening or asked
    return (text[end:], text[:end].rstrip()) if end and text[end:].strip() else None


def _is_colon(text: str) -> bool:
    return text.rstrip().endswith((":", "："))


def _introduces(paragraph: str) -> bool:
    """Return whether a first paragraph asks something about what follows it."""
    is_opening = _is_colon(paragraph) or bool(_POINTS_AT_TEXT.search(paragraph))
    return is_opening and _reads_as_question(paragraph)


def _reads_as_question(paragraph: str) -> bool:
    if len(paragraph) > _LONGEST_QUESTION:
        return False
    return bool(
        _ENDS_AS_QUESTION.search(paragraph)
        or _ASKS.search(paragraph)
        or _ASKS_IN_CHINESE.search(paragraph)
        or (_is_colon(paragraph) and _POINTS_AT_TEXT.search(paragraph))
        or re.search(r"[?？]\s", paragraph)
    )
