"""One value in several forms."""

import pytest

from bookwheel.lab.scoring import score_answer


@pytest.mark.parametrize(
    ("question", "gold", "answer", "other"),
    [
        ("How heavy may it be?", "25 kg", r"25\text{ kg}", r"\text{30 kg}"),
        ("How heavy may it be?", "25 kg", r"\boxed{25~\mathrm{kg}}", r"\boxed{25\text{ g}}"),
        ("How wide is it?", "9.1 mm", r"It is $9.1\,\mathrm{mm}$ wide.", r"It is $9.3\,\mathrm{mm}$ wide."),
        ("What is the rent?", "£1,775", r"\pounds 1{,}775", r"\pounds 1{,}757"),
        ("How many in all?", "236", "141 + 58 + 37 = 236", "236 + 58 = 294"),
        ("How many in all?", "236", "$141 + 95 = 236$", "236 = 141 + 95, less 4, so 232"),
        ("How many in all?", "236", "236 (= 141 + 58 + 37)", "232 (= 236 - 4)"),
        ("What is the share?", "23.7 %", "24.9 × 0.95 ≈ 23.7 %", "23.7 × 0.95 ≈ 22.5 %"),
        ("What does it cost?", "2 350 EUR", "€2,350", "2 530 EUR"),
        ("What does it cost?", "2,350 EUR", "It is 2 350 euros.", "12 350 EUR"),
        ("How large was it?", "33,200 kr.", "33,200", "33,200 kr. or 38,200 kr."),
        ("How large was it?", "33,200 kr.", "DKK 33,200", "$33,200"),
        ("How large was it?", "33 200 DKK", "kr. 33,200", "33,200 SEK"),
        (
            "Where does the owner of the Lark live?",
            "Komcrorham",
            "Ilse Stone, the owner of the Lark, lives at Komcrorham.",
            "Dosstead, Ilse Stone's town; she came from Komcrorham.",
        ),
    ],
)
def test_latex_sums_spaced_thousands_crowns_and_who_a_sentence_speaks_of_are_read(question, gold, answer, other):
    assert score_answer("contains", answer, [gold], question).score == 1
    assert score_answer("contains", other, [gold], question).score == 0


def test_a_choice_left_open_is_no_list():
    assert score_answer("all_of", "Linz or Graz", ["Linz", "Graz"]).score == 0
    assert score_answer("all_of", "Either of these: Linz or Graz.", ["Linz", "Graz"]).score == 0
    assert score_answer("all_of", "You may pay in Linz or Graz.", ["Linz", "Graz"]).score == 1
    assert score_answer("all_of", "Linz or Graz", ["Linz", "Graz"], "Where can one pay?").score == 1
