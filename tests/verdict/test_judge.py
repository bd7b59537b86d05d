"""An answer is called found only where the document says it, and every passage shown speaks for it."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mill_verdicts import MILL, judge, verdict_of

from bookwheel.claims import BORNE_OUT, Fit, Sign, Verdict, choose_sign, sum_up_fits, sum_up_verdicts
from bookwheel.documents.opening import TextDocument
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.reading.runner import new_reading, run_reading
from bookwheel.types import DocumentInfo, Status
from bookwheel.verdict.judge import examine, judge_answer, split_answer, weigh
from bookwheel.verdict.sources import PlacedParts

ZH = "雨落在屋顶上。1588年,拉梅利在巴黎出版了他的机械之书。李明的儿子没有签署合同。王芳付给张伟四十元。"


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("The plan of the mill was signed by Agostino Ramelli.", Verdict.QUOTED),
        ("The mill stands by the river.", Verdict.QUOTED),
        ("It was constructed in 1588 for the monks of Este.", Verdict.SUPPORTED),
        ("Ada Quill sold 40 apples to Bo Reed.", Verdict.SUPPORTED),
        ("He asked 12400 livres for it.", Verdict.QUOTED),
    ],
)
def test_what_the_document_says_is_quoted_or_supported(answer, verdict):
    evidence, (claim,) = judge(answer)
    assert claim.verdict is verdict
    assert (claim.score is None) == (verdict is Verdict.QUOTED)
    assert not claim.missing
    piece = evidence[claim.evidence[0]]
    assert MILL[piece.start : piece.end] == piece.quote


@pytest.mark.parametrize(
    "answer",
    [
        "The plan of the mill was signed by Ada Quill.",
        "The plan of the mill was not signed by Agostino Ramelli.",
        "The plan of the mill was signed by Agostino Ramelli on 30 March 1588.",
        "It was built in 1601 for the monks of Este.",
        "He asked 12,400 crowns for it.",
        "Ada Quill sold 12 apples to Bo Reed.",
        "Ada Quill sold 40 pears to Bo Reed.",
        "Bo Reed sold 40 apples to Ada Quill.",
        "Bo Reed left for Rome.",
        "The King of Spain is the dog of the King of Spain.",
        "Everybody came to the market.",
        "A captain is Agostino Ramelli.",
        "The plan of the mill was signed by Agostino Reed.",
        "People came to the market.",
    ],
)
def test_what_it_does_not_say_is_not_borne_out(answer):
    assert verdict_of(answer) not in BORNE_OUT


LEASE = (
    "The tenant shall give at least 90 days of notice. Water is included in the rent, heating is not. "
    "Dogs may be kept unless the landlord objects. The deposit was paid before 1950."
)


@pytest.mark.parametrize(
    ("answer", "against"),
    [
        ("The tenant shall give at most 90 days of notice.", "The tenant shall give at least 90 days of notice."),
        ("The deposit was paid after 1950.", "The deposit was paid before 1950."),
    ],
)
def test_a_passage_that_says_otherwise_is_quoted_against_the_answer(answer, against):
    evidence, (claim,) = judge(answer, "What was agreed?", LEASE)
    assert (claim.verdict, claim.evidence) == (Verdict.CONTRADICTED, ())
    assert [evidence[at].quote for at in claim.against] == [against]


def test_names_and_numbers_that_are_nowhere_are_told():
    (claim,) = judge("It was built in 1601 by Odo Farr for the monks of Este.")[1]
    assert claim.missing == ("1601", "Odo", "Farr")


def test_of_a_sentence_that_is_said_in_part_the_rest_is_named():
    (claim,) = judge("The mill stands by the river, and pigeons nest in its tower.", "Where does the mill stand?")[1]
    assert claim.verdict is Verdict.PARTLY
    assert claim.unsaid == ("and pigeons nest in its tower",)


def test_each_sentence_has_a_verdict_of_its_own():
    answer = "The mill stands by the river. It was burnt in 1733.\n- Ada Quill sold 40 apples to Bo Reed."
    _, claims = judge(answer)
    assert [claim.verdict for claim in claims] == [Verdict.QUOTED, Verdict.NOT_FOUND, Verdict.SUPPORTED]
    assert [claim.text for claim in claims] == split_answer(answer)
    assert all(claim.text in answer for claim in claims)


@pytest.mark.parametrize(
    ("answer", "question", "is_green"),
    [
        ("Agostino Ramelli", "Who signed the plan of the mill?", True),
        ("Ada Quill", "Who signed the plan of the mill?", False),
        ("1733", "Who signed the plan of the mill?", False),
        ("40", "How many apples did Ada Quill sell to Bo Reed?", True),
        ("12", "How many apples did Ada Quill sell to Bo Reed?", False),
        ("Bo Reed", "Whom did Ada Quill sell 40 apples to?", True),
        ("Ramelli", "When was the plan of the mill signed?", False),
        ("1588", "How long did the mill stand?", False),
        ("Yes.", "Was the plan of the mill signed by Agostino Ramelli?", True),
        ("No.", "Was the plan of the mill signed by Agostino Ramelli?", False),
        ("Este", "Who winds the clock?", False),
        ("Rain fell on the valley for weeks.", "Who signed the plan of the mill?", False),
    ],
)
def test_an_answer_is_green_only_where_it_answers(answer, question, is_green):
    claims = judge(answer, question)[1]
    assert (choose_sign(sum_up_verdicts(claims), sum_up_fits(claims)) is Sign.GREEN) == is_green


@pytest.mark.parametrize(("is_copied", "fit"), [(True, Fit.YES), (False, Fit.DOUBTFUL)])
def test_of_a_few_words_that_nobody_copied_it_is_not_known_whether_they_answer(is_copied, fit):
    question = "Who signed the plan of the mill?"
    _, (claim,) = judge_answer("Agostino Ramelli", question, (), TextDocument(MILL), is_copied=is_copied)
    assert (claim.verdict, claim.answers) == (Verdict.SUPPORTED, fit)


@pytest.mark.parametrize(
    ("answer", "is_borne_out"),
    [
        ("1588年,拉梅利在巴黎出版了他的机械之书。", True),
        ("王芳付给张伟40元。", True),
        ("拉梅利1589年在巴黎出版了机械之书。", False),
        ("拉梅利没有在巴黎出版机械之书。", False),
        ("李明的儿子签署了合同。", False),
        ("张伟付给王芳40元。", False),
    ],
)
def test_chinese_is_judged_as_carefully(answer, is_borne_out):
    assert (verdict_of(answer, "发生了什么?", ZH) in BORNE_OUT) == is_borne_out


@pytest.mark.parametrize(
    "answer",
    [
        "The document does not say who paid.",
        "There is no information about the miller in the text.",
        "Not found in the document.",
        "I cannot determine this from the notes.",
        "文中没有提到这一点。",
    ],
)
def test_an_answer_that_says_it_is_not_there_rests_on_nothing(answer):
    evidence, (claim,) = judge(answer, text=MILL + " The document does not say who paid. Not found in the document.")
    assert (evidence, claim.verdict, claim.evidence) == ((), Verdict.ABSENT, ())


def test_invisible_characters_hide_nothing():
    text = "The har\u00adbour master of Skar\u200bholm is Ada \u202eQuill\u202c. Rain fell."
    (piece,), (claim,) = judge("The harbour master of Skarholm is Ada Quill.", text=text)
    assert claim.verdict in BORNE_OUT
    assert text[piece.start : piece.end].startswith("The har")


def test_values_of_a_json_answer_are_judged_one_by_one():
    answer = '{"signer": "Agostino Ramelli", "year": 1733, "known": true}'
    _, claims = judge(answer, "Who signed the plan of the mill?")
    assert [(claim.text, claim.verdict) for claim in claims] == [
        ('"signer": "Agostino Ramelli"', Verdict.SUPPORTED),
        ('"year": 1733', Verdict.NOT_FOUND),
    ]


PAMPHLET = (
    "# The mill\n\n## Who built it?\nThe mill was built by Odo Farr,\na carpenter of Este. He died in 1601.\n\n"
    "Nobody says that Ada Quill, the widow of a rich\nmiller of Rome, built the mill of Este.\n\nOdo Farr. Bo Reed.\n"
)


@pytest.mark.parametrize(
    "answer",
    [
        "Who built it?\nThe mill was built by Odo Farr, a carpenter of Este.",
        "The mill was built by Odo Farr,\na carpenter of Este. He died\nin 1601.",
        "> The mill was built by\n> Odo Farr, a carpenter of Este.\n> He died in 1601.",
        "# The mill\n## Who built it?\nThe mill was built by Odo Farr, a carpenter of Este. He died in 1601.",
    ],
)
def test_a_copied_passage_is_found_whatever_its_lines(answer):
    evidence, claims = judge(answer, "Who?", PAMPHLET)
    assert {claim.verdict for claim in claims} <= BORNE_OUT
    assert all(PAMPHLET[piece.start : piece.end] == piece.quote for piece in evidence)


@pytest.mark.parametrize(
    "answer",
    [
        "Ada Quill, the widow of a rich\nmiller of Rome, built the mill of Este.",
        "miller of Rome, built the mill of Este.",
        "The mill was built by Bo Reed,\na carpenter of Este.",
        "The mill was built by Odo Farr,\na carpenter of Rome.",
        "Odo Farr.\nBo Reed.",
    ],
)
def test_lines_out_of_the_middle_and_lists_of_names_are_no_copies(answer):
    _, claims = judge(answer, "Who signed the plan?", PAMPHLET)
    assert {claim.verdict for claim in claims} != {Verdict.SUPPORTED}


strange = st.text(st.sampled_from("mill 1588 Ada. \n书轮不-#:é\u200b\ud800\x00<'s%$,"), max_size=60)


@given(strange, strange, strange)
def test_any_texts_are_judged_and_quotes_are_the_documents(text, answer, question):
    evidence, claims = judge(answer, question, text)
    assert all(claim.text in answer for claim in claims if not answer.lstrip().startswith(("{", "[")))
    for claim in claims:
        assert all(number in range(len(evidence)) for number in (*claim.evidence, *claim.against))
        assert bool(claim.evidence) == (claim.verdict in {*BORNE_OUT, Verdict.PARTLY})
        assert bool(claim.against) == (claim.verdict is Verdict.CONTRADICTED)
    for piece in evidence:
        assert 0 <= piece.start < piece.end <= len(text)


def test_a_reading_ends_with_the_verdict_on_its_answer():
    reply = "The plan of the mill was signed by Agostino Ramelli, a captain, on 31 March 1588."
    model = ScriptedModel(lambda _messages: reply)
    document = TextDocument(MILL)
    info = DocumentInfo(id="", name="mill", length=len(MILL))
    plan = Plan(question_tokens=40, chunk_tokens=900, memory_tokens=60, answer_tokens=60)
    ended = asyncio.run(run_reading(new_reading(info, "Who signed the plan?", model, plan), document, model))
    assert (ended.status, ended.verdict) == (Status.ANSWERED, Verdict.QUOTED)
    assert "Ramelli" in ended.evidence[ended.claims[0].evidence[0]].quote
    assert replace(ended, claims=()).verdict is None


@pytest.mark.parametrize("answer", ["Feb 2025", "in München", "RMB 4,000", "Zoë Müller"])
def test_a_name_that_is_written_in_another_form_of_its_word_is_not_foreign(answer):
    text = "In Feb 2025 Zoë Müller opened a branch in München, and it cost RMB 4,000."
    (finding,) = examine(answer, "When, where, who and how much?", PlacedParts(TextDocument(text)))
    assert not finding.features["foreign names"]


def test_a_name_with_an_accent_that_is_nowhere_is_foreign():
    (finding,) = examine("Éva Nagy opened it.", "Who opened it?", PlacedParts(TextDocument("Zoë Müller opened it.")))
    assert finding.features["foreign names"]


def test_a_figure_of_another_sentence_under_the_same_heading_is_not_called_found():
    text = "273. Records and CCTV\n\n273.1 Accounts are kept for seven years. CCTV footage is deleted after 28 days.\n"
    question = "How long is CCTV footage kept?"
    _, (wrong,) = judge("seven years", question, text)
    assert wrong.verdict not in BORNE_OUT
    assert verdict_of("28 days", question, text) in BORNE_OUT


def test_a_count_of_something_else_does_not_answer():
    text = "Hens may be kept, at most six a plot. Each plot has two taps."
    _, (two,) = judge("two", "How many hens may I keep?", text)
    assert two.answers is Fit.NO


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("Yes. Two taps are on each plot.", Verdict.SUPPORTED),
        ("Yes. The hens on each plot have two taps.", Verdict.PARTLY),
        ("No. Each plot has two taps.", Verdict.PARTLY),
        ("Yes. Each plot has two taps.", Verdict.SUPPORTED),
        ("No. Each plot behind the green hill has two taps of brass.", Verdict.PARTLY),
    ],
)
def test_a_bare_yes_or_no_stands_with_its_reason_and_both_have_to_hold(answer, verdict):
    text = "Hens may be kept. Each plot has two taps. Each plot behind the green hill has two taps of brass."
    (claim,) = judge(answer, "Has each plot two taps?", text)[1]
    assert (claim.text, claim.verdict) == (answer, verdict)


@pytest.mark.parametrize("answer", ["Ada Quill", "Bo Reed"])
def test_one_of_two_that_the_question_names_may_answer_it(answer):
    assert sum_up_fits(judge(answer, "Who sold the apples, Ada Quill or Bo Reed?")[1]) is not Fit.NO
    assert sum_up_fits(judge(answer, f"To whom did {answer} sell the apples?")[1]) is Fit.NO


def test_who_tells_what_a_value_was_and_is_is_contradicted_by_neither():
    was = "乙方逾期支付租金的，按应付未付金额的万分之五支付违约金；押金不予退还。"
    document = TextDocument(f"现为：{was.replace('五', '三')}\n原为：{was}\n")
    (told,) = examine("逾期付租违约金由每日万分之五降为万分之三。", "", PlacedParts(document))
    assert told.features["not lost"]
    assert not weigh(told).is_denied


def test_of_messages_that_have_as_much_of_an_answer_the_one_with_its_numbers_and_words_is_shown():
    talk = (
        "[2025-02-14 09:20:47] 阿凯: 草莓甜不甜啊？\n\n[2025-02-14 18:22:45] 阿凯: 210已转\n\n"
        "[2025-02-15 20:17:02] 阿凯: 周一我上班啊，那退我一盒吧，留一盒我晚上拿\n\n"
        "[2025-02-16 20:55:17] 李姐: 最后确认一下数量，3斤共10盒\n\n[2025-02-16 21:02:30] 李姐: 3斤共9盒\n\n"
    )
    parts = PlacedParts(TextDocument(talk))
    (given_back,) = examine("阿凯退了1盒。", "阿凯退了几盒？", parts)
    assert "退我一盒" in given_back.bearing[0].text
    (counted,) = examine("最后3斤共9盒。", "一共几盒？", parts)
    assert "共9盒" in counted.bearing[0].text


@pytest.mark.parametrize(
    "answer", ["Yes.", "Yes, it was.", "Yes - they did.", "Yes, it was. Agostino Ramelli signed it."]
)
def test_a_yes_in_a_few_empty_words_claims_the_question(answer):
    (claim,) = judge(answer, "Was the plan of the mill signed by Agostino Ramelli?")[1]
    assert (claim.text, claim.verdict) == (answer, Verdict.SUPPORTED)
