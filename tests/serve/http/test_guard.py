"""Who may call: names, origins, sizes, paths, addresses; and what never shows in answers. Keys: test_keys.py."""

from __future__ import annotations

import http.server
import io
import logging
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bookwheel.serve.engine.documents import safe_name
from bookwheel.serve.engine.settings import LOOPBACK, Limits, ServerSettings


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "", "evil/../localhost"]
)
def test_a_foreign_name_that_was_pointed_here_is_declined(up, host: str) -> None:
    with up.client() as client:
        for path in ("/", "/readings", "/healthz", "/v1/models"):
            assert client.get(path, headers={"Host": host}).status_code in {400, 403}


@pytest.mark.parametrize("host", ["localhost:1", "LOCALHOST", "[::1]:80", "127.0.0.1"])
@pytest.mark.slow
def test_this_machines_own_names_are_answered(up, host: str) -> None:
    with up.client() as client:
        assert client.get("/healthz", headers={"Host": host}).status_code == 200


def test_a_name_can_be_allowed(serving) -> None:
    with serving(settings=ServerSettings(hosts=LOOPBACK | {"books.example"})) as up, up.client() as client:
        assert client.get("/healthz", headers={"Host": "books.example"}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:1", "file://"])
def test_another_sites_page_cannot_begin_or_read_anything(up, origin: str) -> None:
    with up.client(headers={"Origin": origin}) as client:
        assert client.post("/readings", json={"question": "Q?", "text": "x"}).status_code == 403
        answer = client.get("/readings")
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers
    assert up.journal.readings() == []


def test_the_pages_own_origin_is_taken(up) -> None:
    with up.client(headers={"Origin": up.url, "Sec-Fetch-Site": "same-origin"}) as client:
        assert client.post("/readings", json={"question": "Q?", "text": "some words"}).status_code == 201


def test_a_foreign_form_cannot_pass_for_json(up) -> None:
    body = '{"question": "Q?", "text": "x"}'
    with up.client() as client:
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            for path in ("/readings", "/session", "/v1/chat/completions"):
                assert client.post(path, content=body, headers={"Content-Type": kind}).status_code == 415
        assert client.post("/readings", json={}, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403


def test_a_body_that_is_said_to_be_packed_is_refused(up) -> None:
    with up.client() as client:
        for path in ("/readings", "/session", "/v1/chat/completions"):
            answer = client.post(path, json={"question": "Q?", "text": "x"}, headers={"Content-Encoding": "gzip"})
            assert answer.status_code == 415, path


def test_every_answer_forbids_foreign_content(up) -> None:
    with up.client() as client:
        answers = [client.get("/healthz"), client.get("/nothing"), client.get("/", headers={"Host": "evil.example"})]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.slow
def test_script_in_a_document_comes_back_as_json_only(up) -> None:
    evil = "<script>alert(1)</script> [x](javascript:alert(1)) <svg onload=alert(1)> who signed the lease? Ada.\ud800"
    with up.client() as client:
        sha = client.post("/documents", content=evil.encode("utf-8", "surrogatepass")).json()["document"]
        answer = client.get(f"/documents/{sha}/text")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["text"].startswith("<script>")


def test_bodies_over_their_limit_are_declined_whether_they_say_so_or_not(serving) -> None:
    limits = Limits(body_bytes=2000, upload_bytes=3000)
    with serving(settings=ServerSettings(limits=limits)) as up, up.client() as client:
        long = b"x" * 5000
        pieces = (long[at : at + 100] for at in range(0, 5000, 100))
        assert client.post("/documents", content=long).status_code == 413
        assert client.post("/documents", content=pieces).status_code == 413
        assert client.post("/documents", files={"file": ("a.txt", long)}).status_code == 413
        assert client.post("/readings", json={"question": "Q?", "text": "x" * 2500}).status_code == 413
        # An upload may be longer than a body.
        assert client.post("/documents", content=b"x" * 2500).status_code == 201
        answer = client.post("/v1/chat/completions", json={"model": "scripted", "messages": [], "x": "y" * 3000})
        assert answer.status_code == 413
        assert answer.json()["error"]["code"] == "too_large"


def test_a_link_on_another_sites_page_may_be_followed(up) -> None:
    with up.client(headers={"Sec-Fetch-Site": "cross-site"}) as client:
        assert client.get("/healthz").status_code == 200
        assert client.post("/readings", json={"question": "Q?", "text": "x"}).status_code == 403


def test_a_fault_of_ours_is_logged_and_its_details_are_not_told(up, monkeypatch, caplog) -> None:
    def break_down(*_arguments: object, **_settings: object) -> None:
        raise RuntimeError("a secret detail")

    monkeypatch.setattr(type(up.journal), "list_rows", break_down)
    with caplog.at_level(logging.ERROR), up.client() as client:
        answer = client.get("/readings")
    assert (answer.status_code, answer.json()["kind"]) == (500, "server_error")
    assert "secret" not in answer.text
    assert "GET /readings broke" in caplog.text
    assert "a secret detail" in caplog.text


def test_an_empty_upload_is_refused_by_its_name(up) -> None:
    with up.client() as client:
        answers = [
            client.post("/documents", content=b"", headers={"X-Filename": "notes.txt"}),
            client.post("/documents", files={"file": ("notes.txt", b"")}),
        ]
    assert [answer.status_code for answer in answers] == [400, 400]
    assert all("notes.txt is empty" in answer.json()["error"] for answer in answers)


def test_answers_are_kept_by_no_cache(up) -> None:
    with up.client() as client:
        assert client.get("/readings").headers["cache-control"] == "no-store"


def test_an_upload_is_kept_under_its_bare_name(up) -> None:
    with up.client() as client:
        raw = client.post("/documents", content=b"Some words.", headers={"X-Filename": "..%2F..%2Fetc%2F%E5%90%88.txt"})
        form = client.post("/documents", files={"file": ("..\\..\\a.txt", b"Some words.")})
        empty = client.post("/documents", content=b"")
        nothing = client.post("/documents", files={"other": ("a", b"b")})
    assert (raw.status_code, raw.json()["name"], form.json()["name"]) == (201, "合.txt", "a.txt")
    assert raw.json()["length"] == len("Some words.")
    assert (empty.status_code, nothing.status_code) == (400, 400)


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "..",
        ".",
        "",
        "/etc/passwd",
        "C:\\x\\y",
        "a\0b",
        "x" * 5000,
        "名" * 3000 + ".pdf",
        "a/..",
        "\ud800",
        "-",
        "…",
    ],
)
def test_no_name_leads_anywhere(name: str, tmp_path: Path) -> None:
    safe = safe_name(name)
    (tmp_path / safe).write_bytes(b"x")
    assert (tmp_path / safe).resolve().parent == tmp_path.resolve()


