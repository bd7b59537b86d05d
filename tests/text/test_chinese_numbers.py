"""Numbers in Chinese signs are the numbers that people read, or none."""

import pytest

from bookwheel.text.normalization import words
from bookwheel.text.numbers import find_dates, list_amounts, read_amount


@pytest.mark.parametrize(
    ("written", "value"),
    [
        *(
            ("两万五", 25_000),
            ("三万八", 38_000),
            ("一千二", 1200),
            ("一百八", 180),
            ("一百零八", 108),
            ("二百五十", 250),
        ),
        *(("1.5千万", 15e6), ("5百万", 5e6), ("2亿3千万", 2.3e8), ("1万2千元", 12_000), ("12万5千", 125_000)),
        *(("3万5", 35_000), ("2万3456", 23_456), ("3千2百万", 32e6), ("12,500万元", 125e6), ("百万円", 1e6)),
        *(("廿三元", 23), ("三萬四", 34_000), ("三千二百两", 3200), ("八十兩銀子", 80), ("两个半月", 2.5)),
        *(("人民币伍佰贰拾元伍角整", 520.5), ("人民币壹万零伍拾元叁角贰分", 10_050.32), ("壹角伍分", 0.15)),
        *(("3千克", 3), ("3千米", 3), ("五分钟", 5), ("万分之五", 0.05), ("千分之三点五", 0.35)),
        *(("十万火急", None), ("万一", None), ("三明治", None)),
    ],
)
def test_an_amount_is_what_people_read(written, value):
    assert read_amount(written) == value


def test_weights_in_two_ways_are_one_number():
    assert list_amounts("白银三千二百两") == list_amounts("3200两") == {3200.0}


def test_a_rate_in_ten_thousandths_is_one_in_per_cent():
    assert words("每日万分之五") == words("每日0.05%")


@pytest.mark.parametrize(
    ("written", "day"),
    [
        *(("二○二四年六月十八日", "2024-06-18"), ("民國113年5月1日", "2024-05-01"), ("令和6年4月1日", "2024-04-01")),
        *(("5. März 2024", "2024-03-05"), ("1er janvier 2024", "2024-01-01"), ("1. April 2025", "2025-04-01")),
        *(("3 de mayo de 2024", "2024-05-03"), ("5 mars 2024", "2024-03-05")),
    ],
)
def test_a_day_of_another_era_or_language_is_a_day(written, day):
    assert find_dates(written) == [day]


def test_years_of_an_era_are_told_apart():
    assert find_dates("民国二年三月一日") == ["1913-03-01"]
