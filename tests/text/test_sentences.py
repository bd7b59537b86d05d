"""Sentences tile their text and end where a reader would end them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.text.sentences import find_ends, list_sentences, split_sentences


def sentences(text: str) -> list[str]:
    return [text[start:end].strip() for start, end in split_sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("No end", ["No end"]),
        ("Ada lit it. It burned! Why? Rain.", ["Ada lit it.", "It burned!", "Why?", "Rain."]),
        ('He said: "Go." She went.', ['He said: "Go."', "She went."]),
        ("It cost 3.5 million. Dr. Quill paid.", ["It cost 3.5 million.", "Dr. Quill paid."]),
        ("J. Quill signed. The rest did not.", ["J. Quill signed.", "The rest did not."]),
        ("The lamp, i.e. the light. Lit.", ["The lamp, i.e. the light.", "Lit."]),
        ("one of the ... small things. Next.", ["one of the ... small things.", "Next."]),
        ("灯塔建于1871年。守塔人是马拉。", ["灯塔建于1871年。", "守塔人是马拉。"]),
        ("他说：“走吧。”她走了。", ["他说：“走吧。”", "她走了。"]),
        (
            "Rain.\n\n===== b. txt =====\nAda lit it.\n===== c =====\nOut.",
            ["Rain.", "===== b. txt =====", "Ada lit it.", "===== c =====", "Out."],
        ),
        ("A heading\n\nA paragraph over\ntwo lines.", ["A heading", "A paragraph over\ntwo lines."]),
        ("Terms\n- first item\n- second item\n1. third", ["Terms", "- first item", "- second item", "1. third"]),
        ("| a | b |\n| c | d |", ["| a | b |", "| c | d |"]),
        ("the lamp was lit. it burned. nobody came.", ["the lamp was lit.", "it burned.", "nobody came."]),
        ('"Go!" she said. "Now." He went.', ['"Go!" she said.', '"Now."', "He went."]),
        ("Is it lit? yes. Who lit it?! Ada.", ["Is it lit?", "yes.", "Who lit it?!", "Ada."]),
        ("Wait… no. Wait… He ran.", ["Wait… no.", "Wait…", "He ran."]),
        (
            "Mrs. Quill and Prof. Reed met Capt. Farr. All left.",
            ["Mrs. Quill and Prof. Reed met Capt. Farr.", "All left."],
        ),
        ("Built in the U.S. Navy yard (J. Quill). Sold.", ["Built in the U.S. Navy yard (J. Quill).", "Sold."]),
        (
            "It lasts 6 years (Reed et al. (2022), Fig. S1, and Eq. (3)). So do others, by Reed et al. The rest is lost.",
            [
                "It lasts 6 years (Reed et al. (2022), Fig. S1, and Eq. (3)).",
                "So do others, by Reed et al.",
                "The rest is lost.",
            ],
        ),
        ("Lamps, wicks, etc. Oil too. Oil etc. and wicks.", ["Lamps, wicks, etc.", "Oil too.", "Oil etc. and wicks."]),
        (
            "It shuts at 6 p.m. Nobody stays after 6 p.m. on Sundays.",
            ["It shuts at 6 p.m.", "Nobody stays after 6 p.m. on Sundays."],
        ),
        (
            "Was it lit? No. See lamp No. 5 (approx. 3.5 m). Good.",
            ["Was it lit?", "No.", "See lamp No. 5 (approx. 3.5 m).", "Good."],
        ),
        (
            "It ended in 1871. 40 men left. Pay: 3,000.50 marks.",
            ["It ended in 1871.", "40 men left.", "Pay: 3,000.50 marks."],
        ),
        ("1. The lamp. 2 wicks.\n  12. The oil.", ["1. The lamp.", "2 wicks.", "12. The oil."]),
        ("Keeper: Ada\nDepth: 40 m\nlit: yes", ["Keeper: Ada", "Depth: 40 m", "lit: yes"]),
        (
            "It was told as\nthe keeper said: go.\n-- So she went.",
            ["It was told as\nthe keeper said: go.", "-- So she went."],
        ),
        ("a well-\n-known lamp *of\n*glass* there", ["a well-\n-known lamp *of\n*glass* there"]),
        ("Log\n=====\n> quoted\n# Lamp\n• oil", ["Log", "=====", "> quoted", "# Lamp", "• oil"]),
        (
            "灯亮了；人走了！真的吗？“是。”「好。」他说（对。）完（暂定；原定四月）",
            ["灯亮了；", "人走了！", "真的吗？", "“是。”", "「好。」", "他说（对。）", "完（暂定；原定四月）"],
        ),
        ("乙方：1）付租金；2）点灯；b）记日志。", ["乙方：1）付租金；", "2）点灯；", "b）记日志。"]),
        ("塔高3.5米，用A. B两种油。Mara 点灯. 然后走了。", ["塔高3.5米，用A. B两种油。", "Mara 点灯.", "然后走了。"]),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(st.text(st.sampled_from('aB1. ,。\n!?"-|灯'), max_size=1500))
def test_sentences_tile_the_text(text: str) -> None:
    spans = split_sentences(text)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(0 < end - start <= 400 for start, end in spans)


def test_a_long_piece_is_cut_at_a_comma_then_at_a_blank() -> None:
    words = "word " * 50
    spans = split_sentences(f"{words.strip()}, {words}")
    assert [end for _, end in spans] == [251, 501]
    (_, first), *_ = split_sentences("word " * 200)
    assert first == 400
    assert split_sentences("x" * 900) == [(0, 400), (400, 800), (800, 900)]


def test_sentences_of_any_length_are_listed_without_the_blanks_around_them() -> None:
    long = "word " * 200
    assert list_sentences(f"  Lit.  \n\n{long}. \n Rain ") == ["Lit.", f"{long}.", "Rain"]
    assert list_sentences(" \n ") == []


@given(st.text(st.sampled_from('aB1. ,。\n!?"-|灯'), max_size=300), st.integers(0, 300), st.integers(0, 300))
def test_the_ends_in_a_part_are_those_of_the_whole_text(text: str, start: int, end: int) -> None:
    ends = [at for at in find_ends(text) if at <= end]
    within = list(find_ends(text, start, end))
    # A part that begins between a mark and the blanks after it does not see that end, or sees it at the blank lines.
    settled = next((at for at in ends if at >= start), len(text))
    assert [at for at in within if at > settled] == [at for at in ends if at > settled]


def test_the_lines_of_a_log_are_sentences() -> None:
    text = (
        "2026-11-24T10:00:00 open\nNov 24 10:00:01 host shut\n[2026-11-24 10:00:02] ajar\n10:00:03 a line\nof two lines"
    )
    spans = [text[start:end].strip() for start, end in split_sentences(text)]
    assert [one[-4:] for one in spans] == ["open", "shut", "ajar", "ines"]


def test_an_initial_goes_on_to_the_next_word_and_not_behind_a_blank_line() -> None:
    assert list_sentences("Ask Jonas O. Quill about it.") == ["Ask Jonas O. Quill about it."]
    assert list_sentences("Ask Jonas O.\n\n[10:02] I did not sign.") == ["Ask Jonas O.", "[10:02] I did not sign."]


def test_the_number_of_a_day_before_its_month_ends_no_sentence() -> None:
    text = "Ab dem 1. April 2027 (Nachtrag Nr. 1). Vorher am 30. Juni. Dann Ruhe."
    assert list_sentences(text) == ["Ab dem 1. April 2027 (Nachtrag Nr. 1).", "Vorher am 30. Juni.", "Dann Ruhe."]
    text = "Nach dem Nachtrag (12. Oktober 2022) erbt sie. Termin: 4. August 2023, z. B. um 11 Uhr nach Abs. 2. Ende."
    assert list_sentences(text) == [
        "Nach dem Nachtrag (12. Oktober 2022) erbt sie.",
        "Termin: 4. August 2023, z. B. um 11 Uhr nach Abs. 2.",
        "Ende.",
    ]
    text = "The club sold 12. August was better. In all 31. Mrs Orm has plan b. The rest has none."
    assert len(list_sentences(text)) == 5


@pytest.mark.parametrize(
    "text",
    [
        "Vom 22. Dezember bis 3. Januar, doch am 28. und 29. wird geöffnet.",
        "Sie liegt im 2. Stock links, die 1. Vorsitzende wohnt darüber.",
        "Gemäß § 1 Abs. 2, d. h. seit dem Nachtrag v. 3. 4. 2024, vgl. Ziff. 3 des Anhangs.",
        "Herr Adam, geb. 1961, Hauptstr. 5, zahlt u. a. das Holz von 44 v. Chr. nicht.",
        "It is due under cl. 1.6 of the lease, Sch. 2 para. 4 and ss. 3 and 4, on Mon. 3 March in Mill Rd. by the gate.",
        "Le 22 janv. 2024, p. ex. avant midi.",
    ],
)
def test_an_ordinal_or_an_abbreviation_before_what_goes_on_ends_no_sentence(text: str) -> None:
    assert list_sentences(text) == [text]


def test_what_looks_like_an_abbreviation_ends_its_sentence_before_a_capital_and_a_blank_line() -> None:
    text = (
        "Der Weg ist die Hauptstr. Dann kommt der Wald. It weighs 5 kg. 40 men left on Mon. They came by sun. 3 stayed."
    )
    assert len(list_sentences(text)) == 6
    assert list_sentences("It opens on the 28.\n\nand the rest\n\nsee cl.\n\n4 lamps") == [
        "It opens on the 28.",
        "and the rest",
        "see cl.",
        "4 lamps",
    ]


@pytest.mark.parametrize("text", ["He left in 1990. August came.", "There were 3. August was wet."])
def test_a_number_before_the_name_of_an_english_month_ends_its_sentence(text: str) -> None:
    assert len(list_sentences(text)) == 2
