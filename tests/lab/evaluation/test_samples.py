"""Questions that a model answers without the document give their place to the next ones."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from bookwheel.errors import Rejected
from bookwheel.lab.evaluation.run import evaluate
from bookwheel.lab.evaluation.samples import KnownAnswers, choose_unknown
from bookwheel.lab.evaluation.settings import Evaluation, ModelSpec, SettingsError
from bookwheel.lab.tasks import sample_series
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.text.tokens import WordTokenizer

DATA = Path(__file__).parents[2] / "fixtures" / "data"


def series(count: int = 100):
    return sample_series("hqa", tokens=600, count=count, seed=0, tokenizer=WordTokenizer(), data=DATA)


def knower(known):
    """Answers the questions of these samples, at the second time of asking alone."""
    asked = {}

    def reply(messages):
        text = messages[-1].content
        sample = next((one for one in known if one.question in text), None)
        asked[text] = asked.get(text, 0) + 1
        return rf"\boxed{{{sample.golds[0] if sample and asked[text] == 2 else 'no idea'}}}"

    return ScriptedModel(reply)


def choose(model, known_answers, count=2):
    return asyncio.run(choose_unknown(series(), count, model, known_answers, at_once=4))


def test_a_known_question_gives_its_place_to_the_next_and_no_question_is_asked_again(tmp_path):
    samples = series()
    model, path = knower([samples[0], samples[2]]), tmp_path / "out" / "known.jsonl"
    chosen = choose(model, KnownAnswers(path, "knower"))
    assert (chosen.places, chosen.passed_over) == ((1, 3), 2)
    # Four questions, twice each.
    assert model.calls == 8
    assert choose(model, KnownAnswers(path, "knower")) == chosen
    assert model.calls == 8
    assert choose(model, KnownAnswers(path, "another")).places == (0, 1)


def test_a_line_that_a_kill_cut_short_is_asked_again(tmp_path):
    path = tmp_path / "known.jsonl"
    model = knower([])
    choose(model, KnownAnswers(path, "knower"))
    path.write_bytes(path.read_bytes()[:-9])
    assert choose(model, KnownAnswers(path, "knower")).places == (0, 1)
    assert model.calls == 6
    assert choose(model, KnownAnswers(path, "knower")).places == (0, 1)
    assert model.calls == 6


def test_too_few_unknown_questions_are_told(tmp_path):
    model = knower([series()[0]])
    with pytest.raises(SettingsError, match=r"cannot answer \d of \d questions without the document, and 90 are"):
        choose(model, KnownAnswers(tmp_path / "known.jsonl", "knower"), count=90)


def test_a_model_that_fails_ends_the_choice(tmp_path):
    class Gone(ScriptedModel):
        async def reply(self, *_args, **_more):
            raise Rejected("no such model")

    with pytest.raises(Rejected, match="no such model"):
        choose(Gone(keyword_reader), KnownAnswers(tmp_path / "known.jsonl", "gone"))


def evaluation(**changes) -> Evaluation:
    settings = Evaluation(
        tasks=("hqa",),
        lengths=(600, 900),
        count=2,
        models=(ModelSpec(name="reader", window=4000),),
        ways=("whole",),
        data=str(DATA),
        plan={"question_tokens": 60, "chunk_tokens": 120, "memory_tokens": 60, "answer_tokens": 60},
        unknown_to=ModelSpec(name="knower", base_url="http://localhost:1"),
    )
    return replace(settings, **changes)


def test_an_evaluation_reads_what_the_model_does_not_know_at_every_length(tmp_path):
    known = series()[0]
    models = {"knower": knower([known]), "reader": ScriptedModel(keyword_reader)}

    async def open_model(spec):
        return models[spec.name]

    path = tmp_path / "results.jsonl"
    found = asyncio.run(evaluate(evaluation(), path, open_model))
    assert {one.question for one in found.records} == {series()[1].question, series()[2].question}
    assert [(one.length, one.place) for one in found.records] == [(600, 0), (600, 1), (900, 0), (900, 1)]
    (note,) = [note for note in found.runs[0].notes if "passed over" in note]
    assert note.startswith("1 of the first 3 questions of hqa (en) are passed over: knower answers them")
    calls = {name: model.calls for name, model in models.items()}
    asyncio.run(evaluate(evaluation(), path, open_model))
    assert {name: model.calls for name, model in models.items()} == calls


def test_results_of_other_questions_are_not_mixed():
    run = evaluation().fixed_settings()
    assert run["unknown_to"] == "knower"
    moved = ModelSpec(name="knower", base_url="http://localhost:2")
    assert evaluation(unknown_to=moved).fixed_settings() == run
    # Results from before this setting stay valid.
    assert "unknown_to" not in evaluation(unknown_to=None).fixed_settings()


def test_files_of_samples_are_filtered_by_their_own_command():
    with pytest.raises(SettingsError, match="bookwheel data filter"):
        Evaluation(samples=("s.jsonl",), unknown_to=ModelSpec(name="knower"))
