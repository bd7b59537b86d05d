"""Words that are compared, rule by rule."""

import pytest

from bookwheel.text.normalization import contains_words, words, words_with_articles

NUMBERS = [
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
]


@pytest.mark.parametrize("article", ["a", "an", "the", "The", "THE"])
def test_an_article_is_dropped_unless_nothing_else_is_left(article):
    assert words(f"{article} lamp {article}") == ["lamp"]
    assert words(article) == [article.lower()]
    assert words_with_articles(f"{article} lamp") == [article.lower(), "lamp"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("?! …", []),
        ("U.S.A. and USA", ["usa", "and", "usa"]),
        ("e.g. v. 5", ["eg", "v", "5"]),
        ("1,234,567", ["1234567"]),
        ("1,23 and 12,3456", ["1", "23", "and", "12", "3456"]),
        ("12.5 and 12.", ["12.5", "and", "12"]),
        ("-3 and −4.5", ["-3", "and", "-4.5"]),
        ("5-3 and x-3", ["5", "3", "and", "x", "3"]),
        ("C++ and C#", ["c++", "and", "c#"]),
        ("_amber_ snake_case", ["amber", "snake_case"]),
        ("北京2008年", ["北", "京", "2008", "年"]),
        ("ひらカナ", ["ひ", "ら", "カ", "ナ"]),
        ("ﬁne Ｔｏｒ ２", ["fine", "tor", "2"]),
        ("zero one", ["0", "one"]),
    ],
)
def test_a_text_is_split_into_these_words(text, expected):
    assert words_with_articles(text) == expected


@pytest.mark.parametrize("apostrophe", "'’‘`´ʼ")
def test_an_apostrophe_splits_no_word(apostrophe):
    assert words(f"King{apostrophe}s") == ["kings"]


@pytest.mark.parametrize(("value", "word"), list(enumerate(NUMBERS, start=2)))
def test_a_number_in_words_is_its_digits(value, word):
    assert words(word) == [str(value)]


@pytest.mark.parametrize(
    ("row", "part", "expected"),
    [
        ("abc", "", False),
        ("", "a", False),
        ("abc", "abc", True),
        ("abc", "bc", True),
        ("abc", "ac", False),
        ("aab", "ab", True),
        ("ab", "abc", False),
        ("abab", "abb", False),
    ],
)
def test_words_are_found_side_by_side_only(row, part, expected):
    assert contains_words(list(row), list(part)) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Part two (1984)", "part 2 1984"),
        ("section five (12)", "section 5 12"),
        ("Volume one (1871)", "volume one 1871"),
        ("thirty (30) lamps", "30 lamps"),
        ("twenty-five (25) lamps", "25 lamps"),
        ("30 kilometres per second", "30 km per second"),
        ("5 miles per second", "5 mile per second"),
        ("3 metres per hour", "3 m per hour"),
        ("3 kilometres per hour", "3 km h"),
        ("€0.285 per kWh", "0.285 eur per kwh"),
        ("€1.599 litre", "1.599 eur litre"),
        ("€1.500", "1.500 eur"),
        ("1.000 €", "1.000 eur"),
        ("1.250.000 €", "1250000 eur"),
        ("上涨1.23点", "上 涨 1 23 点"),
        ("提出20点意见", "提 出 20 点 意 见"),
        ("晚上8点30人", "20h00 30 人"),
        ("晚上8点30分", "20h30"),
        ("下午3点90", "15h00 90"),
        ("下午3:00", "15h00"),
        ("晚上12点", "00h00"),
        ("中午11点半", "11h30"),
        ("切成8块。", "切 成 8 块"),
        ("2800块钱", "2800 cny"),
        ("300K, 401k", "300 k 401 k"),
        ("12 pounds 3 p.m.", "12 gbp 15h00"),
    ],
)
def test_no_number_is_changed_or_lost_where_its_meaning_is_not_sure(text, expected):
    assert words_with_articles(text) == expected.split()


def test_a_whole_amount_is_one_at_the_end_of_a_sentence_too():
    assert words("It costs 11.00.") == words("It costs 11") != words("It costs 11.00.3")
