"""The manifest of a run: hashes, versions, machine, models, and what the readings used."""

import asyncio
import json

from bookwheel.lab.evaluation.layout import build_sections
from bookwheel.lab.evaluation.manifest import summarize_use
from bookwheel.lab.evaluation.records import flatten
from bookwheel.lab.evaluation.report import build_report, report_to_json
from bookwheel.lab.evaluation.run import evaluate
from bookwheel.lab.evaluation.sections import to_markdown
from bookwheel.lab.evaluation.settings import Evaluation, ModelSpec
from bookwheel.models.scripted import ScriptedModel


def test_a_run_says_what_its_numbers_were_made_with(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps({"question": "Who?", "document": "Ada.", "answers": ["Ada"]}) + "\n")

    async def open_model(_spec):
        return ScriptedModel(lambda _call: "Ada")

    spec = ModelSpec(name="scripted")
    evaluation = Evaluation(samples=(str(path),), models=(spec,), ways=("whole",), judge=spec)
    results = asyncio.run(evaluate(evaluation, tmp_path / "results.jsonl", open_model))
    manifest = results.runs[-1].manifest
    assert len(manifest["code"]["sha256"]) == 16
    assert {"python", "system", "processor"} <= manifest["machine"].keys()
    assert len(manifest["data"][str(path)]) == 64
    assert manifest["models"]["scripted"]["tokenizer"].startswith("words, counts ")
    assert manifest["judge"] == manifest["models"]["scripted"]
    (used,) = summarize_use(results.records).values()
    assert (used["samples"], used["calls"]) == (1, 1)
    assert used["prompt tokens"] > 0
    built = build_report(results)
    text = to_markdown("Report", build_sections(built))
    assert "machine.python" in text
    assert "samples sha256" in text
    assert report_to_json(built)["used"]["scripted"] == used


def test_nested_values_are_named_by_their_places():
    assert list(flatten({"a": {"b": 1}, "c": "x"})) == [("a.b", 1), ("c", "x")]
