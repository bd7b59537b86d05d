"""Runs over HTTP: what stands on the shelf, an evaluation's samples, a run's rollouts, and their readings."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import asdict
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar

from starlette.responses import Response
from starlette.routing import Route

from bookwheel.errors import BookwheelError, JournalError
from bookwheel.journal import Journal
from bookwheel.reading.provenance import find_origins
from bookwheel.record import reading_to_json
from bookwheel.serve.engine.errors import ApiError, not_found
from bookwheel.serve.http.changes import reading_with_changes, wants_changes
from bookwheel.serve.http.errors import JsonResponse
from bookwheel.serve.http.routes import parse_number, text_span
from bookwheel.serve.runs import summaries
from bookwheel.serve.runs.run_directory import RunKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from bookwheel.evaluation.results import Record
    from bookwheel.serve.runs.run_directory import FileState, RunDirectory, RunFolder
    from bookwheel.types import Reading

_T = TypeVar("_T")
_MOST_SAMPLES: Final = 200
_SAMPLES: Final = 50
_log: Final = logging.getLogger(__name__)


def run_routes(shelf: RunDirectory) -> list[BaseRoute]:
    """The routes of what stands on a shelf."""
    routes = RunRoutes(shelf)
    return [
        Route("/runs", routes.listed),
        Route("/runs/{run}", routes.shown),
        Route("/runs/{run}/samples", routes.samples),
        Route("/runs/{run}/rollouts", routes.rollouts),
        Route("/runs/{run}/readings/{id}", routes.reading),
        Route("/runs/{run}/readings/{id}/origins", routes.origins),
        Route("/runs/{run}/documents/{sha}/text", routes.text),
    ]


class RunRoutes:
    """One method a route. Files are gone through off the loop; the intervals of a report, one report at a time."""

    def __init__(self, shelf: RunDirectory) -> None:
        self._shelf = shelf
        self._turn = asyncio.Lock()

    async def listed(self, _request: Request) -> Response:
        """Every run, newest first."""
        return JsonResponse(await self._looked(lambda: summaries.list_runs(self._shelf)))

    async def shown(self, request: Request) -> Response:
        """A run as far as it has come; with If-None-Match, nothing where nothing is new."""
        run, state = await self._looked(lambda: self._found(request))
        headers = {"ETag": f'"{state.tag}"'}
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        async with self._turn:
            return JsonResponse(
                await self._looked(lambda: summaries.summarize_run(run, self._shelf, state)), headers=headers
            )

    async def samples(self, request: Request) -> Response:
        """The samples of an evaluation that meet what is asked of them."""
        start, limit = parse_number(request, "start", 0), min(parse_number(request, "limit", _SAMPLES), _MOST_SAMPLES)
        wanted = dict(request.query_params)

        def look() -> dict[str, Any]:
            run, state = self._found(request, RunKind.EVALUATION)
            found = [one for one in summaries.results(state).records if _meets(one, wanted)]
            part = found[start : start + limit]
            kept = _kept_of(part, self._shelf.journal(run))
            samples = [{**_plain(one), "kept": one.reading in kept} for one in part]
            return {"total": len(found), "start": start, "samples": samples}

        return JsonResponse(await self._looked(look))

    async def rollouts(self, request: Request) -> Response:
        """The rollouts that a training run kept of a step."""
        step = parse_number(request, "step", 0)

        def look() -> list[dict[str, Any]]:
            run, _ = self._found(request, RunKind.TRAINING)
            return [asdict(one) for one in summaries.rollouts(run, self._shelf) if one.step == step]

        return JsonResponse(await self._looked(look))

    async def reading(self, request: Request) -> Response:
        """A reading that a run kept, with what it earned."""
        to_json = reading_with_changes if wants_changes(request) else reading_to_json

        def look() -> dict[str, Any]:
            run, state = self._found(request)
            reading = self._kept(request, run, _reading)
            return {**to_json(reading), "run": _about(run), **self._earned(run, state, reading.id)}

        return JsonResponse(await self._looked(look))

    async def origins(self, request: Request) -> Response:
        """Where each line of its newest memory is from."""

        def look() -> list[dict[str, Any]]:
            run, _ = self._found(request)
            return self._kept(request, run, _origins)

        return JsonResponse(await self._looked(look))

    async def text(self, request: Request) -> Response:
        """A span of the text of a document that a run read."""

        def look() -> dict[str, Any]:
            run, _ = self._found(request)
            return self._kept(request, run, lambda asked, journal: text_span(asked, _document(asked, journal)))

        return JsonResponse(await self._looked(look))

    def _found(self, request: Request, kind: RunKind | None = None) -> tuple[RunFolder, FileState]:
        run = self._shelf.run(request.path_params["run"])
        state = self._shelf.file(run.records) if kind in {None, run.kind} else None
        if state is None:
            raise not_found(f"{kind or 'run'} of that name")
        return run, state

    def _kept(self, request: Request, run: RunFolder, look: Callable[[Request, Journal], _T]) -> _T:
        path = self._shelf.journal(run)
        if path is None:
            raise not_found(f"journal of {run.name}")
        with Journal(path, read_only=True) as journal:
            try:
                return look(request, journal)
            except JournalError as error:
                _log.info("a look into %s: %s", path, error)
                raise not_found("such reading or document that could be read in the run's own journal") from error

    def _earned(self, run: RunFolder, state: FileState, id_: str) -> dict[str, Any]:
        if run.kind is RunKind.TRAINING:
            found = [asdict(one) for one in summaries.rollouts(run, self._shelf) if one.reading == id_]
            return {"rollout": found[-1] if found else None}
        judged = [_plain(one) for one in summaries.results(state).records if one.reading == id_]
        return {"sample": judged[-1] if judged else None}

    async def _looked(self, look: Callable[[], _T]) -> _T:
        try:
            return await asyncio.to_thread(_mended(look))
        except ApiError:
            raise
        except BookwheelError as error:
            raise ApiError(422, self._shelf.told(error), kind="unreadable") from error


def _mended(look: Callable[[], _T]) -> Callable[[], _T]:
    """A run may be moved away while it is looked at."""

    @wraps(look)
    def looked() -> _T:
        try:
            return look()
        except OSError as error:
            raise not_found("run of that name any more") from error

    return looked


def _meets(one: Record, wanted: Mapping[str, str]) -> bool:
    """Whether a sample is of the model, way, task and length that are asked for, and, if that is asked, not right."""
    if wanted.get("wrong", "0") != "0" and one.score >= 1:
        return False
    named = [name for name in ("model", "way", "task", "length") if name in wanted]
    return all(str(getattr(one, name)) == wanted[name] for name in named)


def _plain(one: Record) -> dict[str, Any]:
    return {name: value for name, value in one.to_line().items() if name not in {"kind", "fingerprint"}}


def _kept_of(samples: Sequence[Record], path: Path | None) -> set[str]:
    """The samples' readings that the run's own journal has."""
    found: set[str] = set()
    if path is None:
        return found
    with Journal(path, read_only=True) as journal:
        for one in samples:
            with suppress(JournalError):
                journal.progress(one.reading)
                found.add(one.reading)
    return found


def _about(run: RunFolder) -> dict[str, str]:
    return {"run": run.id, "kind": str(run.kind), "name": run.name}


def _reading(request: Request, journal: Journal) -> Reading:
    found = journal.reading(request.path_params["id"])
    if found.id != request.path_params["id"]:
        raise not_found("reading of that name")
    return found


def _origins(request: Request, journal: Journal) -> list[dict[str, Any]]:
    reading = _reading(request, journal)
    return [asdict(line) for line in find_origins(reading.steps, journal.document_of(reading.id))]


def _document(request: Request, journal: Journal) -> Any:
    return journal.document(request.path_params["sha"])
