"""The API stands whatever is sent to it, and its description is true of every answer that it gives."""

from __future__ import annotations

from copy import deepcopy

import pytest
from graph_model import make_graph_model, write_facts
from hypothesis import HealthCheck, Phase, given, settings
from scanned_page import PICTURE, SHA256, Scan

from bookwheel.models.scripted import keyword_judge, keyword_likelihood
from bookwheel.serve.app import build_openapi
from bookwheel.serve.engine.settings import ServerSettings

MILD = settings(
    max_examples=4, deadline=None, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_no_request_made_from_the_description_breaks_the_server(up) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    seen = set()
    schema = schemathesis.openapi.from_dict(build_openapi())
    for operation in (found.ok() for found in schema.get_all_operations()):

        @MILD
        @given(case=operation.as_strategy())
        def send(case) -> None:
            # A picture starts the recogniser, which takes its time on a busy machine.
            answer = case.call(base_url=up.url, timeout=60)
            seen.add((case.operation.path, answer.status_code))
            assert answer.status_code < 500, (case.operation.label, answer.text)
            if answer.status_code >= 400 and answer.headers.get("content-type") == "application/json":
                assert answer.json()["error"], case.operation.label

        send()
    assert {path for path, _ in seen} == set(build_openapi()["paths"])
    assert {200, 201} & {status for path, status in seen if path == "/readings"}


def test_generated_clients_find_the_names_that_they_know() -> None:
    names = {"CollectionJson", "LabelJson", "NewestJson", "ShelfJson", "ShelvedDocumentJson", "SynthesisSentenceJson"}
    schemas = build_openapi()["components"]["schemas"]
    assert {schemas[name]["title"] for name in (*names, "WrittenSentence")} == {*names, "WrittenSentence"}
    assert not {"CollectionCount", "Label", "NewestQuestion", "ShelfCounts", "ShelvedDocument"} & {*schemas}
    for order in ("ReportShape", "MatrixShape"):
        assert "the same again returns how far it is" in schemas[order]["description"]


def strict(document: dict) -> dict:
    """The document with every object closed, so that a key which no schema names is an error."""
    document = deepcopy(document)
    todo = [document["components"]["schemas"]]
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            # The types of OpenAI's SDK are open.
            if isinstance(node.get("properties"), dict) and node.get("additionalProperties", True) is True:
                node["additionalProperties"] = False
            todo.extend(node.values())
        elif isinstance(node, list):
            todo.extend(node)
    return document


class Described:
    """A client that checks each answer against the description, and remembers which operations it has seen succeed."""

    def __init__(self, client) -> None:
        self._client, self._document = client, strict(build_openapi())
        self.seen: set[tuple[str, str]] = set()

    def __call__(self, method: str, path: str, *, status: int = 200, query: str = "", **given):
        names = {name: given.pop(name) for name in ("id", "sha", "sha256", "run", "name", "number") if name in given}
        answer = self._client.request(method, path.format(**names) + query, **given)
        assert answer.status_code == status, (method, path, answer.text)
        operation = self._document["paths"][path][method.lower()]
        described = operation["responses"].get(str(status), operation["responses"]["default"])
        kinds = described.get("content", {})
        if not kinds:
            assert answer.content == b""
        else:
            kind = answer.headers["content-type"].partition(";")[0]
            assert kind in kinds, (method, path, kind)
            if kind == "application/json":
                self._validate(answer.json(), kinds[kind]["schema"], f"{method} {path}")
        if status < 400:
            self.seen.add((method, path))
        return answer

    def _validate(self, value: object, schema: dict, label: str) -> None:
        jsonschema = pytest.importorskip("jsonschema")
        whole = {**schema, "components": self._document["components"]}
        errors = [f"{'.'.join(map(str, error.path))}: {error.message}" for error in _errors(jsonschema, whole, value)]
        assert not errors, (label, errors[:3])


def _errors(jsonschema, schema: dict, value: object) -> list:
    return list(jsonschema.Draft202012Validator(schema).iter_errors(value))


@pytest.mark.slow
def test_every_answer_is_as_the_description_says(serving, gated, runs, words, tmp_path) -> None:
    (text, question), model = words, gated(likelihood=keyword_likelihood, judge=keyword_judge, window=460)
    with serving(model, settings=ServerSettings(runs_folder=runs)) as up, up.client() as client:
        ask = Described(client)
        document = ask("POST", "/documents", status=201, content=text.encode()).json()["document"]
        ask("GET", "/documents/{sha}/text", sha=document, query="?start=2&end=20")
        id_ = ask("POST", "/readings", status=201, json={"question": question, "document": document}).json()["reading"]
        up.events(id_)
        several = {"questions": [question, "Why?"], "document": document}
        for reading in ask("POST", "/readings", status=201, json=several).json()["readings"]:
            up.events(reading["reading"])
        for path in ("/readings/{id}/events", "/readings/{id}", "/readings/{id}/origins", "/readings"):
            ask("GET", path, id=id_)
        ask("POST", "/readings/{id}/worth", id=id_)
        ask("POST", "/readings/{id}/judge", id=id_)
        _ask_shelf(ask, document)
        ask("GET", "/documents/{sha}", sha=document)
        ask("GET", "/documents/{sha}/find", sha=document, query="?text=pier")
        ask("GET", "/documents/{sha}/outline", sha=document)
        ask("GET", "/documents/{sha}/places", sha=document, query="?start=0&end=20")
        _ask_pages(ask, tmp_path, up.journal)
        ask("GET", "/search", query="?query=harbour")
        ask("PATCH", "/readings/{id}", id=id_, json={"starred": True})
        ask("GET", "/readings")
        ask("GET", "/readings/{id}/export", id=id_)
        ask("GET", "/readings/{id}/calls/{number}", id=id_, number="0")
        unread = ask("POST", "/documents", status=201, content=b"nobody asks about this").json()["document"]
        ask("DELETE", "/documents/{sha}", sha=unread, status=204)
        edited = {"step": 2, "memory": "The harbour master is Bo Lind."}
        fork = ask("POST", "/readings/{id}/fork", status=201, id=id_, json=edited).json()["reading"]
        up.events(fork)
        ask("GET", "/readings/{id}", id=fork, query="?changes=1")
        stopped = up.begin(plan={"budget": {"tokens": 600}})["reading"]
        up.events(stopped)
        ask("GET", "/readings/{id}", id=stopped)
        ask("POST", "/readings/{id}/resume", id=stopped, json={"plan": {"budget": {"tokens": 100_000}}})
        ask("POST", "/readings/{id}/cancel", id=stopped)
        ask("DELETE", "/readings/{id}", status=204, id=fork)
        for path in ("/models", "/healthz", "/metrics", "/v1/models"):
            ask("GET", path)
        _ask_openai(ask, text, question)
        _ask_runs(ask)
        _ask_rows(ask, up)
        _ask_memories(ask, up)
        ask("GET", "/readings/{id}", status=404, id="nothing")
        ask("POST", "/readings", status=400, json={"question": "Q?", "text": "x", "plan": {"chunk_tokens": "many"}})
        ask("POST", "/v1/chat/completions", status=400, json={"model": "scripted", "messages": []})
        ask("POST", "/session", status=401, json={"key": "wrong"})
    ask.seen |= _ask_graphs(serving)
    described = {(method.upper(), path) for path, found in build_openapi()["paths"].items() for method in found}
    # The first succeeds only where keys are, without a body to check; this model has no embeddings, finds no rows,
    # proposes no outline and writes no SQL.
    unseen = {
        ("POST", "/session"),
        ("POST", "/v1/embeddings"),
        ("PATCH", "/readings/{id}/rows"),
        ("POST", "/outlines"),
        ("POST", "/readings/{id}/rows"),
    }
    assert described - ask.seen == unseen


def _ask_shelf(ask: Described, document: str) -> None:
    ask("GET", "/documents")
    ask("PATCH", "/documents", json={"documents": [document], "starred": True, "add": "Harbours"})
    ask("GET", "/documents", query="?sort=name&collection=Harbours")
    ask("GET", "/shelf")
    ask("PATCH", "/documents/{sha}", sha=document, json={"name": "The pier"})


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/documents", {"search", "sort", "type", "collection", "starred", "after", "limit", "offset"}),
        ("/documents/{sha}/text", {"sha", "start", "end"}),
        ("/documents/{sha}/find", {"sha", "text", "start", "limit"}),
        ("/search", {"query", "limit"}),
        ("/readings", {"search", "document", "limit", "offset", "before", "way"}),
        ("/readings/{id}/events", {"id", "changes", "live", "Last-Event-ID"}),
        ("/readings/{id}/export", {"id", "format"}),
    ],
)
def test_the_parameters_that_are_read_are_described(path: str, names: set[str]) -> None:
    described = build_openapi()["paths"][path]["get"]["parameters"]
    assert {one["name"] for one in described} == names


