"""Files inside the messages of a chat are read as uploads are, and never twice."""

from __future__ import annotations

import base64
import io

import pytest
from loopback_server import FACT, QUESTION, TEXT
from openai import BadRequestError, OpenAI
from PIL import Image, ImageDraw, ImageFont

from bookwheel.journal.shelf import Reach
from bookwheel.serve.openai.chat import _has_one_text
from bookwheel.serve.openai.conversation import parse_messages
from bookwheel.serve.openai.requests import MessageShape

USER = "user"
HTML = f"<html><body><h1>Notes</h1><p>{FACT}</p><p>{'Rain fell. ' * 200}</p></body></html>"


def encode(text: str, kind: str = "") -> str:
    data = base64.b64encode(text.encode()).decode()
    return f"data:{kind};base64,{data}" if kind else data


def file_part(text: str, kind: str = "", **more: str) -> dict:
    return {"type": "file", "file": {"file_data": encode(text, kind), **more}}


@pytest.fixture
def ai(up):
    with OpenAI(base_url=f"{up.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def ask(ai, *parts: dict, question: str = QUESTION):
    content = [*parts, {"type": "text", "text": question}]
    return ai.chat.completions.create(model="scripted", messages=[{"role": USER, "content": content}])


@pytest.mark.parametrize("part", [file_part(HTML, "text/html"), file_part(HTML, filename="notes.html")])
def test_a_file_of_a_message_is_converted_and_read(up, ai, part) -> None:
    said = ask(ai, part)
    assert "Ada Quill" in said.choices[0].message.content
    document = up.journal.document_of(said.reading)
    assert "<p>" not in document.slice(0, document.length)
    assert ask(ai, part).reading != said.reading
    assert len(up.journal.shelf.list_documents(Reach())) == 1


def test_several_files_are_one_document(up, ai) -> None:
    said = ask(ai, file_part("Bo Fell lights the lamp. " * 90, filename="a.txt"), file_part(TEXT, filename="b.txt"))
    document = up.journal.document_of(said.reading)
    assert {part.source for part in document.parts()} == {"a.txt", "b.txt"}


def test_a_file_that_comes_with_every_turn_is_the_same_document(up, ai) -> None:
    part = file_part(TEXT, filename="notes.txt")
    first = ask(ai, part)
    turn = {"role": USER, "content": [part, {"type": "text", "text": QUESTION}]}
    answer = {"role": "assistant", "content": first.choices[0].message.content}
    again = {"role": USER, "content": [part, {"type": "text", "text": "Which bird circles over the pier?"}]}
    second = ai.chat.completions.create(model="scripted", messages=[turn, answer, again])
    documents = [up.journal.document_of(said.reading).id for said in (first, second)]
    assert documents[0] == documents[1]


def test_the_responses_api_takes_files_too(up, ai) -> None:
    part = {"type": "input_file", "filename": "notes.txt", "file_data": encode(TEXT, "text/plain")}
    asked = [{"role": USER, "content": [part, {"type": "input_text", "text": QUESTION}]}]
    assert "Ada Quill" in ai.responses.create(model="scripted", input=asked).output_text


@pytest.mark.parametrize("data", ["", "no base64!", "data:text/plain;base64,"])
def test_what_is_no_file_is_refused_by_name(ai, data) -> None:
    with pytest.raises(BadRequestError, match="file_data is the file in base64"):
        ask(ai, {"type": "file", "file": {"file_data": data}})


def test_a_chat_never_renames_an_uploaded_document(up, ai) -> None:
    with up.client() as client:
        sha = client.post("/documents", content=TEXT, headers={"x-filename": "lease.txt"}).json()["document"]
        said = ai.chat.completions.create(
            model="scripted", messages=[{"role": USER, "content": QUESTION}], extra_body={"document": TEXT}
        )
        for part in (file_part(TEXT, "text/plain"), file_part(TEXT, filename="other.txt")):
            ask(ai, part)
        client.post("/readings", json={"question": QUESTION, "text": TEXT}).raise_for_status()
        assert client.get(f"/documents/{sha}").json()["name"] == "lease.txt"
    assert up.journal.reading(said.reading).document.name == "lease.txt"


def test_a_conversation_that_is_read_is_named_by_its_question(up, ai) -> None:
    turns = [{"role": (USER, "assistant")[at % 2], "content": f"{FACT}Turn {at}."} for at in range(80)]
    said = ai.chat.completions.create(model="scripted", messages=[*turns, {"role": USER, "content": QUESTION}])
    assert up.journal.reading(said.reading).document.name == QUESTION


def picture_part(words: str = "") -> dict:
    picture = Image.new("RGB", (640, 120), "white")
    pen = ImageDraw.Draw(picture)
    pen.rectangle((4, 4, 60, 110), fill="navy")
    pen.text((90, 40), words, fill="black", font=ImageFont.load_default(36))
    content = io.BytesIO()
    picture.save(content, "PNG")
    data = base64.b64encode(content.getvalue()).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def test_a_picture_of_a_message_is_read_by_its_words_and_kept(up, ai) -> None:
    pytest.importorskip("rapidocr")
    said = ask(ai, picture_part("The pilot is Ada Quill"), question="Who is the pilot?")
    document = up.journal.document_of(said.reading)
    assert "Ada Quill" in document.slice(0, document.length)
    assert [one.label for one in document.list_pictures()] == ["page 1, figure 1"]


@pytest.mark.parametrize("has_picture", [False, True])
def test_a_question_with_a_picture_has_something_to_read(*, has_picture: bool) -> None:
    parts = [{"type": "text", "text": "Who is the pilot?"}, *([picture_part()] if has_picture else [])]
    assert _has_one_text(parse_messages([MessageShape(role=USER, content=parts)])) is not has_picture


def test_pictures_beside_a_long_text_are_read_behind_it(up, ai) -> None:
    text = {"type": "text", "text": "The ferry came and went. " * 300}
    said = ask(ai, text, picture_part(), picture_part("Pier"), question="Who is the pilot?")
    document = up.journal.document_of(said.reading)
    assert next(part.source for part in document.parts() if part.source) == "1-text.txt"
    assert [one.source for one in document.list_pictures()] == ["picture-01.png", "picture-02.png"]


def test_uploaded_files_are_listed_and_give_their_text(ai) -> None:
    names = [f"{name}.txt" for name in "abc"]
    made = [ai.files.create(file=(name, io.BytesIO(name.encode())), purpose="user_data") for name in names]
    assert [file.filename for file in ai.files.list(limit=2)] == names[::-1]
    assert ai.files.retrieve(made[0].id).created_at == made[0].created_at > 1_700_000_000
    assert ai.files.content(made[1].id).text == "b.txt"
    assert ai.files.list(limit=1).has_more
