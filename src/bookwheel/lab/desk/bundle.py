"""Runs as one HTML file to share: the page's own views with the data of the runs, opened without a server.

Browsers load no module from a file beside another. So every module goes into an import map as a data URL, and
`./name.js` becomes the bare name `bookwheel/name.js`, which data URLs can import. Data are compressed JSON in base64.
"""

import base64
import gzip
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from html import escape
from importlib import resources
from itertools import islice
from typing import Any, Final

from bookwheel.errors import InputError, JournalError
from bookwheel.journal import Journal
from bookwheel.lab.desk import summaries
from bookwheel.lab.desk.run_directory import FileState, RunDirectory, RunFolder, RunKind
from bookwheel.lab.evaluation.records import SampleOutcome
from bookwheel.record import reading_to_json
from bookwheel.text.sanitize import sanitize
from bookwheel.verdict.provenance import find_origins

DEFAULT_READINGS: Final = 100
# Documents of a million characters are read here; their texts would make a file that no mail takes.
_MOST_CHARACTERS: Final = 20_000_000
# A run in a file does not go on; this is beyond the time after which the page looks for news.
_LONG_QUIET: Final = 86_400.0
_FIRST_MODULE: Final = "shared-app.js"
_INSTEAD: Final = {"service.js": "shared.js"}
_STYLES: Final = ("look.css", "library.css", "workspace.css", "runs.css")
_IMPORT: Final = re.compile(r'(\bfrom |\bimport\(|^import )"\./([\w-]+\.js)"', re.MULTILINE)
_POLICY: Final = "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data:"
_PAGE: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{style}
</style>
<script type="importmap">{imports}</script>
</head>
<body>
<noscript><p>This page needs JavaScript. `bookwheel eval` writes a report without it: report.html</p></noscript>
<script type="application/octet-stream" id="data">{data}</script>
<script type="module">import "bookwheel/{first}";</script>
</body>
</html>
"""


@dataclass(kw_only=True, slots=True)
class _Content:
    """The data of a bundle, as shared.js reads them."""

    runs: list[dict[str, Any]] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    samples: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    rollouts: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    readings: dict[str, dict[str, Any]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """Runs in one HTML page."""

    html: str
    runs: int
    readings: int


def build_bundle(
    runs: Sequence[tuple[RunDirectory, RunFolder]], *, most_readings: int = DEFAULT_READINGS, title: str = ""
) -> Bundle:
    """Return a page with these runs, and with so many readings of each, the wrong and the newest first."""
    content = _Content()
    for number, (directory, run) in enumerate(runs, start=1):
        # Runs of two folders may have one id.
        _add_run(content, directory, replace(run, id=str(number)), most_readings)
    if not content.runs:
        raise InputError("there is no evaluation and no training run in this folder")
    html = _PAGE.format(
        policy=_POLICY,
        title=escape(sanitize(title or content.runs[0]["name"])),
        style="\n".join(_read_page_file(name) for name in _STYLES),
        imports=json.dumps({"imports": _import_map()}),
        data=_encode(gzip.compress(json.dumps(asdict(content)).encode())),
        first=_FIRST_MODULE,
    )
    return Bundle(html=html, runs=len(content.runs), readings=sum(map(len, content.readings.values())))


def _add_run(content: _Content, directory: RunDirectory, run: RunFolder, most_readings: int) -> None:
    state = directory.check_file(run.records)
    if state is None:
        return
    details = summaries.summarize_run(run, directory, state)
    details["quiet"] = max(_LONG_QUIET, details["quiet"])
    content.runs.append(summaries.summarize_entry(run, directory))
    content.details[run.id] = details
    stored: dict[str, Any] = {}
    content.readings[run.id] = stored
    wanted = _list_readings(run, directory, state)
    for id_, reading in islice(_stored_readings(content, directory, run, wanted), most_readings):
        reading["reading"] |= {"run": summaries.head_to_json(run), **summaries.find_score(run, directory, state, id_)}
        stored[id_] = reading
    if run.kind is RunKind.TRAINING:
        rollouts = [asdict(one) for one in summaries.list_rollouts(run, directory)]
        content.rollouts[run.id] = [
            {**one, "reading": one["reading"] if one["reading"] in stored else None} for one in rollouts
        ]
    else:
        samples = map(summaries.sample_to_json, summaries.load_results(state).records)
        content.samples[run.id] = [{**one, "kept": one["reading"] in stored} for one in samples]


def _list_readings(run: RunFolder, directory: RunDirectory, state: FileState) -> list[str]:
    """Return the ids of a run's readings in the order in which somebody will want to look at them."""
    if run.kind is RunKind.TRAINING:
        rollouts = sorted(summaries.list_rollouts(run, directory), key=lambda one: -one.step)
        return [one.reading for one in rollouts if one.reading]
    records = [one for one in summaries.load_results(state).records if one.reading]
    wrong_first = sorted(records, key=lambda one: (one.outcome is not SampleOutcome.SCORED, one.score))
    return [one.reading for one in wrong_first]


def _stored_readings(
    content: _Content, directory: RunDirectory, run: RunFolder, ids: Sequence[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the readings that the run's journal has and whose documents still fit, and add their texts."""
    path = directory.find_journal(run)
    if path is None:
        return
    with Journal(path, read_only=True) as journal:
        for id_ in dict.fromkeys(ids):
            with suppress(JournalError):
                reading = journal.reading(id_)
                document = journal.document_of(id_)
                sha, text = reading.document.id, document.slice(0, reading.document.length)
                held = sum(map(len, content.texts.values()))
                if sha not in content.texts and held + len(text) > _MOST_CHARACTERS:
                    continue
                content.texts[sha] = text
                origins = [asdict(line) for line in find_origins(reading.steps, document)]
                yield id_, {"reading": reading_to_json(reading, changes=True), "origins": origins}


def _import_map() -> dict[str, str]:
    """Return the modules that the first one needs, each under its bare name."""
    modules: dict[str, str] = {}
    wanted = [_FIRST_MODULE]
    wheel = f"data:image/svg+xml;base64,{_encode(_read_page_file('wheel.svg').encode())}"
    while wanted:
        name = wanted.pop()
        if f"bookwheel/{name}" in modules:
            continue
        code = _read_page_file(_INSTEAD.get(name, name)).replace("/page/wheel.svg", wheel)
        wanted += [found[1] for found in _IMPORT.findall(code)]
        bare = _IMPORT.sub(r'\1"bookwheel/\2"', code)
        modules[f"bookwheel/{name}"] = f"data:text/javascript;base64,{_encode(bare.encode())}"
    return modules


def _read_page_file(name: str) -> str:
    return (resources.files("bookwheel") / "serve" / "page" / name).read_text(encoding="utf-8")


def _encode(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
