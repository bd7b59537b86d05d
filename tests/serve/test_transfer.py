"""How answers travel: compressed where it helps, at once where somebody waits, and not at all where nothing changed."""

from __future__ import annotations

import re

import pytest


@pytest.mark.parametrize("path", ["/", "/page/app.js", "/page/look.css"])
def test_page_files_come_compressed_and_are_asked_about_each_time(up, path: str) -> None:
    with up.client() as client:
        packed = client.get(path, headers={"Accept-Encoding": "gzip"})
        plain = client.get(path, headers={"Accept-Encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.num_bytes_downloaded < len(plain.content)
    assert packed.content == plain.content
    for answer in (packed, plain):
        assert answer.headers["cache-control"] == "no-cache"
        assert "Accept-Encoding" in answer.headers["vary"]


@pytest.mark.parametrize("path", ["/", "/page/app.js"])
def test_an_unchanged_page_file_is_not_sent_again(up, path: str) -> None:
    with up.client() as client:
        first = client.get(path)
        again = client.get(path, headers={"If-None-Match": first.headers["etag"]})
        other = client.get(path, headers={"If-None-Match": '"another"'})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["cache-control"] == "no-cache"
    assert "default-src 'none'" in again.headers["content-security-policy"]
    assert other.content == first.content


def test_a_browser_keeps_what_the_page_names_for_as_long_as_the_page_is_the_same(up) -> None:
    with up.client() as client:
        named = re.findall(r'"(/page/[^"]+)"', client.get("/").text)
        assert len({one.split("/")[2] for one in named}) == 1
        kept = client.get(next(one for one in named if one.endswith("app.js")))
        older = client.get("/page/0123456789ab/app.js")
    assert "immutable" in kept.headers["cache-control"]
    assert older.headers["cache-control"] == "no-cache"  # of a tab that was open before an update
    assert older.content == kept.content


@pytest.mark.slow
def test_json_comes_compressed_and_is_not_stored(up) -> None:
    id_ = up.begin()["reading"]
    up.events(id_)
    with up.client() as client:
        packed = client.get(f"/readings/{id_}", headers={"Accept-Encoding": "gzip"})
        plain = client.get(f"/readings/{id_}", headers={"Accept-Encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["cache-control"] == "no-store"
    assert packed.json() == plain.json()
    assert packed.num_bytes_downloaded < len(plain.content) / 3


@pytest.mark.slow
@pytest.mark.parametrize("stream", ["events", "chat"])
def test_events_are_never_held_back_to_be_compressed(serving, gated, words, stream: str) -> None:
    """The model is held after three calls: what the client has then came without waiting for the end."""
    model = gated()
    model.after(3)
    text, question = words
    with serving(model) as up, up.client(headers={"Accept-Encoding": "gzip"}) as client:
        body = {"model": "scripted", "stream": True}
        body["messages"] = [{"role": "user", "content": text}, {"role": "user", "content": question}]
        asked = (
            ("POST", "/v1/chat/completions", {"json": body})
            if stream == "chat"
            else ("GET", f"/readings/{up.begin()['reading']}/events", {})
        )
        mark = "reasoning_content" if stream == "chat" else "event: step"
        with client.stream(asked[0], asked[1], **asked[2]) as answer:
            assert "content-encoding" not in answer.headers
            lines = answer.iter_lines()
            for _ in range(3):
                next(line for line in lines if mark in line)
        model.after(10**9)
