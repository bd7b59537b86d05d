"""Runs over HTTP: evaluations with their samples, training runs with their rollouts, and the readings of both."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial, wraps
from pathlib import Path, PurePosixPath
from typing import Any, Final, NotRequired, TypeVar
from urllib.parse import quote

from pydantic import create_model
from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict  # pydantic cannot read that of typing before Python 3.12

from bookwheel.errors import BookwheelError, JournalError
from bookwheel.journal import Journal
from bookwheel.lab.desk import summaries
from bookwheel.lab.desk.bundle import DEFAULT_READINGS, build_bundle
from bookwheel.lab.desk.matrix import MatrixJson, build_matrix, matches_text
from bookwheel.lab.desk.run_directory import FileState, RunDirectory, RunFolder, RunKind
from bookwheel.lab.desk.summaries import EvaluationJson, ListedRunJson, RunHeadJson, SampleJson, TrainingJson
from bookwheel.lab.evaluation.records import Record
from bookwheel.lab.training.records import StoredRollout
from bookwheel.record import ReadingJson, reading_to_json
from bookwheel.schema import to_plain
from bookwheel.serve.engine.errors import ApiError, not_found
from bookwheel.serve.engine.service import Service
from bookwheel.serve.http.answers import JsonResponse
from bookwheel.serve.http.documents import TextSpanJson, slice_text
from bookwheel.serve.http.operations import SPAN, operation
from bookwheel.serve.http.requests import parse_flag, parse_number
from bookwheel.types import Reading
from bookwheel.verdict.provenance import LineOrigin, find_origins

_T = TypeVar("_T")
_MOST_SAMPLES: Final = 200
_DEFAULT_SAMPLES: Final = 50
_MOST_READINGS: Final = 1000
_FILTERS: Final = {
    **dict.fromkeys(("start", "limit", "wrong", "length"), int),
    **dict.fromkeys(("model", "way", "task", "search", "memory"), str),
}
_MATRIX_FILTERS: Final = {**_FILTERS, "mixed": int, "against": str}
StoredSampleJson: Any = create_model("StoredSampleJson", __base__=SampleJson, kept=(bool, ...))

_log: Final = logging.getLogger(__name__)


class SamplesJson(TypedDict):
    """A part of an evaluation's samples, each with `kept`: its reading is in the run's journal."""

    total: int
    start: int
    samples: list[StoredSampleJson]


class RunReadingJson(ReadingJson):
    """A reading from a run's journal, with its score or reward."""

    run: RunHeadJson
    sample: NotRequired[SampleJson | None]
    rollout: NotRequired[StoredRollout | None]


def in_thread(load: Callable[[RunRoutes, Request], Any]) -> Callable[[RunRoutes, Request], Awaitable[Response]]:
    """Answer with the JSON of what a method returns. It reads files, so it runs in a thread."""

    @wraps(load)
    async def answer(self: RunRoutes, request: Request) -> Response:
        return JsonResponse(await self.load(partial(load, self, request)))

    return answer


