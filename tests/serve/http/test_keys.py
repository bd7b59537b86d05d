"""Keys: what they open, how a browser signs in, their limits, and that no secret shows anywhere."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path

import pytest

from bookwheel.errors import InputError
from bookwheel.serve.engine.access import Key, KeyRing, add_key, read_keys

SECRET = "bw-a-long-secret-that-nobody-guesses"


def key(secret: str = SECRET, **limits: int) -> Key:
    return Key(name="reader", sha256=hashlib.sha256(secret.encode()).hexdigest(), **limits)


def bearer(secret: str = SECRET) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def test_with_keys_nothing_but_the_page_and_its_door_is_open(serving) -> None:
    with serving(keys=KeyRing([key(), Key(name="other", sha256="0" * 64)])) as up, up.client() as client:
        for path in ("/readings", "/v1/models", "/models", "/metrics", "/openapi.json", "/documents/x/text", "/page"):
            answer = client.get(path)
            assert answer.status_code == 401, path
            assert "Bearer" in answer.headers["www-authenticate"]
        assert client.get("/v1/models").json()["error"]["code"] == "invalid_api_key"
        for wrong in (
            "",
            "Bearer",
            f"Bearer {SECRET}x",
            f"Basic {SECRET}",
            f"Bearer {'0' * 64}",
            f"Bearer {SECRET[:-1]}",
        ):
            refused = client.get("/readings", headers={"Authorization": wrong})
            assert refused.status_code == 401
            assert ("not known" in refused.json()["error"]) is bool(wrong.partition(" ")[2])
        assert client.get("/healthz").status_code == 200
        assert client.get("/readings", headers=bearer()).status_code == 200


def test_a_browser_signs_in_with_a_cookie_that_scripts_and_other_sites_cannot_use(serving) -> None:
    with serving(keys=KeyRing([key()])) as up, up.client() as client:
        assert client.post("/session", json={"key": "wrong"}).status_code == 401
        answer = client.post("/session", json={"key": SECRET})
        cookie = answer.headers["set-cookie"]
        assert answer.status_code == 204
        assert all(mark in cookie for mark in ("HttpOnly", "SameSite=strict"))
        assert SECRET not in cookie
        assert client.get("/readings").status_code == 200
        assert client.get("/readings", headers={"Cookie": "bookwheel_session=guess"}).status_code == 401


def test_a_keys_rate_is_held_and_told(serving) -> None:
    with serving(keys=KeyRing([key(requests_per_minute=3)])) as up, up.client(headers=bearer()) as client:
        assert [client.get("/readings").status_code for _ in range(3)] == [200] * 3
        full = client.get("/readings")
    assert full.status_code == 429
    assert 1 <= int(full.headers["Retry-After"]) <= 60


@pytest.mark.slow
def test_a_keys_budget_is_never_passed_not_even_by_readings_side_by_side_or_a_restart(serving, words) -> None:
    text, question = words
    for _ in range(2):
        with serving(keys=KeyRing([key(tokens_per_day=1500)])) as up, up.client(headers=bearer()) as client:
            body = {"question": question, "text": text}
            begun = [client.post("/readings", json=body) for _ in range(3)]
            ids = [answer.json()["reading"] for answer in begun if answer.status_code == 201]
            for id_ in ids:
                with client.stream("GET", f"/readings/{id_}/events") as events:
                    events.read()
            spent = sum(reading.usage.tokens for reading in up.journal.readings())
            assert 0 < spent <= 1500
            assert {client.get(f"/readings/{id_}").json()["status"] for id_ in ids} <= {"stopped"}


def test_keys_are_kept_as_hashes_only(tmp_path: Path, command) -> None:
    file = tmp_path / "keys.toml"
    code, out, _ = command("serve", "--new-key", "alice", "--key-file", file)
    secret = out.strip()
    assert code == 0
    assert secret not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0
    assert read_keys(file).find_by_secret(secret).name == "alice"
    assert read_keys(file).find_by_secret(secret + "x") is None
    with pytest.raises(InputError, match="already"):
        add_key(file, "alice")


@pytest.mark.parametrize(
    "text",
    ["", "keys = 3", "[keys.a]\nsha256 = 'short'", f"[keys.a]\nsha256 = '{'0' * 64}'\nrequests_per_minute = 0", "[["],
)
def test_a_broken_key_file_is_an_error_and_never_an_open_door(tmp_path: Path, text: str) -> None:
    (tmp_path / "keys.toml").write_text(text)
    with pytest.raises(InputError):
        read_keys(tmp_path / "keys.toml")


@pytest.mark.slow
def test_any_address_but_this_machines_own_needs_a_key(command) -> None:
    for host in ("0.0.0.0", "192.168.1.7", "::", "books.example"):
        code, _, err = command("serve", "--host", host, "--model", "scripted")
        assert code == 2
        assert "key" in err


@pytest.mark.slow
def test_no_secret_shows_in_logs_errors_metrics_or_records(
    serving, gated, words, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    class Broken(type(gated())):
        async def reply(self, messages, *, limit, sampling):
            raise RuntimeError("inner detail")

    caplog.set_level(logging.DEBUG)
    with serving(Broken(), keys=KeyRing([key()])) as up, up.client(headers=bearer()) as client:
        token = client.post("/session", json={"key": SECRET}).cookies["bookwheel_session"]
        id_ = client.post("/readings", json={"question": words[1], "text": words[0]}).json()["reading"]
        with client.stream("GET", f"/readings/{id_}/events") as events:
            shown = events.read().decode()
        shown += client.post(
            "/v1/chat/completions", json={"model": "scripted", "messages": [{"role": "user", "content": "Hi"}]}
        ).text
        shown += client.get("/metrics").text + client.get(f"/readings/{id_}").text + client.get("/readings?key=x").text
    assert "in a way that nobody foresaw" in shown
    assert "inner detail" not in shown
    for file in tmp_path.rglob("*"):
        shown += file.read_bytes().decode("latin-1") if file.is_file() else ""
    ours = ("bookwheel", "uvicorn", "sse_starlette")
    logged = "\n".join(record.getMessage() for record in caplog.records if record.name.startswith(ours))
    assert "GET /readings" in logged
    assert SECRET not in shown + logged
    assert token not in shown + logged


def test_the_printed_link_signs_a_browser_in_and_leaves_no_token_behind(serving) -> None:
    with serving(keys=KeyRing([key()])) as up, up.client(follow_redirects=False) as client:
        assert client.get("/readings").status_code == 401
        assert client.get("/?token=wrong").status_code == 200
        assert client.get("/readings").status_code == 401
        answer = client.get(f"/?token={SECRET}")
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert "HttpOnly" in answer.headers["set-cookie"]
        assert client.get("/readings").status_code == 200