def test_a_request_that_was_sent_before_has_its_status_too() -> None:
    assert set(build_openapi()["paths"]["/readings"]["post"]["responses"]) == {"200", "201", "default"}


def _ask_pages(ask, folder, journal) -> None:
    canvas = pytest.importorskip("reportlab.pdfgen.canvas").Canvas(str(folder / "log.pdf"))
    canvas.drawString(72, 720, "The lamp burned all winter.")
    canvas.save()
    content, named = (folder / "log.pdf").read_bytes(), {"X-Filename": "log.pdf"}
    sha = ask("POST", "/documents", status=201, content=content, headers=named).json()["document"]
    ask("GET", "/documents/{sha}/pages/{number}", sha=sha, number="1")
    ask("GET", "/documents/{sha}/original", sha=sha)
    ask("GET", "/documents/{sha}/pages/{number}", status=404, sha=sha, number="7")
    drawn = pytest.importorskip("drawn")
    pictured = journal.keep(drawn.Log(drawn.make_picture(1, "red"))).id
    ask("GET", "/documents/{sha}/pictures", sha=pictured, query="?label=page 1, figure 1")


def _ask_memories(ask: Described, up) -> None:
    up.journal.keep(Scan())
    ask("POST", "/memories", status=201, json={"name": "ada", "about": "Everything about Ada Quill"})
    ask("GET", "/memories")
    ask("POST", "/memories/{name}/texts", name="ada", json={"text": "Ada Quill keeps the light.", "source": "mail-1"})
    taken = {"text": "Ada Quill wound the clock.", "source": "mail-2"}
    ask("POST", "/memories/{name}/texts", name="ada", status=202, query="?wait=0", json=taken)
    ask("POST", "/memories/{name}/texts", name="ada", json={"document": SHA256})
    ask("GET", "/memories/{name}/pictures/{sha256}", name="ada", sha256=PICTURE.sha256)
    ask("POST", "/memories/{name}/questions", name="ada", json={"question": "Who keeps the light?"})
    ask("POST", "/memories/{name}/edits", name="ada", json={"new": "Ada Quill kept the light."})
    ask("GET", "/memories/{name}", name="ada", query="?version=1")
    ask("GET", "/memories/{name}/log", name="ada")
    ask("GET", "/memories/{name}/diff", name="ada", query="?from=0&to=1")
    ask("POST", "/memories/{name}/forgets", name="ada", json={"source": "mail-1", "preview": True})
    ask("POST", "/memories/{name}/forgets", name="ada", json={"source": "mail-1"})
    seen = {"command": "view", "path": "/memories"}
    ask("POST", "/memories/{name}/files", name="ada", json=seen)
    ask("GET", "/memories/{name}/export", name="ada")
    ask("PATCH", "/memories/{name}", name="ada", json={"name": "bo"})
    ask("DELETE", "/memories/{name}", name="bo", status=204)


