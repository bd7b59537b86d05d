"""Values of an answer in JSON are judged with the names of their fields."""

from bookwheel.verdict.fields import list_fields


def test_each_value_has_its_field_and_each_object_of_a_list_is_one_statement():
    answer = """{"end": 2031, "landlord": {"name": "Odo", "is_firm": true, "tax": null}, "bells": ["A", "C"],
    "offices": [{"office": "chair", "holder": "Bo Fell", "paid": false}, {"office": "clerk", "helpers": [{"name": "Cy"}]}]}"""
    assert list_fields(answer) == [
        ('"end": 2031', "2031"),
        ('"landlord": {"name": "Odo"}', "Odo"),
        ('"bells": "A"', "A"),
        ('"bells": "C"', "C"),
        ('"offices": {"office": "chair", "holder": "Bo Fell", "paid": false}', "chair, Bo Fell"),
        ('"offices": {"office": "clerk"}', "clerk"),
        ('"offices": {"helpers": {"name": "Cy"}}', "Cy"),
    ]
    assert list_fields('[{"name": "Odo"}, "Bo"]') == [('{"name": "Odo"}', "Odo"), ('"Bo"', "Bo")]


def test_other_answers_have_no_fields():
    assert list_fields("It ends in 2031.") is None
    assert list_fields("[1] says so.") is None
