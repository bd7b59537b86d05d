"""Settings: from a file or from flags, checked before anything is paid for."""

import pytest

from bookwheel.cli.options import PlanOptions
from bookwheel.errors import InputError, PlanError
from bookwheel.lab.commands.options import EvalOptions, GridOptions, assign_task_options, merge_settings
from bookwheel.lab.evaluation.settings import (
    Evaluation,
    ModelSpec,
    SettingsError,
    describe_differences,
    fingerprint,
    model_settings,
)
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
    assert [model.display_name for model in evaluation.models] == ["local", "bigger"]
    assert evaluation.models[1].ways == ("whole",)
    plan = evaluation.plan_of(evaluation.models[1], Plan(memory_tokens=77))
    assert (plan.chunk_tokens, plan.answer_tokens, plan.memory_tokens) == (900, 64, 77)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("lengths = [", "lenghts = [", "unknown setting 'lenghts' in [eval]; did you mean 'lengths'?"),
        ("window = 4096", "windows = 4096", "unknown setting 'windows' in [eval.models.0]; did you mean 'window'?"),
        ("chunk_tokens = 900", "chunk_token = 900", "unknown setting 'chunk_token' in [plan]; did you mean"),
        ("answer_tokens = 64", "answers_tokens = 64", "unknown setting 'answers_tokens' in [plan]; did you mean"),
        ("[eval]", "[evall]\n[eval]", "unknown setting 'evall'; did you mean 'eval'?"),
        ("[plan]", "[plans]", "unknown setting 'plans'; did you mean 'plan'?"),
        ("count = 128", "extra = { a = 1 }", "unknown setting 'extra' in [eval]"),
        ("lengths = [7000, 14000]", 'lengths = ["300"]', "eval.lengths.0 must be a whole number, not '300'"),
        ("lengths = [7000, 14000]", "lengths = [300, 0]", "eval.lengths.1 must be at least 1, not 0"),
        ("lengths = [7000, 14000]", "lengths = [300.5]", "eval.lengths.0 must be a whole number, not 300.5"),
        ("lengths = [7000, 14000]", "lengths = 7000", "eval.lengths must be a list, not 7000"),
        ('tasks = ["hqa"]', 'tasks = "hqa"', "eval.tasks must be a list, not 'hqa'"),
        ('tasks = ["hqa"]', "tasks = [1]", "eval.tasks.0 must be text, not 1"),
        ('tasks = ["hqa"]', "", "nothing to measure: give tasks and lengths"),
        ('"sequential", "whole"', '"sequential", "hole"', "ways: no way of reading 'hole'; did you mean 'whole'?"),
        ("count = 128", 'count = "many"', "eval.count must be a whole number, not 'many'"),
        ("count = 128", "count = true", "eval.count must be a whole number, not True"),
        ("count = 128", "count = 0", "eval.count must be at least 1, not 0"),
        ("count = 128", "concurrency = -1", "eval.concurrency must be at least 1, not -1"),
        ("count = 128", 'seed = "a"', "eval.seed must be a whole number, not 'a'"),
        ("count = 128", "language = 3", "eval.language must be text, not 3"),
        ("count = 128", "data = 5", "eval.data must be text, not 5"),
        ("count = 128", "plan = 5", "eval.plan must be a table, not 5"),
        ('name = "big"', "window = 5", "eval.models.1.name is missing"),
        ('label = "bigger"', 'label = "local"', "two models are called 'local'"),
        ('label = "bigger"', "label = 5", "eval.models.1.label must be text, not 5"),
        ('label = "bigger"', "window = 0", "eval.models.1.window must be at least 1, not 0"),
        ('label = "bigger"', "timeout = 0", "eval.models.1.timeout must be above 0"),
        ('label = "bigger"', 'timeout = "1 min"', "eval.models.1.timeout must be a number, not '1 min'"),
        ('ways = ["whole"]', 'ways = ["hole"]', "models.bigger.ways: no way of reading 'hole'; did you mean 'whole'?"),
        ("answer_tokens = 64", 'answer_tokens = "64"', "models.bigger: plan.answer_tokens must be a whole number"),
        ("chunk_tokens = 900", 'chunk_tokens = "900"', "plan.chunk_tokens must be a whole number, not '900'"),
        ("chunk_tokens = 900", "chunk_tokens = 1", "plan.chunk_tokens must be at least 8, not 1"),
        ("chunk_tokens = 900", "budget = 5", "plan.budget must be a table, not 5"),
        ("chunk_tokens = 900", "budget = { tokens = -5 }", "plan.budget.tokens must be above 0, not -5"),
        ("chunk_tokens = 900", 'sampling = { temperature = "hot" }', "plan.sampling.temperature must be a number"),
        (
            "chunk_tokens = 900",
            'layout = "sideways"',
            "plan.layout must be memory-first, section-first or question-section",
        ),
        ("[eval]", "[eval", "not valid TOML"),
        ("count = 128", "count = ", "not valid TOML"),
    ],
)
def test_a_bad_settings_file_ends_with_2_and_names_file_key_and_what_is_allowed(tmp_path, command, old, new, message):
    path = tmp_path / "run.toml"
    assert old in FILE
    path.write_text(FILE.replace(old, new, 1), encoding="utf-8")
    code, _, err = command("eval", path, "--out", tmp_path / "out")
    assert code == 2
    printed = " ".join(err.split())
    assert "run.toml" in printed
    assert message in printed
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("text", ["", "eval = 5\n", "[plan]\nchunk_tokens = 900\n", "[[eval]]\ncount = 5\n"])
def test_a_file_without_an_eval_table_is_refused(tmp_path, text):
    path = tmp_path / "run.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=r"run\.toml.*eval"):
        Evaluation.load(str(path))


