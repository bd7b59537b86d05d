r"""The answer in \boxed{} is plain text, and what stands around it is not lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.text.boxes import find_around, find_box, to_plain


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (
            r"\text{8 times in production; 3 by default (5 before 3.2.0)}",
            "8 times in production; 3 by default (5 before 3.2.0)",
        ),
        (r"210{,}000 \text{ euros}", "210,000 euros"),
        (r"739{,}000\text{ euros; back: }14{,}780\text{ euros}", "739,000 euros; back: 14,780 euros"),
        (r"\textbf{\text{40\% cover}}", "40% cover"),
        (r"\mathrm{Ada}~Quill", "Ada Quill"),
        (r"\$4{,}200", "$4,200"),
        (r"$600 \times 1{,}150$", "600 × 1,150"),
        (r"\(85 \cdot 48 = 4080\)", "85 · 48 = 4080"),
        (r"\frac{1}{10} of the Fee", "1/10 of the Fee"),
        (r"Ada \\ Piet", "Ada\nPiet"),
        (r"\begin{itemize}\item Ada \item Piet\end{itemize}", "- Ada\n- Piet"),
        (r"\boxed{Ada}", "Ada"),
        (r"19\,350\ \text{kr}", "19 350 kr"),
        ("about 5 $ a day, or $6", "about 5 $ a day, or $6"),
        (r"C:\to\text.txt", r"C:\to\text.txt"),
        ("~/.config/a_b {x} and snake_case", "~/.config/a_b {x} and snake_case"),
        ('{"name": "Ada", "fee": 3}', '{"name": "Ada", "fee": 3}'),
        ("Run git reset HEAD~2; 1.2~rc1 is not out; NO~3~", "Run git reset HEAD~2; 1.2~rc1 is not out; NO~3~"),
        (r"Run `echo \$HOME`, \textbf{then} `r'\$\d+\%'`", r"Run `echo \$HOME`, then `r'\$\d+\%'`"),
        ("```\na \\\\ b~c\n\\frac{a}{b}\n```", "```\na \\\\ b~c\n\\frac{a}{b}\n```"),
        (r"`echo \$HOME`, `a \\ b`, `r'\d+\%'` and \$5", r"`echo \$HOME`, `a \\ b`, `r'\d+\%'` and $5"),
        ("Run:\n```sh\ngit reset HEAD~2 \\$A\n```\nfor \\$5", "Run:\n```sh\ngit reset HEAD~2 \\$A\n```\nfor $5"),
        ("git reset HEAD~2 for 1.2~rc1", "git reset HEAD~2 for 1.2~rc1"),
        (r"\textbf{NO~3~}, see Lemma~3", "NO~3~, see Lemma 3"),
    ],
)
def test_the_answer_in_a_box_is_plain_text(written, meant):
    assert find_box(f"So it is \\boxed{{{written}}}.") == (meant, False)


def test_the_last_box_counts_and_braces_may_be_nested():
    assert find_box(r"\boxed{a}. Wait, it is \boxed{\text{b {c {d}} e}}") == ("b {c {d}} e", False)
    assert find_box(r"\boxed{a} and \boxed{b") == ("a", False)
    assert find_box("Ada Quill") == (None, False)


@pytest.mark.parametrize(
    ("reply", "meant", "around"),
    [
        (
            "By the lease: the deposit was $\\boxed{400}$ euros and the rent, to Dr. Quill, is \\boxed{90}.",
            "By the lease: the deposit was 400 euros and the rent, to Dr. Quill, is 90.",
            "",
        ),
        ("Found:\n1. \\boxed{Ada}\n2. from \\boxed{May}\nThat is all.", "1. Ada\n2. from May", "That is all."),
        ("\\boxed{Ada}\n\\boxed{Piet}\n\\boxed{Ada}", "Ada, Piet", ""),
        ("\\boxed{Ada}, not \\boxed{Piet}", "Ada, not Piet", ""),
        ("First \\boxed{9}, I thought. No: \\boxed{8}", "8", "First \\boxed{9}, I thought. No:"),
    ],
)
def test_several_boxes_of_one_sentence_or_list_are_one_answer(reply, meant, around):
    assert find_box(reply) == (meant, False)
    assert find_around(reply) == around


def test_what_stands_around_the_box_is_kept():
    reply = "85 × 48 = 4,080\n12 × 38 = 456\n\nTotal: $\\boxed{4{,}536}$."
    assert find_around(reply) == "85 × 48 = 4,080\n12 × 38 = 456"
    assert find_around(r"Both: (\boxed{4}, \boxed{5}).") == ""
    assert find_around(r"\boxed{4}") == find_around("4") == ""


@given(st.text(alphabet="ab{}.,5%"))
def test_a_text_without_commands_stays_as_it_is(text):
    assert to_plain(text).replace("{,}", ",") == text.replace("{,}", ",").replace("{.}", ".").strip()


@pytest.mark.parametrize(
    ("reply", "box"),
    [
        ("boxed{ten crates}", "ten crates"),
        ("**Answer:** boxed{ten crates}.", "ten crates"),
        ("In CSS, .boxed { color: red } makes the border red.", None),
        ("The function boxed {x} is in line 3; it returns 5.", None),
        ("The widget is a boxed{set} of 3.", None),
        ("boxed{x} returns 5.", None),
    ],
)
def test_a_box_without_its_backslash_is_one_where_the_reply_is_nothing_else(reply, box):
    assert find_box(reply) == (box, False)


@pytest.mark.parametrize(
    "reply",
    [
        r"\boxed{" * 30_000,
        r"\boxed{ a " * 30_000,
        r"\boxed{" + r"\text{a " * 30_000 + "}",
        r"\boxed{a}" + " ," * 90_000 + r"x\boxed{b}",
        r"\boxed{a" + " " * 300_000 + "b" + "\n" * 300_000 + "c}",
    ],
)
def test_a_reply_that_repeats_itself_is_read_in_one_pass(reply):
    # Quadratic work on these would take hours.
    find_box(reply)
    find_around(reply)


def test_a_style_within_a_style_is_undressed():
    assert find_box(r"\boxed{\textbf{about \text{4} to \unknown{5}} crates}") == (
        r"about 4 to \unknown{5} crates",
        False,
    )


@pytest.mark.parametrize(
    ("reply", "working"),
    [
        ("After the endorsements:\n\n\\boxed{- fire\n- flood}", ""),
        ("**答案**\n\n\\boxed{何晓岚}", ""),
        ("好的，根据记忆，指标已经更正：\n\\boxed{58 dB}", ""),
        ("85 times 48 is 4,080, so:\n\\boxed{4,080}", "85 times 48 is 4,080, so:"),
        ("The first note is void.\n\\boxed{40}", "The first note is void."),
    ],
)
def test_a_line_that_only_leads_an_answer_in_is_no_working(reply, working):
    assert find_around(reply) == working
