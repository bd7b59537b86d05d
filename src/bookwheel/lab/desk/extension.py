"""The desk of runs as a part of the server, found by its entry point in the group `bookwheel.routes`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bookwheel.lab.desk import answers
from bookwheel.lab.desk.routes import make_run_routes
from bookwheel.lab.desk.run_directory import RunDirectory
from bookwheel.serve.http.answers import OriginJson, TextSpanJson

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from bookwheel.serve.engine.service import Service


class Desk:
    """Evaluations and training runs over HTTP."""

    answers: tuple[Any, ...] = (
        list[answers.ListedRunJson],
        answers.EvaluationJson | answers.TrainingJson,
        answers.SamplesJson,
        answers.MatrixJson,
        list[answers.RolloutJson],
        answers.RunReadingJson,
    )

    def make_routes(self, service: Service) -> list[BaseRoute]:
        """Return the routes of the runs in the server's folder."""
        return make_run_routes(RunDirectory(service.settings.runs_folder))

    def describe(self) -> dict[str, Any]:
        """Return the paths of the OpenAPI document."""
        from bookwheel.serve.openapi import TEXT, path, query, route, span

        run, one, sha = path("run", "A run."), path("id", "A reading."), path("sha", "A document.")
        reading = [run, one, query("changes")]
        filters = [query(name) for name in ("start", "limit", "wrong", "length")]
        filters += [query(name, "string") for name in ("model", "way", "task", "search", "memory")]
        against = [*filters, query("mixed"), query("against", "string")]
        whole = answers.EvaluationJson | answers.TrainingJson
        origins, rollouts = list[OriginJson], list[answers.RolloutJson]
        step, at = [run, query("step")], "/runs/{run}"
        return {
            "/runs": {"get": route("List evaluations and training runs", 200, list[answers.ListedRunJson])},
            at: {"get": route("A run as far as it has come", 200, whole, parameters=[run])},
            f"{at}/samples": {"get": route("Its samples", 200, answers.SamplesJson, parameters=[run, *filters])},
            f"{at}/matrix": {
                "get": route("Samples against readers", 200, answers.MatrixJson, parameters=[run, *against])
            },
            f"{at}/page": {
                "get": route("The run as one file", 200, TEXT, kind="text/html", parameters=[run, query("readings")])
            },
            f"{at}/rollouts": {"get": route("The rollouts of a step", 200, rollouts, parameters=step)},
            f"{at}/readings/{{id}}": {
                "get": route("A reading of the run", 200, answers.RunReadingJson, parameters=reading)
            },
            f"{at}/readings/{{id}}/origins": {
                "get": route("The origins of its memory", 200, origins, parameters=[run, one])
            },
            f"{at}/documents/{{sha}}/text": {
                "get": route("A part of a text", 200, TextSpanJson, parameters=[run, sha, *span()])
            },
        }


DESK = Desk()