@pytest.mark.parametrize("values", [{"count": 0}, {"concurrency": 0}, {"lengths": (300, 0)}, {"models": ()}])
def test_bounds_hold_for_settings_made_in_python(values):
    with pytest.raises(SettingsError):
        Evaluation(**{"tasks": ("t",), "lengths": (300,), **values})


@pytest.mark.parametrize("values", [{"window": 0}, {"threads": 0}, {"lengths": (0,)}, {"timeout": 0.0}])
def test_bounds_hold_for_a_model_made_in_python(values):
    with pytest.raises(SettingsError, match=r"models\.m\."):
        ModelSpec(name="m", **values)


def test_a_file_may_also_hold_the_settings_of_training(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(f"{FILE}\n[train]\nsteps = 3\n", encoding="utf-8")
    assert Evaluation.load(str(path)).tasks == ("hqa",)


def test_the_fingerprint_of_a_settings_file_is_the_one_that_older_results_bear(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(
        FILE.replace("count = 128", "count = 128\nseed = 4")
        + "sampling = { temperature = 0.5, seed = 3 }\nbudget = { price_in = 0.25 }\n",
        encoding="utf-8",
    )
    evaluation = Evaluation.load(str(path))
    local = evaluation.models[0]
    settings = model_settings(local, evaluation.plan_of(local, Plan()), "x")
    # Computed by version 0.1.0: results and journals in use bear it.
    assert fingerprint([evaluation.fixed_settings(), settings]) == "a594f14febc54f67"


def test_settings_that_came_later_count_only_where_they_are_set():
    plain = model_settings(ModelSpec(name="m"), Plan(), "x")["plan"]
    plan = Plan.from_json({"enough_gain": 4.5, "sampling": {"thinking": False}})
    later = model_settings(ModelSpec(name="m"), plan, "x")["plan"]
    assert later == {**plain, "enough_gain": 4.5, "sampling": {**plain["sampling"], "thinking": False}}


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
    assert describe_differences({"a": {"b": 1}, "c": 2}, {"a": {"b": 3}, "c": 2}) == ["a.b is 1 there and 3 here"]


def test_options_of_tasks_are_settings_like_others():
    evaluation = Evaluation(tasks=("vt",), lengths=(600,), options={"vt": {"hops": 6}})
    plain = Evaluation(tasks=("vt",), lengths=(600,))
    assert evaluation.fixed_settings()["options"] == {"vt": {"hops": 6}}
    assert "options" not in plain.fixed_settings()  # as results from before have it
    with pytest.raises(SettingsError, match=r"options.fwe: the task is not measured here; tasks are: vt"):
        Evaluation(tasks=("vt",), lengths=(600,), options={"fwe": {"alpha": 2.0}})


def test_an_option_without_a_task_goes_to_all_that_have_it():
    tasks = ("vt", "niah_single_1", "book")
    assert assign_task_options(("depth=50", "vt.hops=2"), tasks, {"vt": {"chains": 3}}) == {
        "vt": {"chains": 3, "hops": 2},
        "niah_single_1": {"depth": 50},
        "book": {"depth": 50},
    }
    with pytest.raises(InputError, match="vt: hops, chains; niah_single_1: depth; book: depth"):
        assign_task_options(("alpha=2",), tasks)


def test_tasks_need_a_length_even_beside_samples():
    with pytest.raises(SettingsError, match="no length for hqa"):
        Evaluation(tasks=("hqa",), samples=("s.jsonl",))


def test_a_model_may_bring_the_only_lengths(tmp_path):
    evaluation = Evaluation(tasks=("hqa",), models=(ModelSpec(name="local", lengths=(900, 300)),))
    assert evaluation.every_length == (300, 900)


def test_options_of_the_plan_reach_it_from_the_command_line():
    plan = PlanOptions(gate_threshold=0.3, rank="embeddings", temperature=0.0, chunk_tokens=900, lang="zh")
    grid = GridOptions(tasks=("hqa",), lengths=(300,))
    evaluation = merge_settings(None, EvalOptions(grid=grid, plan=plan))
    built = Plan.from_json(evaluation.plan)
    assert (built.gate.threshold, built.rank, built.sampling.temperature) == (0.3, "embeddings", 0.0)
    assert (built.chunk_tokens, built.language, evaluation.language) == (900, None, "zh")
