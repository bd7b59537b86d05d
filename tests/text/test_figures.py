"""Figures in a text: of what form, and by what value they are compared."""

import pytest

from bookwheel.text.figures import list_figures, measure


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("on 9 March 2021", [("day", 737858.0)]),
        ("in 1820 and 1200 BC", [("day", 664376.0), ("day", -438300.0)]),
        ("every 22 May at 7:30 pm", [("date", 522.0), ("clock", 1170.0)]),
        ("12 am, 12 pm", [("clock", 0.0), ("clock", 720.0)]),
        ("3 hours 10 minutes", [("time", 11400.0)]),
        ("£1.2 million, €900,000, 1500 euros", [("gbp", 1200000.0), ("eur", 900000.0), ("eur", 1500.0)]),
        ("£3k a month, 4 % a year", [("gbp/month", 3000.0), ("%/year", 4.0)]),
        ("1.2万元", [("cny", 12000.0)]),
        ("minus 12 degrees, -3", [("number", -12.0), ("number", -3.0)]),
        ("1.4 km, 900 metres", [("m", 1400.0), ("m", 900.0)]),
        ("holds 1800 litres in 1815.", [("l", 1800.0), ("day", 662550.0)]),
        ("2000 chairs, 5th of all, ISSN 1074-5246", [("number", 2000.0)]),
    ],
)
def test_a_figure_has_its_form_and_value(text, figures):
    assert [(one.form, one.value) for one in list_figures(text)] == figures


def test_what_is_counted_is_told():
    assert [one.counted for one in list_figures("12 pegs and 3")] == ["peg", ""]


@pytest.mark.parametrize(
    ("cell", "value"), [("9 pm", 1260.0), ("until 9 pm", 1260.0), ("Sat 9:15 pm", 1275.0), ("Channel 4 am", None)]
)
def test_a_number_in_a_name_is_no_time_of_day(cell, value):
    assert measure(cell) == value
