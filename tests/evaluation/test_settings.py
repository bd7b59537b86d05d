"""Settings: from a file or from flags, checked before anything is paid for."""

import pytest

from bookwheel.errors import InputError, PlanError
from bookwheel.evaluation.errors import SettingsError
from bookwheel.evaluation.settings import Evaluation, ModelSpec, differences, fingerprint, model_settings
from bookwheel.plan import Plan

FILE = """
[eval]
tasks = ["hqa"]
lengths = [7000, 14000]
ways = ["sequential", "whole"]
count = 128

[[eval.models]]
name = "local"
window = 4096

[[eval.models]]
name = "big"
label = "bigger"
ways = ["whole"]
plan = { prompts = "standard", answer_tokens = 64 }

[plan]
chunk_tokens = 900
"""


def test_a_toml_file_says_all_there_is_to_say(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(FILE, encoding="utf-8")
    evaluation = Evaluation.load(str(path))
    assert (evaluation.tasks, evaluation.lengths, evaluation.count) == (("hqa",), (7000, 14000), 128)
    assert [model.called for model in evaluation.models] == ["local", "bigger"]
    assert evaluation.models[1].ways == ("whole",)
    plan = evaluation.plan_of(evaluation.models[1], Plan(memory_tokens=77))
    assert (plan.chunk_tokens, plan.answer_tokens, plan.memory_tokens) == (900, 64, 77)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("lengths = [", "lenghts = [", "'lengths'"),
        ("window = 4096", "windows = 4096", "'window'"),
        ("chunk_tokens = 900", "chunk_token = 900", "'chunk_tokens'"),
        ("answer_tokens = 64", "answers_tokens = 64", "'answer_tokens'"),
        ('"sequential", "whole"', '"sequential", "hole"', "'whole'"),
        ("count = 128", 'count = "many"', "a whole number"),
        ("count = 128", "count = 0", "at least 1"),
        ("lengths = [7000, 14000]", "lengths = 7000", "a list"),
        ('name = "big"', "window = 5", "needs a name"),
        ('label = "bigger"', 'label = "local"', "two models"),
        ('tasks = ["hqa"]', "", "nothing to measure"),
        ("[eval]\n", "[evall]\n", "no \\[eval\\]"),
        ("[eval]", "[eval", "not valid TOML"),
    ],
)
def test_a_mistake_in_a_file_is_named_with_what_would_be_right(tmp_path, old, new, said):
    path = tmp_path / "run.toml"
    assert old in FILE
    broken = FILE.replace(old, new, 1)
    path.write_text(
        broken.replace("[[eval.models]]", "[[evall.models]]") if "evall" in new else broken, encoding="utf-8"
    )
    with pytest.raises(InputError, match=said):
        Evaluation.load(str(path))


def test_a_file_that_is_not_there_names_the_presets():
    with pytest.raises(SettingsError, match="Presets are"):
        Evaluation.load("nowhere.toml")


def test_a_plan_that_cannot_be_is_refused_at_once():
    with pytest.raises(PlanError):
        Evaluation(tasks=("t",), lengths=(100,), plan={"chunk_tokens": 1})


def test_the_fingerprint_heeds_values_and_not_their_order():
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": 2})


def test_how_a_model_is_reached_changes_no_number_but_its_prompts_do():
    plan = Plan()
    here = model_settings(ModelSpec(name="m", base_url="http://one"), plan, "words")
    assert here == model_settings(ModelSpec(name="m", base_url="http://two", threads=2, ways=("whole",)), plan, "words")
    assert here != model_settings(ModelSpec(name="m"), plan, "other words")
    assert here != model_settings(ModelSpec(name="m", window=99), plan, "words")


def test_differences_are_told_by_their_place():
    assert differences({"a": {"b": 1}, "c": 2}, {"a": {"b": 3}, "c": 2}) == ["a.b is 1 there and 3 here"]
