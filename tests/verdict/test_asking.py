"""A short answer is found only where it can be what the question asks for."""

import pytest

from bookwheel.documents.opening import TextDocument
from bookwheel.types import BORNE_OUT, Verdict
from bookwheel.verdict.judge import judge_answer

TEXT = (
    "The college grants degrees in 50 academic majors and 28 minors. Six of the seven lines of the commuter rail run out "
    "of the harbour town. After the Great War, the council of Skarholm increased its spending on public buildings. The "
    "speedway team Skarholm Diamonds races at Brough Park. The bell of Orlow was first shown in Port Hale. The hidden "
    "ledger was found by journalist Tom Edsall. In 1900 the paper named the seven counties of the south.\n"
)
ZH = "八号蒸汽机由查尔斯为高速船开发，1862年在伦敦世博会展出。林伟于1778年出生在青石镇。第二个尺度压缩了最近的时代。\n"


def verdict_of(answer: str, question: str, text: str = TEXT) -> Verdict:
    (claim,) = judge_answer(answer, question, (), TextDocument(text))[1]
    return claim.verdict


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        ("28", "How many minors does the college grant degrees in?"),
        ("Port Hale", "Where was the bell of Orlow first shown?"),
        ("Tom Edsall", "Who found the hidden ledger?"),
    ],
)
def test_an_answer_of_the_right_kind_in_the_right_place_is_found(answer: str, question: str) -> None:
    assert verdict_of(answer, question) in BORNE_OUT


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        ("50", "How many minors does the college grant degrees in?"),
        ("Six", "How many lines does the commuter rail have?"),
        ("Great War", "Who increased the spending on public buildings of the council of Skarholm?"),
        ("Brough Park", "What is the name of the speedway team of Skarholm?"),
        ("journalist", "Who found the hidden ledger?"),
        ("Port Hale", "How was the bell of Orlow first shown?"),
        ("seven", "In which year did the paper name the counties of the south?"),
        ("50", "What does the college grant degrees in academic majors for?"),
    ],
)
def test_another_kind_place_or_count_is_not_found(answer: str, question: str) -> None:
    assert verdict_of(answer, question) not in BORNE_OUT


def test_in_chinese_too() -> None:
    assert verdict_of("1778", "林伟是哪一年出生在青石镇的?", ZH) in BORNE_OUT
    assert verdict_of("查尔斯", "八号蒸汽机在哪里展出?", ZH) not in BORNE_OUT
    assert verdict_of("压缩了最近的时代", "什么在第二个尺度?", ZH) not in BORNE_OUT


def test_a_reason_alone_in_chinese_is_no_statement() -> None:
    text = "因是内陆国家，青石国没有港口。它在1966年独立。\n"
    assert verdict_of("因是内陆国家", "青石国哪一年独立?", text) not in BORNE_OUT
    assert verdict_of("它在1966年独立。", "青石国哪一年独立?", text) in BORNE_OUT


BRIDGES = (
    "Of the old bridge at Este, opened on 8 November 1588 by the guild, two arches stand. The chapel beside the bridge "
    "was opened in 1601. The range has the highest point of Orlow, Granite Hill, 12,799 feet high. The fault is 240 km "
    "long by 20 km deep. The church of Este has 3 million followers. With a budget of $245 it is the dearest film of "
    "Odo Hale. The single of the album, Crazy Rain, with Jory Vane, was her first one in Este. For the complete list of "
    "rules, the seventh is cut into two. The value of the harvest rose by 17% to $90."
)


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        ("1588", "When was the old bridge at Este opened?"),
        ("8 November 1588", "In which year was the old bridge at Este opened by the guild?"),
        ("1601", "When was the chapel beside the bridge opened?"),
        ("3 million followers", "How many followers does the church of Este have?"),
    ],
)
def test_the_only_answer_of_its_kind_in_the_best_sentence_is_found(answer: str, question: str) -> None:
    assert verdict_of(answer, question, BRIDGES) in BORNE_OUT


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        ("1601", "When was the old bridge at Este opened by the guild?"),
        ("1588", "When was the chapel beside the bridge opened?"),
        ("1588", "When was the old bridge at Este not opened?"),
        ("two", "When was the old bridge at Este opened?"),
        ("November", "In which year was the old bridge at Este opened by the guild?"),
        ("1588", "How many arches of the old bridge at Este stand?"),
        ("12,799 feet", "What is the highest point of Orlow in the range?"),
        ("240 km long", "How deep is the fault?"),
        ("$245", "Which is the dearest film of Odo Hale?"),
        ("Crazy Rain", "With what artist was the single of the album her first one in Este?"),
        ("seventh", "How many rules are there on the complete list?"),
        ("complete", "Who has cut the list of rules?"),
        ("8 November", "Which guild opened the old bridge at Este?"),
        ("million", "How many followers does the church of Este have?"),
        ("17%", "How much did the value of the harvest rise?"),
    ],
)
def test_another_kind_or_the_answer_of_a_better_sentence_is_not_found(answer: str, question: str) -> None:
    assert verdict_of(answer, question, BRIDGES) not in BORNE_OUT


def test_two_dates_in_a_sentence_are_no_only_date() -> None:
    text = "The old bridge at Este, opened in 1588, was widened by the guild in 1601. Rain fell."
    assert verdict_of("1588", "When was the guild of the old bridge at Este widened?", text) not in BORNE_OUT


def test_in_chinese_a_date_of_several_parts_is_one_and_a_thing_is_no_date() -> None:
    text = "青石镇的旧桥于1588年11月8日由行会开通。雨落在屋顶上。"
    assert verdict_of("1588年", "青石镇的旧桥是哪一年开通的?", text) in BORNE_OUT
    assert verdict_of("11月8日", "青石镇的旧桥是什么时候开通的?", text) in BORNE_OUT
    assert verdict_of("1588年", "青石镇的旧桥是什么?", text) not in BORNE_OUT
