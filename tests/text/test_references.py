"""What a text cites is told from what it says, so that the title of another work is no answer about this one."""

import pytest

from bookwheel.reading.ways.passages import PassageIndex
from bookwheel.text.ranking import QuestionWords
from bookwheel.text.references import find_references
from bookwheel.text.structure import Shape, split_parts

PAPER = """1 Introduction

We measure tides with lamps of two makes. The lamp of the second make reached an accuracy of 81 percent.

{title}
Ada Lark and Bo Hale. 2019. Which lamp reached the highest accuracy? A survey. In
Proceedings of the Ninth Conference on Lamps, pages 1-19.
Cy Moor, Di Nash, Ed Oak, Flo Penn, Guy Quill,
Hal Reed, Ida Shaw, Jo Tarn, Kim Urry, Lou Vane,
Max West, Ned York, Ola Zinn, Pia Abel, Quin Bird,
Rex Cole and Sue Dale. 2021. On the accuracy of lamps.
[3] T. Ede. Lamps that reached an accuracy. arXiv:2104.00001.

Appendix A

The second make is sold by a shop in Leith.
"""


@pytest.mark.parametrize("title", ["References", "# REFERENCES", "7. References", "VII. Bibliography", "参考文献"])
def test_a_list_of_what_is_cited_ends_where_the_text_goes_on(title):
    text = PAPER.format(title=title)
    [(start, end)] = find_references(text)
    assert text[start:end].startswith("Ada Lark")
    assert text[start:end].rstrip().endswith("arXiv:2104.00001.")
    cited = "".join(text[part.start : part.end] for part in split_parts(text) if part.shape is Shape.REFERENCE)
    assert "Ada Lark" in cited
    assert "arXiv" in cited
    assert not {"measure", "Leith"} & {*cited.split()}


@pytest.mark.parametrize("text", ["References are given on request.\nCall 2019 first.", "References\n\nNone, in 1999."])
def test_a_word_alone_begins_no_list(text):
    assert list(find_references(text)) == []


def test_a_cited_title_wins_only_where_it_is_asked_for():
    index = PassageIndex.build(PAPER.format(title="References"))
    asked, cited = (
        index.rank(QuestionWords(question), 1)[0].window.text
        for question in ("Which lamp reached the highest accuracy?", "Which survey of the highest accuracy is cited?")
    )
    assert asked.startswith("We measure")
    assert "A survey" in cited


def test_empty_lines_are_looked_at_once():
    # Each of them with all behind it would take hours.
    assert list(find_references("\n" * 300_000)) == []