def _ask_openai(ask: Described, text: str, question: str) -> None:
    ask("GET", "/v1/models/{name}", name="bookwheel/scripted")
    ask("POST", "/v1/completions", json={"model": "scripted", "prompt": "Hello there"})
    ask("GET", "/api/tags")
    ask("GET", "/api/version")
    ask("POST", "/api/show", json={"model": "scripted"})
    file = ask("POST", "/v1/files", files={"file": ("a.txt", text.encode())}).json()["id"]
    ask("GET", "/v1/files/{id}", id=file)
    ask("GET", "/v1/files")
    ask("GET", "/v1/files/{id}/content", id=file)
    other = ask("POST", "/v1/files", files={"file": ("b.txt", b"Bo pays.")}).json()["id"]
    assert ask("DELETE", "/v1/files/{id}", id=other).json()["deleted"]
    ask("GET", "/v1/files/{id}", id=other, status=404)
    short = [{"role": "user", "content": "Hello there"}]
    long = [{"role": "user", "content": text}, {"role": "user", "content": question}]
    for messages in (short, long):
        ask("POST", "/v1/chat/completions", json={"model": "scripted", "messages": messages})
        ask("POST", "/v1/messages", json={"model": "scripted", "max_tokens": 40, "messages": messages})
        ask("POST", "/v1/messages/count_tokens", json={"model": "scripted", "messages": messages})
        ask("POST", "/api/chat", json={"model": "scripted", "messages": messages, "stream": False})
        kept = ask("POST", "/v1/responses", json={"model": "scripted", "input": messages}).json()["id"]
        ask("GET", "/v1/responses/{id}", id=kept)
        ask("DELETE", "/v1/responses/{id}", id=kept)


def _ask_rows(ask: Described, up) -> None:
    body = {"text": "Ada pays 5 crowns.", "question": "every payment: who, amount", "way": "collect"}
    id_ = ask("POST", "/readings", status=201, json=body).json()["reading"]
    up.events(id_)
    ask("GET", "/readings/{id}/rows", id=id_)
    document = ask("POST", "/documents", status=201, content=b"Ada pays 5 crowns.").json()["document"]
    outline = "# Payments\n\n## Who pays\nevery payment: who, amount"
    order = {"brief": "what is paid", "outline": outline, "documents": [document], "wait": 20}
    assert ask("POST", "/reports", json=order).json()["status"] == "written"
    ask("POST", "/reports", status=400, json={**order, "outline": "none"})
    ask("POST", "/outlines", status=400, json={"brief": "what is paid"})
    ask("POST", "/readings/{id}/rows", status=400, id=id_, json={"question": "how many?"})
    matrix = {"questions": ["Who pays?", "How much?"], "documents": [document], "wait": 20}
    assert ask("POST", "/matrices", json=matrix).json()["status"] == "written"
    ask("POST", "/matrices", status=404, json={**matrix, "documents": ["0" * 64]})


