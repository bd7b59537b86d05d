"""Our samples inside inspect_ai, with the real package."""

import gc
from importlib.metadata import entry_points
from itertools import islice

import pytest

inspect_ai = pytest.importorskip("inspect_ai")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def tidy():
    """Streams that the package leaves open are collected where their warnings are expected."""
    yield
    gc.collect()


def run(task, model, tmp_path):
    return inspect_ai.eval(task, model=model, log_dir=str(tmp_path), display="none")[0]


def mock_model(*answers):
    from inspect_ai.model import ModelOutput, get_model

    outputs = [ModelOutput.from_content("mockllm/model", answer) for answer in answers]
    return get_model("mockllm/model", custom_outputs=[with_usage(output) for output in outputs])


def with_usage(output):
    """Else the package counts tokens with a vocabulary that it fetches."""
    from inspect_ai.model import ModelUsage

    return output.model_copy(update={"usage": ModelUsage(input_tokens=7, output_tokens=2, total_tokens=9)})


@pytest.fixture
def three(source):
    return list(islice(source("wheels", 60), 3))


def test_samples_are_read_by_our_loop_and_judged_by_our_metric(three, tmp_path):
    from bookwheel.lab.evaluation.inspect_task import reading_task

    notes = [text for n in range(3) for text in (f"wheel: vermilion{n}", f"\\boxed{{vermilion{n}}}")]
    log = run(reading_task(three), mock_model(*notes), tmp_path)
    assert log.status == "success"
    assert {sample.metadata["steps"] for sample in log.samples} == {1}
    scores = sorted(next(iter(sample.scores.values())).value for sample in log.samples)
    assert scores[-1] == 1


def test_documents_stay_out_of_the_log(three, tmp_path):
    from bookwheel.lab.evaluation.inspect_task import reading_task

    log = run(reading_task(three[:1], way="closed-book"), mock_model("\\boxed{vermilion0}"), tmp_path)
    assert next(iter(log.samples[0].scores.values())).value == 1
    assert "harvests" not in log.model_dump_json()


def test_a_document_that_does_not_fit_counts_as_wrong_and_says_so(source, tmp_path):
    from bookwheel.lab.evaluation.inspect_task import reading_task
    from bookwheel.plan import Plan

    plan = Plan(question_tokens=60, answer_tokens=60)
    log = run(
        reading_task([next(source("wheels", 2000))], way="whole", plan=plan, window=900), mock_model("x"), tmp_path
    )
    score = next(iter(log.samples[0].scores.values()))
    assert score.value == 0
    assert "more than the" in score.explanation


def test_a_failing_model_counts_as_wrong(three, tmp_path):
    from inspect_ai.model import ModelOutput, get_model

    from bookwheel.lab.evaluation.inspect_task import reading_task

    broken = with_usage(ModelOutput(model="mockllm/model", error="overloaded"))
    model = get_model("mockllm/model", custom_outputs=[broken])
    log = run(reading_task(three[:1], way="closed-book"), model, tmp_path)
    assert log.status == "success"
    score = next(iter(log.samples[0].scores.values()))
    assert (score.value, "overloaded" in score.explanation) == (0, True)


def test_the_task_can_be_made_by_name(tmp_path):
    from bookwheel.lab.evaluation.inspect_task import reading

    task = reading(task="niah_single_1", tokens=600, count=2, way="closed-book")
    assert len(task.dataset) == 2
    assert run(task, mock_model("a", "b"), tmp_path).status == "success"


def test_the_command_finds_the_task_by_its_name(tmp_path):
    """`inspect eval bookwheel/reading` knows no module of ours: what it looks up is the installed entry point."""
    (entry,) = entry_points(group="inspect_ai", name="bookwheel")
    assert entry.load().reading
    arguments = {"task": "niah_single_1", "tokens": 1200, "count": 1, "way": "closed-book"}
    model = mock_model("I do not know.")
    (log,) = inspect_ai.eval(
        "bookwheel/reading", model=model, task_args=arguments, log_dir=str(tmp_path), display="none"
    )
    assert log.status == "success"
    assert log.eval.task == "bookwheel/reading"
    assert log.samples[0].metadata["status"] == "answered"
