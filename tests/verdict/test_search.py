"""Sentences are found whole in prose that was cut to a width, and lines of lists and logs apart."""

import textwrap

import pytest

from bookwheel.claims import BORNE_OUT
from bookwheel.documents.opening import TextDocument, open_document
from bookwheel.verdict.judge import judge_answer
from bookwheel.verdict.search import find_sentence, is_wrapped, make_query, search


def judge(answer, question, text):
    return judge_answer(answer, question, (), TextDocument(text))


def test_a_sentence_that_was_cut_to_a_width_is_shown_whole():
    text = (
        "The engineer looked at the press for an hour.\n\n"
        "He found that one of the rubber bands round\nthe head of a driving rod had shrunk so that\n"
        "it no longer filled the socket along which\nit worked. Nobody spoke.\n"
    )
    evidence, (claim,) = judge("A rubber band had shrunk and no longer filled its socket.", "What was wrong?", text)
    assert evidence[claim.evidence[0]].quote.startswith("He found that")
    assert evidence[claim.evidence[0]].quote.endswith("it worked.")


@pytest.mark.parametrize(
    "lines",
    [
        ["sshd[101]: accepted key of ada for the root", "sshd[102]: rejected key of bob for the root", "sshd[103]: x"],
        ["drwxr-xr-x 2 root 4096 a folder of the first", "drwxr-xr-x 2 root 4096 a folder of the other", "total"],
        ["two eggs, beaten", "one cup of milk", "half a cup of oil", "pinch of salt"],
        ["bread and tea for the", "old and the ill in the", "hall and the inn"],
        ["host: alpha01", "port: 8080000", "user: bookman"],
        ["the keeper was paid in silver by the old lord", "the deputy was paid in copper by the new lord", "the end"],
        ["李白生于701年，", "杜甫生于712年，", "王维生于701年，"],
    ],
)
def test_what_is_no_prose_is_not_read_across_its_lines(lines):
    assert not is_wrapped(lines)


@pytest.mark.parametrize("width", [40, 46, 52, 58])
def test_prose_is_known_at_any_width(width):
    prose = (
        "The keeper of the lamp wrote every evening of what he had seen from the gallery and of the ships that had "
        "passed the point since noon, so that whoever came after him would know what the weather had been"
    )
    assert is_wrapped(textwrap.wrap(prose, width))


def test_lines_of_a_list_stay_apart():
    text = "Ada Quill: 12 pears\nBo Reed: 7 apples\nCy Marsh: 9 plums\nDot Lane: 4 quinces\n"
    evidence, (claim,) = judge("Bo Reed brought 7 apples.", "Who brought apples?", text)
    assert evidence[claim.evidence[0]].quote == "Bo Reed: 7 apples"


@pytest.mark.parametrize("filling", ["wordword ", "长长的句子"])
def test_a_sentence_without_an_end_is_cut_between_two_words(filling):
    text = f"{filling * 60}the lamp is lit {filling * 60}"
    start, end = find_sentence(text, text.index("lamp"), text.index("lamp") + 4)
    assert "the lamp is lit" in text[start:end]
    if filling.endswith(" "):
        assert set(text[start:end].split()) == {"wordword", "the", "lamp", "is", "lit"}


def test_names_whose_signs_stand_apart_are_found_and_shown_as_they_are_written():
    text = "如不服本判决，可以上诉。\n审 判 长　　沈　　岚\n人民陪审员　　周 建 华\n书 记 员　　方　　圆\n"
    for said, line in (("审判长是沈岚。", "审 判 长　　沈　　岚"), ("陪审员是周建华。", "人民陪审员　　周 建 华")):
        query = make_query(said, "谁？")
        search(TextDocument(text).parts(), [query])
        found = [one for _, one in query.found if one.text == line]
        assert [text[one.start : one.end] for one in found] == [line]


def test_the_line_that_names_a_file_is_none_of_its_sentences():
    text = 'One.\n===== src/parcel/__init__.py =====\n"""Parcel lockers of the town."""\n'
    start = text.index("src")
    assert text[slice(*find_sentence(text, start, text.index("lockers")))] == '"""Parcel lockers of the town."""'
    assert text[slice(*find_sentence(text, start, start + 3))] == "===== src/parcel/__init__.py ====="


def test_a_file_that_is_named_is_shown_by_its_name_and_on_no_line(tmp_path):
    for name, words in (("settings.py", "WIDTH = 4\n"), ("a.md", "The keeper was Ada Quill.\n")):
        (tmp_path / name).write_text(words)
    document = open_document([tmp_path])
    evidence, (claim,) = judge_answer("settings.py", "In which file is the width set?", (), document)
    named = evidence[claim.evidence[0]]
    assert (named.quote, named.sources, named.lines) == ("settings.py", ("settings.py",), ())


def test_an_answer_with_a_number_of_thousands_of_digits_is_judged():
    (claim,) = judge_answer(f"Ada paid {'1' * 5000} crowns.", "What did Ada pay?", [], TextDocument("Ada paid 4."))[1]
    assert claim.verdict not in BORNE_OUT