class RunRoutes:
    """One method for each operation."""

    def __init__(self, service: Service) -> None:
        self._directory = RunDirectory(service.settings.runs_folder)
        # The intervals of a report take seconds of one core: one report at a time.
        self._report_lock = asyncio.Lock()

    @operation("GET", "/runs", "List evaluations and training runs", list[ListedRunJson])
    @in_thread
    def list_runs(self, _request: Request) -> list[dict[str, Any]]:
        return summaries.list_runs(self._directory)

    @operation("GET", "/runs/{run}", "A run as far as it has come", EvaluationJson | TrainingJson)
    async def get_run(self, request: Request) -> Response:
        """Return a run, or 304 where the client's version is the newest."""
        run, state = await self.load(lambda: self._find_run(request))
        headers = {"ETag": state.etag}
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        async with self._report_lock:
            summary = await self.load(lambda: summaries.summarize_run(run, self._directory, state))
        return JsonResponse(summary, headers=headers)

    @operation("GET", "/runs/{run}/samples", "Its samples", SamplesJson, query=_FILTERS)
    @in_thread
    def list_samples(self, request: Request) -> dict[str, Any]:
        """List the samples of an evaluation that match the filters of the query."""
        (start, limit), filters = _parse_page(request), dict(request.query_params)
        run, state = self._find_run(request, RunKind.EVALUATION)
        matching = [sample for sample in summaries.load_results(state).records if _matches(sample, filters)]
        part = matching[start : start + limit]
        stored = _find_stored_readings(part, self._directory.find_journal(run))
        samples = [{**summaries.sample_to_json(sample), "kept": sample.reading in stored} for sample in part]
        return {"total": len(matching), "start": start, "samples": samples}

    @operation("GET", "/runs/{run}/matrix", "Samples against readers", MatrixJson, query=_MATRIX_FILTERS)
    @in_thread
    def get_matrix(self, request: Request) -> MatrixJson:
        """Return samples against readers, of this run or of this one and another."""
        (start, limit), filters = _parse_page(request), dict(request.query_params)
        ids = [request.path_params["run"], *([filters["against"]] if filters.get("against") else [])]
        runs = []
        for id_ in dict.fromkeys(ids):
            _, state = self._find(id_, RunKind.EVALUATION)
            records = [one for one in summaries.load_results(state).records if _has_names(one, filters)]
            runs.append((id_, records))
        return build_matrix(runs, start=start, limit=limit, filters=filters)

    @operation("GET", "/runs/{run}/page", "The run as one file", str, kind="text/html", query={"readings": int})
    async def get_page(self, request: Request) -> Response:
        """Return a run as one HTML file that needs no server."""
        readings = min(parse_number(request, "readings", DEFAULT_READINGS), _MOST_READINGS)

        def load() -> tuple[RunFolder, str]:
            run, _ = self._find_run(request)
            return run, build_bundle([(self._directory, run)], most_readings=readings).html

        async with self._report_lock:
            run, html = await self.load(load)
        name = quote(f"{PurePosixPath(run.name).name}.html", safe="")
        # As a download only: shown here, its scripts would run with the session of who opens it.
        headers = {"Content-Disposition": f"attachment; filename*=utf-8''{name}"}
        return Response(html, media_type="text/html", headers=headers)

    @operation("GET", "/runs/{run}/rollouts", "The rollouts of a step", list[StoredRollout], query={"step": int})
    @in_thread
    def list_rollouts(self, request: Request) -> list[dict[str, Any]]:
        """List the rollouts that a training run stored of one step."""
        step, (run, _) = parse_number(request, "step", 0), self._find_run(request, RunKind.TRAINING)
        return [asdict(one) for one in summaries.list_rollouts(run, self._directory) if one.step == step]

    @operation("GET", "/runs/{run}/readings/{id}", "A reading of the run", RunReadingJson, query={"changes": int})
    @in_thread
    def get_reading(self, request: Request) -> dict[str, Any]:
        """Return a reading of a run, with its sample or its rollout."""
        run, state = self._find_run(request)
        with self._open_journal(run) as journal:
            reading = _load_reading(request, journal)
        return {
            **reading_to_json(reading, changes=parse_flag(request, "changes")),
            "run": summaries.head_to_json(run),
            **summaries.find_score(run, self._directory, state, reading.id),
        }

    @operation("GET", "/runs/{run}/readings/{id}/origins", "The origins of its memory", list[LineOrigin])
    @in_thread
    def list_origins(self, request: Request) -> list[dict[str, Any]]:
        """List where each line of a reading's newest memory comes from."""
        run, _ = self._find_run(request)
        with self._open_journal(run) as journal:
            reading = _load_reading(request, journal)
            return [to_plain(line) for line in find_origins(reading.steps, journal.document_of(reading.id))]

    @operation("GET", "/runs/{run}/documents/{sha}/text", "A part of a text", TextSpanJson, query=SPAN)
    @in_thread
    def get_text(self, request: Request) -> TextSpanJson:
        """Return a span of the text of a document that a run read."""
        run, _ = self._find_run(request)
        with self._open_journal(run) as journal:
            return slice_text(request, journal.document(request.path_params["sha"]))

    def _find_run(self, request: Request, kind: RunKind | None = None) -> tuple[RunFolder, FileState]:
        return self._find(request.path_params["run"], kind)

    def _find(self, id_: str, kind: RunKind | None) -> tuple[RunFolder, FileState]:
        run = self._directory.get_run(id_)
        state = self._directory.check_file(run.records) if kind in {None, run.kind} else None
        if state is None:
            raise not_found(f"{kind or 'run'} of that name")
        return run, state

    @contextmanager
    def _open_journal(self, run: RunFolder) -> Iterator[Journal]:
        path = self._directory.find_journal(run)
        if path is None:
            raise not_found(f"journal of {run.name}")
        with Journal(path, read_only=True) as journal:
            try:
                yield journal
            except JournalError as error:
                _log.info("cannot read %s: %s", path, error)
                raise not_found("such reading or document that could be read in the run's own journal") from error

    async def load(self, load: Callable[[], _T]) -> _T:
        """Return what a function reads, in a thread; an ApiError says why it cannot be read."""
        try:
            return await asyncio.to_thread(load)
        except ApiError:
            raise
        except BookwheelError as error:
            raise ApiError(422, self._directory.describe_error(error), kind="unreadable") from error
        except OSError as error:  # a run may be moved away while it is read
            raise not_found("run of that name any more") from error


def _parse_page(request: Request) -> tuple[int, int]:
    """Return the first sample of a page and the most that it has."""
    limit = min(parse_number(request, "limit", _DEFAULT_SAMPLES), _MOST_SAMPLES)
    return parse_number(request, "start", 0), limit


def _matches(sample: Record, filters: Mapping[str, str]) -> bool:
    """Return whether a sample is wanted; `wrong` leaves out right answers."""
    if filters.get("wrong", "0") != "0" and sample.score >= 1:
        return False
    if (cause := filters.get("memory")) and sample.memory != cause:
        return False
    return _has_names(sample, filters) and matches_text(sample, filters.get("search", ""))


def _has_names(sample: Record, filters: Mapping[str, str]) -> bool:
    """Return whether a sample has the model, way, task and length of the filters."""
    names = [name for name in ("model", "way", "task", "length") if name in filters]
    return all(str(getattr(sample, name)) == filters[name] for name in names)


def _find_stored_readings(samples: Sequence[Record], path: Path | None) -> set[str]:
    """Return the ids of the samples' readings that the run's own journal holds."""
    stored: set[str] = set()
    if path is None:
        return stored
    with Journal(path, read_only=True) as journal:
        for sample in samples:
            with suppress(JournalError):
                journal.progress(sample.reading)
                stored.add(sample.reading)
    return stored


def _load_reading(request: Request, journal: Journal) -> Reading:
    reading = journal.reading(request.path_params["id"])
    # The journal also finds a reading by the beginning of its id.
    if reading.id != request.path_params["id"]:
        raise not_found("reading of that name")
    return reading
