"""A question for a list, answered from a memory that was full: every door says so, and where every item is to be had."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("mcp")
pytest.importorskip("starlette")

from loopback_server import serving  # noqa: F401 - a fixture
from mcp_service import call, client_of

from bookwheel import list_cautions, read
from bookwheel.cli.main import main
from bookwheel.journal import Journal
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.views.html import render_page
from bookwheel.views.markdown import render_markdown

QUESTION = "List all tenants."
PLAN = Plan(chunk_tokens=40, memory_tokens=12, answer_tokens=30, question_tokens=40)
TEXT = "".join(f"Tenant {n} signed the lease on day {n} of the year and paid for it.\n" for n in range(40))
SAID = (
    re.compile(r"the memory of 12 tokens was (?:full|filled to (?:9\d|100)%)"),
    re.compile("bookwheel collect SOURCE"),
)


def make_model() -> ScriptedModel:
    def reply(messages) -> str:
        text = messages[-1].content
        if text.rstrip().endswith("Changes:"):
            return "".join(f"ADD: Tenant {n} has signed\n" for n in range(9))
        return "Tenant 1, Tenant 2. " * 9 if "<section>" in text else "\\boxed{Tenant 1, Tenant 2}"

    return ScriptedModel(reply, plan=PLAN, window=400)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    async def open_model(*_words: object, **_settings: object) -> ScriptedModel:
        return make_model()

    monkeypatch.setattr("bookwheel.models.registry.open_model", open_model)
    (tmp_path / "lease.txt").write_text(TEXT)
    return tmp_path


def says_it(text: str) -> bool:
    return all(words.search(" ".join(text.split())) for words in SAID)


def says_it_alone(text: str) -> bool:
    """Return whether a text has the fact, and no advice for a command line that its reader does not have."""
    return [bool(words.search(text)) for words in SAID] == [True, False] and "--" not in text


@pytest.mark.parametrize("way", ["sequential", "auto"])
def test_the_command_says_it_in_words_and_in_json(here: Path, way: str, capsys) -> None:
    words = [
        "ask",
        str(here / "lease.txt"),
        QUESTION,
        "--model",
        "scripted",
        "--journal",
        str(here / "j"),
        "--way",
        way,
    ]
    for more in ([], ["--quiet"], ["--json"]):
        with pytest.raises(SystemExit) as ended:
            main([*words, *more])
        assert ended.value.code == 5 or way == "auto"  # What edits leave out by choice is no gap.
        shown = capsys.readouterr()
        if more == ["--json"]:
            cautions = json.loads(shown.out)["cautions"]
            assert cautions[0]["kind"] == "list"
            assert says_it(cautions[0]["text"])
        else:
            assert says_it(shown.err)


def test_python_batch_and_files_say_it(here: Path) -> None:
    reading = read(str(here / "lease.txt"), QUESTION, model="scripted", journal=here / "j", way="auto")
    assert says_it(list_cautions(reading)[0].text)
    assert says_it(render_markdown(reading))
    assert says_it(render_page(reading))
    (here / "rows.jsonl").write_text(json.dumps({"source": "lease.txt", "question": QUESTION}) + "\n")
    words = ["batch", str(here / "rows.jsonl"), "--out", str(here / "out.jsonl"), "--model", "scripted", "--quiet"]
    with pytest.raises(SystemExit):
        main([*words, "--journal", str(here / "j"), "--way", "sequential"])
    assert says_it(json.loads((here / "out.jsonl").read_text())["notes"])


def test_an_agent_is_told_it(here: Path) -> None:
    async def ask() -> dict:
        async with client_of(here, make_model(), plan=PLAN) as client:
            begun = await call(client, "read", text=TEXT, question=QUESTION, way="sequential", plan={})
            return await call(client, "wait", reading=begun["reading"])

    assert says_it_alone(" ".join(asyncio.run(ask())["notes"]))


@pytest.mark.slow  # a real server
def test_http_and_chats_say_it(serving) -> None:  # noqa: F811
    body = {"messages": [{"role": "user", "content": QUESTION}], "document": TEXT, "way": "sequential"}
    with serving(make_model()) as up, up.client() as client:
        name = client.get("/v1/models").json()["data"][0]["id"]
        begun = client.post("/readings", json={"text": TEXT, "question": QUESTION, "way": "sequential"}).json()
        up.events(begun["reading"])
        assert says_it(client.get(f"/readings/{begun['reading']}").json()["cautions"][0]["text"])
        whole = client.post("/v1/chat/completions", json={**body, "model": name}).json()
        assert says_it_alone(whole["choices"][0]["message"]["content"])
        assert says_it_alone(" ".join(whole["notes"]))
        with client.stream("POST", "/v1/chat/completions", json={**body, "model": name, "stream": True}) as streamed:
            lines = [line[6:] for line in streamed.iter_lines() if line.startswith("data: {")]
        deltas = [choice["delta"] for line in lines for choice in json.loads(line)["choices"]]
        assert says_it_alone("".join(delta.get("content") or "" for delta in deltas))
        # A program that reads the answer by a schema gets it alone, and the notes beside it.
        kind = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}
        plain = client.post("/v1/chat/completions", json={**body, "model": name, "response_format": kind})
        assert "bookwheel collect" not in json.dumps(plain.json().get("choices", ""))


def test_what_one_call_or_a_table_answers_has_no_caution(here: Path) -> None:
    whole = ScriptedModel(lambda _: "\\boxed{Tenant 1}", window=8192)
    reading = read(str(here / "lease.txt"), QUESTION, model=whole, journal=here / "j")
    assert (reading.way, list_cautions(reading)) == ("whole", ())
    with Journal(here / "j") as store:
        assert store.readings()


def test_what_the_document_does_not_say_is_no_list(here: Path) -> None:
    plan = replace(PLAN, memory_tokens=40)
    model = ScriptedModel(lambda _messages: "The document does not say.", plan=plan, window=400)
    reading = read(str(here / "lease.txt"), "How many sailors paid the rent?", model=model, journal=here / "j")
    assert (reading.verdict, list_cautions(reading)) == ("absent", ())
