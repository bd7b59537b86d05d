"""The verdict on an answer and the notes on its document are the same at every door."""

from __future__ import annotations

import asyncio
import json

import pytest

pytest.importorskip("mcp")

from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from bookwheel.claims import Verdict
from bookwheel.cli.options import OutputOptions
from bookwheel.cli.output import print_answer
from bookwheel.schema import to_plain
from bookwheel.views.html import render_fragment, render_page
from bookwheel.views.markdown import render_markdown
from bookwheel.views.verdicts import describe_claim, describe_judge

NOTE = "pages without text: 3 of a.pdf"


def ask_in_chat(up, text: str, question: str) -> tuple[dict, dict, dict]:
    """Return a chat completion, the last chunk of a streamed one, and a response."""
    messages = [{"role": "user", "content": text}, {"role": "user", "content": question}]
    body = {"model": "bookwheel/scripted", "messages": messages}
    with up.client() as client:
        whole = client.post("/v1/chat/completions", json=body).json()
        lines = client.post("/v1/chat/completions", json={**body, "stream": True}).text.splitlines()
        response = client.post("/v1/responses", json={"model": "bookwheel/scripted", "input": messages}).json()
    chunks = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    return whole, next(chunk for chunk in chunks if "claims" in chunk), response


def over_mcp(up, tool: str, **arguments: str) -> dict:
    async def main():
        async with Client(streamable_http_client(f"{up.url}/mcp")) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(main()).structured_content


@pytest.mark.slow
def test_the_verdict_is_the_same_at_every_door(serving, words, capsys) -> None:
    text, question = words
    with serving() as up:
        id_ = up.begin()["reading"]
        events = up.events(id_)
        reading = up.journal.reading(id_)
        with up.client() as client:
            record, listed = client.get(f"/readings/{id_}").json(), client.get("/readings").json()
        chats, state = ask_in_chat(up, text, question), over_mcp(up, "wait", reading=id_)
        entries = over_mcp(up, "timeline", reading=id_, part="claims")["claims"]
    claims = [to_plain(claim) for claim in reading.claims]
    assert reading.verdict is Verdict.QUOTED
    assert claims
    ended = next(values for kind, _, values in events if kind == "status")
    for door in (record, listed[0], ended, *chats):
        assert (door["verdict"], door["answers"], door["sign"]) == ("quoted", reading.answers, reading.sign)
        assert door["claims"] == claims
    for door in (record, ended, *chats):
        assert [piece["quote"] for piece in door["evidence"]] == [piece.quote for piece in reading.evidence]
    assert (state["verdict"], state["answers"], state["sign"]) == ("quoted", reading.answers, reading.sign)
    assert [(claim["text"], claim["verdict"], claim["judge"]) for claim in entries if "verdict" in claim] == [
        (claim["text"], claim["verdict"], "words") for claim in claims
    ]
    print_answer(reading, OutputOptions())
    printed = capsys.readouterr().err
    for door in (printed, render_page(reading), render_fragment(reading), render_markdown(reading)):
        assert all(describe_claim(claim) in door and describe_judge(claim) in door for claim in reading.claims)


@pytest.mark.slow
def test_the_notes_on_a_document_go_with_its_readings(serving, words, monkeypatch) -> None:
    text, question = words
    monkeypatch.setattr("bookwheel.documents.opening.TextDocument.notes", (NOTE,))
    with serving() as up:
        id_ = up.begin()["reading"]
        up.events(id_)
        reading = up.journal.reading(id_)
        with up.client() as client:
            record = client.get(f"/readings/{id_}").json()
        chats, state = ask_in_chat(up, text, question), over_mcp(up, "wait", reading=id_)
    assert reading.document.notes == (NOTE,)
    assert record["document"]["notes"] == state["notes"] == [NOTE]
    assert [chat["notes"] for chat in chats] == [[NOTE]] * 3
    assert NOTE in render_page(reading)
    assert NOTE in render_markdown(reading)
