"""A short answer is found only where it can be what the question asks for."""

import pytest

from bookwheel.reading.verdict import judge_answer
from bookwheel.text.documents import TextDocument
from bookwheel.types import Verdict

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
    assert verdict_of(answer, question) is Verdict.FOUND


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
    assert verdict_of(answer, question) is not Verdict.FOUND


def test_in_chinese_too() -> None:
    assert verdict_of("1778", "林伟是哪一年出生在青石镇的?", ZH) is Verdict.FOUND
    assert verdict_of("查尔斯", "八号蒸汽机在哪里展出?", ZH) is not Verdict.FOUND
    assert verdict_of("压缩了最近的时代", "什么在第二个尺度?", ZH) is not Verdict.FOUND
