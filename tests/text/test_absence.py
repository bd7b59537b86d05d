"""A sentence that says that the document does not tell is known as one, and one that answers beside it is not."""

import pytest

from bookwheel.claims import Verdict, sum_up_verdicts
from bookwheel.documents.opening import TextDocument
from bookwheel.text.remarks import is_absence, is_refusal, is_remark, says_absent
from bookwheel.verdict.judge import judge_answer

MINUTES = TextDocument("Ada Quill bought a dishwasher in May. Bo Reed paid for it. The kitchen is closed on Sundays.")


@pytest.mark.parametrize(
    ("sentence", "is_absent"),
    [
        ("The text has no auditor.", True),
        ("The documents mention no other heirs than Ada.", False),
        ("The text names no heirs but Ada.", False),
        ("Documents have no expiry date.", False),
        ("记忆中没有商户总数。", True),
        ("书里没有插图。", False),
        ("No; the document does not mention it.", True),
        ("The default was 5 until it was lowered to 3; the text does not say why.", False),
        ("The text does not say why; it only names the date.", True),
        ("Ada was not given the key.", False),
        (
            "The rules don't say what colour it has, but a white veil with long sleeves is worn at hives in summer.",
            False,
        ),
        ("It is not stated who the broker is.", True),
        ("The policy is silent about drones.", True),
        ("The bells are silent on Sundays.", False),
        ("No date of signing is given.", True),
        ("No one is named for the lighting.", True),
        ("No permission is given for fires.", False),
        ("Whether there is a bar is left open.", True),
        ("The gate is left open at night.", False),
        ("Nothing in the notes gives Owen's number.", True),
        ("Les notes ne le précisent pas.", True),
        ("Dazu steht nichts im Text.", True),
        ("资料未载明剧本作者。", True),
        ("No reason was given by Mr Lowe for his vote.", False),
        ("Neither the policy nor the endorsements name a court.", True),
        ("Neither the owner nor the tenant gives notice before 2031.", False),
        ("Das geht aus dem Dokument nicht hervor.", True),
        ("Der Vertrag endet nicht am 3. Mai.", False),
        ("Le document ne le précise pas.", True),
        ("Le document n’est pas signé.", False),
        ("El documento no lo dice.", True),
        ("Ana no indica la fecha en su carta a Luis.", False),
        ("Il documento non lo dice.", True),
        ("文書には記載がありません。", True),
        ("押金はありません。", False),
    ],
)
def test_what_is_told_before_a_semicolon_is_an_answer(sentence, is_absent):
    assert says_absent(sentence) is is_absent


@pytest.mark.parametrize(
    ("sentence", "is_absent"),
    [
        (
            'If the service does not answer, it tries twice and then throws `Error("the service does not answer")`.',
            False,
        ),
        ('It throws `Error("the document does not say")` after 30 seconds.', False),
        ("如果文档没有回答，它会再试两次。", False),
        ("If a fee is due, the document does not say how much.", True),
        ("The document does not mention `close_ledger`.", True),
    ],
)
def test_a_condition_and_what_code_says_are_no_absence(sentence, is_absent):
    assert says_absent(sentence) is is_absent


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("The text does not say. It names a dishwasher, but no washing machine and no payer for one.", Verdict.ABSENT),
        ("The text does not say. Ada Quill bought a dishwasher in May.", Verdict.PARTLY),
    ],
)
def test_an_answer_that_begins_with_it_is_absent_unless_the_rest_is_borne_out(answer, verdict):
    _, claims = judge_answer(answer, "Who paid for the washing machine?", (), MINUTES)
    assert sum_up_verdicts(claims) is verdict


def test_what_the_document_says_word_for_word_is_no_absence():
    text = "No one is named for life: officers serve three years."
    _, claims = judge_answer(text, "How long do officers serve?", (), TextDocument(f"Rules.\n\n{text}\n"))
    assert sum_up_verdicts(claims) is Verdict.QUOTED


@pytest.mark.parametrize(
    ("is_known", "text"),
    [
        (is_refusal, "I’m sorry, I can’t help with that."),
        (is_remark, "Doesn’t add any new facts."),
        (is_absence, "The text doesn’t say."),
        (says_absent, "It isn’t mentioned."),
    ],
)
def test_an_apostrophe_may_be_typographic(is_known, text):
    assert is_known(text)
    assert is_known(text.replace("’", "'"))
