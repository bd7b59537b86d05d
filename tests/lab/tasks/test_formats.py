"""Question sets in their official formats."""

import gzip
import json

import pytest

from bookwheel.errors import InputError
from bookwheel.lab.tasks.formats import load_hotpot, load_items, load_question_set
from bookwheel.lab.tasks.questions import _load_pool

HOTPOT = {
    "_id": "h1",
    "question": "Who turns the wheel?",
    "answer": "Ada",
    "supporting_facts": [["Wheel", 0]],
    "context": [["Wheel", ["Ada turns the wheel.", " It creaks."]], ["Door", ["A door."]]],
}
ROWS = {
    "question": "Who turns the wheel?",
    "id": "h2",
    "answer": "Ada",
    "supporting_facts": {"title": ["Wheel"], "sent_id": [0]},
    "context": {"title": ["Wheel", "Door"], "sentences": [["Ada turns the wheel.", " It creaks."], ["A door."]]},
}


def load(tmp_path, text, name="set.json"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return load_items(path)


def supported(item):
    return [(p.title, p.text[begin:end]) for p in item.paragraphs for begin, end in p.support]


@pytest.mark.parametrize("record", [HOTPOT, ROWS])
@pytest.mark.parametrize("form", ["array", "lines", "one", "packed"])
def test_hotpot_is_read_as_array_lines_or_packed(record, form, tmp_path):
    line = json.dumps(record)
    if form == "packed":
        path = tmp_path / "set.jsonl.gz"
        path.write_bytes(gzip.compress(line.encode()))
        (item,) = load_items(path)
    else:
        text = {"array": f"[{line}]", "lines": f"{line}\n", "one": line}[form]
        (item,) = load(tmp_path, text, "set.jsonl" if form == "lines" else "set.json")
    assert item.golds == ("Ada",)
    assert supported(item) == [("Wheel", "Ada turns the wheel.")]
    assert item.id in {"h1", "h2"}


def test_all_fixtures_are_read_with_aliases_and_without_what_has_no_answer(data):
    assert len(load_items(data / "qa_en/hotpotqa_dev.jsonl")) == 4
    (tide,) = load_items(data / "qa_en/2wikimultihopqa_dev.jsonl")
    assert supported(tide)[0] == ("Low Tide", "Low Tide is a picture by Nils Larkspur.")
    (press,) = load_items(data / "qa_en/musique_dev.jsonl")
    assert press.golds == ("1811", "the year 1811")
    squad = load_items(data / "qa_en/squad_v1.1_dev.json")
    assert [item.id for item in squad] == ["s1", "s2", "s3", "s4", "s5"]
    assert supported(squad[1]) == [("Ferry of Ostwick", "Since then a cable draws it.")]
    assert len(load_items(data / "qa_zh/drcd_dev_test.json")) == 2


def test_evidence_is_widened_to_its_paragraph_when_its_sentences_miss_the_answer(tmp_path):
    record = {**HOTPOT, "supporting_facts": [["Wheel", 1]]}
    (item,) = load(tmp_path, json.dumps([record]))
    assert supported(item) == [("Wheel", "Ada turns the wheel. It creaks.")]


def test_a_question_whose_answer_is_nowhere_is_left_out(tmp_path):
    (item,) = load(tmp_path, json.dumps([HOTPOT, {**HOTPOT, "answer": "Bram"}]))
    assert item.golds == ("Ada",)
    with pytest.raises(InputError, match="holds no question"):
        load(tmp_path, json.dumps([{**HOTPOT, "answer": "Bram"}]), "none.json")


def test_what_is_left_out_is_counted_with_its_reason(tmp_path):
    path = tmp_path / "set.json"
    path.write_text(json.dumps([HOTPOT, {**HOTPOT, "answer": "Bram"}, {**HOTPOT, "answer": "Bo"}]), encoding="utf-8")
    assert load_question_set(path).left_out == {"the answer stands in none of its paragraphs": 2}


def test_the_unanswerable_questions_of_squad_2_stay_and_those_of_musique_are_counted(tmp_path):
    qas = [
        {
            "id": "a",
            "question": "Who turns it?",
            "answers": [{"text": "Ada", "answer_start": 0}],
            "is_impossible": False,
        },
        {"id": "b", "question": "Who paints it?", "answers": [], "is_impossible": True},
    ]
    squad = {"data": [{"title": "Wheel", "paragraphs": [{"context": "Ada turns the wheel.", "qas": qas}]}]}
    answerable, impossible = load(tmp_path, json.dumps(squad))
    assert (answerable.golds, impossible.golds) == (("Ada",), ())
    assert not supported(impossible)
    paragraphs = [{"title": "Wheel", "paragraph_text": "Ada turns the wheel.", "is_supporting": True}]
    record = {"question": "Who?", "answer": "Ada", "paragraphs": paragraphs}
    path = tmp_path / "musique.jsonl"
    path.write_text(f"{json.dumps(record)}\n{json.dumps({**record, 'answerable': False})}\n", encoding="utf-8")
    found = load_question_set(path)
    assert (len(found.items), list(found.left_out.values())) == (1, [1])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not valid JSON"),
        ("3", "JSON object"),
        ('{"question": "q", "answer": "a"}', "'paragraphs'"),
        ('{"answer": "a", "document": "a"}', "question"),
        ('{"question": "q", "document": "a"}', "'golds'"),
        ('{"question": "q", "answer": "a", "context": [["t"]]}', "not enough values"),
        ('{"question": "q", "answer": "a", "paragraphs": [{"title": "t"}]}', "text"),
        ('{"paragraphs": [{"qas": 1}]}', "no list 'qas'"),
    ],
)
def test_a_bad_line_is_left_out_and_counted_and_named_where_there_is_no_other(line, message, tmp_path):
    path = tmp_path / "set.jsonl"
    path.write_text(f"{json.dumps(HOTPOT)}\n{line}\n{line}\n", encoding="utf-8")
    found = load_question_set(path)
    assert (len(found.items), list(found.left_out.values())) == (1, [2])
    assert message in next(iter(found.left_out))
    with pytest.raises(InputError, match=r"bad\.jsonl, line 1") as error:
        load(tmp_path, f"{line}\n", "bad.jsonl")
    assert message in str(error.value)