@pytest.mark.parametrize("name", ["Dr. Frayne rode out along the cliff in the rain", "report v1.2 final.pdf", "a.b"])
def test_a_name_with_dots_stays_whole(name: str) -> None:
    assert safe_name(name) == name


@pytest.mark.slow
@pytest.mark.parametrize("id_", ["..%2F..%2Fetc%2Fpasswd", "%2e%2e", "last", "' OR 1=1", "%00", "x" * 500])
def test_no_id_leads_anywhere(up, id_: str) -> None:
    up.events(up.begin()["reading"])
    with up.client() as client:
        for path in (
            f"/readings/{id_}",
            f"/readings/{id_}/events",
            f"/documents/{id_}/text",
            f"/page/{id_}",
            f"/v1/files/{id_}",
        ):
            assert client.get(path).status_code == 404, path
        assert client.delete(f"/readings/{id_}").status_code == 404
        assert len(client.get("/readings").json()) == 1


@pytest.mark.slow
def test_a_picture_and_a_bomb_are_declined_with_a_reason(up) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("word/document.xml", b"<w:document>" + b" " * (300 << 20))
    picture = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8
    with up.client() as client:
        for name, content in (("bomb.docx", packed.getvalue()), ("cat.png", picture)):
            answer = client.post("/documents", content=content, headers={"X-Filename": name})
            assert answer.status_code == 400
            assert name in answer.json()["error"]


@pytest.fixture
def inside() -> Iterator[str]:
    """A server of the inner network, which redirects to another one."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(302 if self.path == "/redirect" else 200)
            self.send_header("Location", "http://169.254.169.254/latest/meta-data")
            self.end_headers()
            self.wfile.write(b"inner secrets")

        def log_message(self, *args: object) -> None:
            """Keep the tests' output clean."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        server.asked = asked
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.slow
def test_no_address_of_the_inner_network_is_fetched_nor_any_path(up, inside) -> None:
    port = inside.server_port
    urls = [
        f"http://127.0.0.1:{port}/", f"http://localhost:{port}/", f"http://[::ffff:127.0.0.1]:{port}/",
        f"http://2130706433:{port}/", "http://169.254.169.254/", "http://[::1]/", "http://0.0.0.0/",
        "file:///etc/passwd", "/etc/passwd", "ftp://127.0.0.1/", "-", "http://",
    ]  # fmt: skip
    with up.client() as client:
        for url in urls:
            answer = client.post("/readings", json={"question": "What?", "url": url})
            assert answer.status_code == 400, url
            assert "root:" not in answer.text
    assert inside.asked == []
    assert up.journal.readings() == []


@pytest.mark.slow
def test_a_redirect_into_the_inner_network_is_not_followed(up, inside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bookwheel.documents.web.is_public", lambda address: address == "127.0.0.1")
    with up.client() as client:
        url = f"http://127.0.0.1:{inside.server_port}/redirect"
        answer = client.post("/readings", json={"question": "What?", "url": url})
    assert (answer.status_code, inside.asked) == (400, ["/redirect"])
    assert "169.254.169.254" in answer.json()["error"]


def test_wrong_lengths_and_methods_do_no_harm(up) -> None:
    with up.client() as client:
        assert client.put("/readings", json={}).status_code == 405
        assert client.get("/documents/" + "a" * 64 + "/text?start=-1").status_code == 404
        assert client.get("/readings?limit=-1").status_code == 400
        assert client.get("/readings?limit=99999999999999999999").status_code == 400
        deep = client.post("/readings", content=b"[" * 100_000, headers={"Content-Type": "application/json"})
        assert deep.status_code == 400
        half = client.post(
            "/readings", content=b'{"question": "\\ud800", "text": "x"}', headers={"Content-Type": "application/json"}
        )
        assert half.status_code == 400


def test_no_roundabout_name_of_a_file_of_the_page_breaks_the_server(up) -> None:
    with up.client() as client:
        for name in ("%2e%2e/page/app.js", "abcdefabcdef/%2e%2e/%2e%2e/page/app.js", "abcdefabcdef/%2e%2e/app.js", ""):
            assert client.get(f"/page/{name}").status_code in {200, 404}, name
        assert client.get("/page/app.js").status_code == 200