def _ask_graphs(serving) -> set[tuple[str, str]]:
    # A graph's columns need a larger window than the others.
    with serving(make_graph_model(), "graphs") as up, up.client() as client:
        ask = Described(client)
        id_ = ask("POST", "/graphs", status=201, json={"text": write_facts()}).json()["reading"]
        up.events(id_)
        assert ask("GET", "/readings/{id}/graph", id=id_).json()["facts"]
    return ask.seen


def _ask_runs(ask: Described) -> None:
    listed = {run["name"]: run["run"] for run in ask("GET", "/runs").json()}
    evaluation, training = listed["first"], listed["deep/tiny"]
    for run in listed.values():
        ask("GET", "/runs/{run}", run=run)
        ask("GET", "/runs/{run}/page", run=run)
    samples = ask("GET", "/runs/{run}/samples", run=evaluation).json()["samples"]
    ask("GET", "/runs/{run}/matrix", run=evaluation)
    reading = next(sample["reading"] for sample in samples if sample["kept"])
    sha = ask("GET", "/runs/{run}/readings/{id}", run=evaluation, id=reading).json()["document"]["id"]
    ask("GET", "/runs/{run}/readings/{id}/origins", run=evaluation, id=reading)
    ask("GET", "/runs/{run}/documents/{sha}/text", run=evaluation, sha=sha)
    rollouts = ask("GET", "/runs/{run}/rollouts", run=training).json()
    stored = next((one["reading"] for one in rollouts if one["reading"]), None)
    if stored:
        ask("GET", "/runs/{run}/readings/{id}", run=training, id=stored)


STONES = """
from starlette.responses import JSONResponse
from bookwheel.serve.http.operations import operation
from bookwheel.serve.http.requests import Body

class StoneShape(Body):
    weight: int

class StoneRoutes:
    def __init__(self, service):
        self._service = service

    @operation("GET", "/stones/{stone}", "A stone", dict[str, int], query={"side": str})
    async def get_stone(self, request):
        return JSONResponse({request.path_params["stone"]: len(self._service.models)})

    @operation("POST", "/stones", "Lay a stone", status=201)
    async def lay_stone(self, request, body: StoneShape) -> dict[str, int]:
        return {"laid": body.weight}

    @operation("DELETE", "/stones", "Clear them", status=204)
    async def clear_stones(self, request) -> JSONResponse:
        return JSONResponse(None, 204)
"""


def test_another_package_adds_operations_that_are_served_and_described(serving, register) -> None:
    register("stones", "bookwheel.routes", "stones = stones:StoneRoutes", STONES)
    build_openapi.cache_clear()
    try:
        with serving() as up, up.client() as client:
            assert client.get("/stones/flint").json() == {"flint": 1}
            laid, wrong = (client.post("/stones", json=body) for body in ({"weight": 3}, {"weight": "much"}))
            assert (laid.status_code, laid.json(), wrong.status_code) == (201, {"laid": 3}, 400)
            paths = client.get("/openapi.json").json()["paths"]
            described = paths["/stones/{stone}"]["get"]
    finally:
        build_openapi.cache_clear()
    assert "content" not in paths["/stones"]["delete"]["responses"]["204"]
    schema = paths["/stones"]["post"]["responses"]["201"]["content"]["application/json"]["schema"]
    assert schema["additionalProperties"] == {"type": "integer"}
    assert described["summary"] == "A stone"
    assert [(one["name"], one["in"]) for one in described["parameters"]] == [("stone", "path"), ("side", "query")]


def test_no_json_answer_is_described_as_a_bare_object() -> None:
    document = build_openapi()
    bare = []
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for status, response in operation["responses"].items():
                schema = response.get("content", {}).get("application/json", {}).get("schema")
                if schema and not _is_told(schema, document["components"]["schemas"]):
                    bare.append((method, path, status))
    assert bare == []


def _is_told(schema: dict, components: dict) -> bool:
    if "$ref" in schema:
        return _is_told(components[schema["$ref"].rpartition("/")[2]], components)
    if "anyOf" in schema:
        return all(_is_told(one, components) for one in schema["anyOf"])
    if schema["type"] == "array":
        return _is_told(schema["items"], components)
    return bool(schema.get("properties"))