def test_an_odd_paragraph_of_an_article_leaves_the_others_of_it(tmp_path):
    qas = [{"question": "Who turns it?", "answers": [{"text": "Ada", "answer_start": 0}]}]
    sound = {"context": "Ada turns the wheel.", "qas": qas}
    paragraphs = [sound, {"context": "No question."}, 3, {**sound, "qas": None}, {"qas": qas}, sound]
    path = tmp_path / "squad.json"
    path.write_text(json.dumps({"data": [{"title": "Wheel", "paragraphs": paragraphs}]}), encoding="utf-8")
    found = load_question_set(path)
    assert len(found.items) == 2
    assert found.left_out == {"a paragraph has no list 'qas'": 3, "the field 'context' is missing": 1}


@pytest.mark.parametrize("read", [load_hotpot, _load_pool])
def test_a_broken_line_of_a_file_of_which_nothing_is_left_out_is_named(read, tmp_path):
    path = tmp_path / "broken.jsonl"
    path.write_text(f"{json.dumps({**HOTPOT, 'text': 'Ada'})}\n{{\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"broken\.jsonl, line 2: not valid JSON"):
        read(path)


def test_an_odd_question_of_an_article_leaves_the_others_of_it(tmp_path):
    asked = {"question": "Who turns it?", "answers": [{"text": "Ada", "answer_start": 0}]}
    number = {"question": "How many turn it?", "answers": [{"text": 1, "answer_start": 9}]}
    qas = [asked, {**asked, "question": " "}, {"answers": asked["answers"]}, number]
    squad = {"data": [{"title": "Wheel", "paragraphs": [{"context": "Ada and 1 other turn the wheel.", "qas": qas}]}]}
    path = tmp_path / "squad.json"
    path.write_text(json.dumps(squad), encoding="utf-8")
    found = load_question_set(path)
    assert [one.golds for one in found.items] == [("Ada",), ("1",)]
    assert found.left_out == {
        "'question' must be a text that is not empty": 1,
        "the field 'question' is missing": 1,
    }


def test_a_broken_json_file_is_named_with_its_line(tmp_path):
    with pytest.raises(InputError, match=r"set\.json, line 3"):
        load(tmp_path, f'[\n{json.dumps(HOTPOT)},\n{{"question" "q"}}\n]')


def test_a_bad_record_of_an_array_is_named_by_line_and_number(tmp_path):
    nowhere = {**HOTPOT, "answer": "Bram"}
    with pytest.raises(InputError, match=r"set\.json, line 1 \(record 2\)"):
        load(tmp_path, json.dumps([nowhere, {"question": "q", "answer": "a", "context": [["t"]]}]))


def test_a_packed_file_that_is_cut_off_is_said_so(tmp_path):
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(HOTPOT).encode() * 50)[:-20])
    with pytest.raises(InputError, match="cannot be read"):
        load_items(path)


def own(**fields):
    return json.dumps({"question": "Q?", "answers": ["Ada"], "paragraphs": ["Ada and Bo came.", "A door."], **fields})


def test_a_question_of_ones_own_keeps_its_metric_and_a_yes_needs_no_word_in_the_text(tmp_path):
    lines = [
        own(answers=["Ada", "Bo"], metric="all_of"),
        own(question="Did Ada stay?", answers=["no"]),
        own(answers=[], metric="unanswerable"),
        own(answers=["two"], metric="f1"),
        own(),
    ]
    items = load(tmp_path, "\n".join(lines), "own.jsonl")
    assert [(one.metric, one.golds) for one in items] == [
        ("all_of", ("Ada", "Bo")),
        ("choice", ("no",)),
        ("unanswerable", ()),
        ("f1", ("two",)),
        ("", ("Ada",)),
    ]
    assert [len(supported(one)) for one in items] == [1, 2, 0, 2, 1]


@pytest.mark.parametrize(
    ("fields", "message"), [({"metrics": "choice"}, "did you mean 'metric'"), ({"metric": "al_of"}, "al_of")]
)
def test_a_metric_that_is_misspelt_is_named(fields, message, tmp_path):
    with pytest.raises(InputError, match=message):
        load(tmp_path, own(**fields), "own.jsonl")
