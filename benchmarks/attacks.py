"""Attacks on the budgets and the privacy of a server, each on one that defends itself and on one that does not.

    python benchmarks/attacks.py [NAME...]

Servers are processes of their own, in front of an endpoint that counts what it has really worked on
(attack_targets.py). An attack returns what it has gained: tokens or KiB beyond a limit, or things of somebody else's
that it has seen or changed. It must gain nothing where the defence is on, and something where it is off: otherwise it
proves nothing.
"""

from __future__ import annotations

import random
import shutil
import socket
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attack_targets import MODEL, PaidEndpoint, Target, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import httpx2

LIMIT = 3000
DISK_MIB = 2
TOKEN = "a-token-that-nobody-guesses"
SECRET = "The merger with Acme closes on the ninth of May."
LONG = "\n\n".join(f"The keeper of house {n} wrote down the wind and the ships that passed." for n in range(600))
PLAN = {"chunk_tokens": 200, "memory_tokens": 60, "answer_tokens": 60, "question_tokens": 60}
CHAT = {"model": MODEL, "messages": [{"role": "user", "content": "word " * 100}]}
ROUTES = ("", "/events", "/origins")


@dataclass(frozen=True)
class Attack:
    """One attack, and the servers that it goes against."""

    run: Callable[[Target], int]
    unit: str
    defended: dict[str, Any]
    opened: dict[str, Any] | None
    """None where the defence cannot be turned off."""


def abort_streams(target: Target) -> int:
    """Leave every stream after its first piece."""

    def leave(client: httpx2.Client) -> None:
        with client.stream("POST", "/v1/chat/completions", json={**CHAT, "stream": True}) as answer:
            next(answer.iter_lines(), None)

    with target.client("eve") as client:
        for _ in range(40):
            leave(client)
    return beyond_limit(target)


def call_in_parallel(target: Target) -> int:
    """Send many calls at the same moment, streamed and not."""
    with target.client("eve") as client, ThreadPoolExecutor(30) as many:
        bodies = [{**CHAT, "max_tokens": 200, "stream": bool(n % 2)} for n in range(30)]
        list(many.map(lambda body: client.post("/v1/chat/completions", json=body), bodies))
    return beyond_limit(target)


def call_greedily(target: Target) -> int:
    """Ask for one reply beyond the limit of a request, by every field that an endpoint may read."""
    most = 0
    fields = [
        {"n": 20},
        {"n": 20, "max_tokens": 400},
        {"n": 20, "max_tokens": 1, "max_completion_tokens": 400},
        {"n": 20, "max_tokens": 400, "max_completion_tokens": 1},
        {"n": 20, "max_tokens": 1, "n_predict": 400},
        {"n": 20, "max_tokens": 1, "best_of": 400},
        {"n": 20, "max_tokens": 400, "stream": True},
    ]
    with target.client("eve") as client:
        for more in fields:
            before = target.endpoint.tokens
            client.post("/v1/chat/completions", json={**CHAT, **more})
            most = max(most, target.endpoint.tokens - before - LIMIT)
    return max(0, most)


def read_in_parallel(target: Target) -> int:
    """Start many readings at the same moment."""
    body = {"question": "What did the keeper write?", "text": LONG, "plan": PLAN}
    with target.client("eve") as client, ThreadPoolExecutor(12) as many:
        answers = list(many.map(lambda _: client.post("/readings", json=body), range(12)))
        for answer in answers:
            if answer.status_code == 201:
                wait_for_end(client, answer.json()["reading"])
    return beyond_limit(target)


def fork_resume_and_return(target: Target) -> int:
    """Pass the limit of one reading by resuming it, forking it and sending its request again."""
    huge = {"budget": {"tokens": 10**9, "seconds": 10**6}}
    body = {"question": "What did the keeper write?", "text": LONG, "plan": {**PLAN, **huge}}
    with target.client("eve") as client:
        same = {"Idempotency-Key": "again"}
        id_ = client.post("/readings", json=body, headers=same).json()["reading"]
        wait_for_end(client, id_)
        ids = [id_]
        for number in range(3):
            client.post("/readings", json=body, headers=same)
            wait_for_end(client, id_)
            client.post(f"/readings/{id_}/resume", json={"plan": huge})
            wait_for_end(client, id_)
            fork = client.post(f"/readings/{id_}/fork", json={"step": 0, "memory": f"note {number}"})
            if fork.status_code == 201:
                ids.append(fork.json()["reading"])
                for _ in range(2):
                    wait_for_end(client, ids[-1])
                    client.post(f"/readings/{ids[-1]}/resume", json={"plan": huge})
                wait_for_end(client, ids[-1])
    return max(0, target.endpoint.tokens - LIMIT * len(ids))


def use_others_readings(target: Target) -> int:
    """Read, list, export, change and delete another key's reading and document, whose ids are known."""
    id_, sha = store_secret(target)
    body = {"step": 0, "memory": "Eve was here."}
    with target.client("eve") as eve:
        answers = [eve.get(f"/readings/{id_}{route}") for route in ROUTES]
        answers += [eve.get(f"/documents/{sha}/text"), eve.get(f"/v1/files/file-{sha}")]
        answers += [eve.get("/readings"), eve.get("/readings?search=merger"), eve.get("/readings?limit=1000")]
        answers += [eve.post(f"/readings/{id_}/{act}", json=body) for act in ("fork", "cancel", "resume")]
        answers += [eve.post("/readings", json={"question": "When does it close?", "document": sha})]
        answers += [eve.post("/v1/chat/completions", json={**CHAT, "document": f"file-{sha}"})]
        answers += [eve.get("/metrics"), eve.get("/healthz"), eve.get("/models"), eve.delete(f"/readings/{id_}")]
    with target.client("ada") as ada:
        is_gone = ada.get(f"/readings/{id_}").status_code != 200
    return is_gone + sum(SECRET in one.text or id_ in one.text or "ada" in one.text.split() for one in answers)


def use_others_over_mcp(target: Target) -> int:
    """Do the same by the tools of MCP."""
    import anyio

    id_, _ = store_secret(target)

    async def look() -> int:
        import httpx2 as http
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        headers = {"Authorization": f"Bearer {target.secrets['eve']}"}
        async with (
            http.AsyncClient(headers=headers, trust_env=False) as connection,
            Client(streamable_http_client(f"{target.url}/mcp", http_client=connection)) as client,
        ):
            found = 0
            for name in (id_, id_[:5], "last"):
                for tool in ("wait", "timeline", "cancel", "resume", "ask_again"):
                    extra = {"question": "When?"} if tool == "ask_again" else {}
                    extra |= {} if tool in {"timeline", "cancel"} else {"wait_seconds": 0}
                    found += not (await client.call_tool(tool, {"reading": name, **extra})).is_error
            with suppress(Exception):  # a resource that is not there is an error of the protocol
                found += SECRET in str(await client.read_resource(f"reading://{id_}"))
            listed = await client.call_tool("list_readings", {})
            return found + len(listed.structured_content["readings"])

    return anyio.run(look)


def guess_names(target: Target) -> int:
    """Guess the names of another's things: beginnings of ids, wildcards, ways around the router, a text's hash."""
    id_, sha = store_secret(target)
    names = ["last", id_[:4], id_[:-1], id_.upper(), f"{id_}%00", "%25", "*", "_" * len(id_), "..%2freadings%2f" + id_]
    names += [
        f"{id_}/.",
        f"./{id_}",
        f"%2e%2e/readings/{id_}",
        f"{id_}%20",
        f"{id_};x=1",
        f"{id_}?id={id_}",
        "' OR 1=1",
    ]
    names += [f"{first:x}" for first in range(16)]
    seen = 0
    with target.client("eve") as eve:
        for name in names:
            for route in ROUTES:
                seen += SECRET in eve.get(f"/readings/{name}{route}").text
        for name in (sha, sha.upper(), sha[:16], f"{sha[:-1]}_", f"../documents/{sha}", "%25"):
            seen += SECRET in eve.get(f"/documents/{name}/text").text
            answer = eve.post("/readings", json={"question": "When does it close?", "document": name})
            if answer.status_code == 201:
                wait_for_end(eve, answer.json()["reading"])
                seen += 1
    return seen


def fill_the_disk(target: Target) -> int:
    """Upload many documents at the same moment, then copy a reading again and again."""
    noise = random.Random(1)
    texts = [noise.randbytes(500_000).hex().encode() for _ in range(10)]
    with target.client("eve") as eve, ThreadPoolExecutor(10) as many:
        list(many.map(lambda text: eve.post("/documents", content=text, headers={"X-Filename": "a.txt"}), texts))
        answer = eve.post("/readings", json={"question": "What?", "text": LONG, "plan": PLAN})
        if answer.status_code == 201:
            id_ = answer.json()["reading"]
            wait_for_end(eve, id_)
            for _ in range(20):
                eve.post(f"/readings/{id_}/fork", json={"step": 20, "memory": "copied"})
    size = (target.folder / "journal.sqlite").stat().st_size
    return max(0, size - (DISK_MIB << 20)) >> 10


def come_without_token(target: Target) -> int:
    """Call a server of this machine without its token, with a wrong one, or with it in a wrong place."""
    tokens = ["", "x", TOKEN[:-1], f"{TOKEN}x", TOKEN.upper(), f"{TOKEN}\x00", "*", "null", "undefined", "local"]
    heads = [{}, *({"Authorization": f"Bearer {token}"} for token in tokens[1:] if token.isprintable())]
    heads += [{"Authorization": f"{kind}{TOKEN}"} for kind in ("Basic ", "Token ", "")]
    heads += [{"Cookie": f"bookwheel_session={token}"} for token in (TOKEN, "x", "")]
    heads += [{"X-Api-Key": TOKEN}, {"X-Forwarded-For": "127.0.0.1"}, {"X-Original-URL": "/healthz"}]
    opened = 0
    with target.client() as client:
        for head in heads:
            opened += client.get("/readings", headers=head).status_code == 200
            opened += client.post("/readings", json={"question": "Q?", "text": "x"}, headers=head).status_code == 201
            opened += client.post("/v1/chat/completions", json=CHAT, headers=head).status_code == 200
            opened += client.post("/mcp", json={}, headers=head).status_code not in {401, 403}
        for path in ("/readings?token=" + TOKEN, "/page/../readings", "/page/%2e%2e/readings", "//readings"):
            opened += raw_status(target, f"GET {path} HTTP/1.1\r\nHost: {{host}}\r\n\r\n") == 200
        opened += "set-cookie" in client.get("/?token=x").headers
        opened += client.post("/session", json={"key": "x"}).status_code == 204
    return opened


def smuggle_headers(target: Target) -> int:
    """Come by another host's name, as a page that had its name pointed here does, or hide one request in another."""
    evil = "evil.example"
    inner = f"GET /readings HTTP/1.1\r\nHost: {evil}\r\n\r\n"
    heads = [
        f"GET /readings HTTP/1.1\r\nHost: {evil}\r\n\r\n",
        f"GET /readings HTTP/1.1\r\nHost: {{host}}\r\nHost: {evil}\r\n\r\n",
        f"GET /readings HTTP/1.1\r\nHost: {evil}\r\nX-Forwarded-Host: {{host}}\r\n\r\n",
        f"GET /readings HTTP/1.1\r\nHost: {{host}}@{evil}\r\n\r\n",
        f"GET /readings HTTP/1.1\r\nHost: {evil}:80#{{host}}\r\n\r\n",
        f"GET http://{{host}}/readings HTTP/1.1\r\nHost: {evil}\r\n\r\n",
        "GET /readings HTTP/1.0\r\n\r\n",
        f"GET /readings HTTP/1.1\r\nHost: {{host}}\r\nOrigin: http://{evil}\r\n\r\n",
        "GET /readings HTTP/1.1\r\nHost: {host}\r\nOrigin: null\r\n\r\n",
        f"GET /readings HTTP/1.1\r\n Host: {{host}}\r\nHost: {evil}\r\n\r\n",
    ]
    length, chunked = f"Content-Length: {len(inner) + 5}\r\n", "Transfer-Encoding: chunked\r\n"
    both = (length + chunked, chunked + length, length + "Transfer-Encoding : chunked\r\n")
    heads += [f"POST /healthz HTTP/1.1\r\nHost: {{host}}\r\n{more}\r\n0\r\n\r\n{inner}" for more in both]
    return sum("200" in last_statuses(target, head) for head in heads)


def lead_paths_outside(target: Target) -> int:
    """Read a file outside the root over MCP, by dots, links and devices; store an upload outside its folder."""
    import anyio

    root = target.folder.parent / "root"
    paths = ["../secret.txt", "link.txt", "folder-link/secret.txt", str(root.parent / "secret.txt"), ".", "./"]
    paths += ["sub/../../secret.txt", "..", "/proc/self/environ", "/dev/stdin", "~/secret.txt", "link.txt/", ".hidden"]
    paths += ["file://" + str(root.parent / "secret.txt"), "..\\secret.txt", "secret.txt\x00.txt", "hard/../link.txt"]

    async def look() -> int:
        import httpx2 as http
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        seen = 0
        async with (
            http.AsyncClient(trust_env=False, timeout=60) as connection,
            Client(streamable_http_client(f"{target.url}/mcp", http_client=connection)) as client,
        ):
            for path in paths:
                call = {"question": "When does the merger close?", "path": path, "wait_seconds": 20}
                before = target.endpoint.seen
                await client.call_tool("read", call)
                seen += target.endpoint.seen > before
        return seen

    return anyio.run(look)


def fetch_from_inside(target: Target) -> int:
    """Let the server fetch what only this machine can reach."""
    port = int(target.endpoint.url.split(":")[2].split("/")[0])
    hosts = ["127.0.0.1", "localhost", "127.1", "0x7f000001", "2130706433", "0.0.0.0", "[::ffff:127.0.0.1]", "0"]
    urls = [f"http://{host}:{port}/secret" for host in hosts]
    urls += [f"http://127.0.0.1.nip.io:{port}/secret", "file:///etc/passwd", f"gopher://127.0.0.1:{port}/secret"]
    seen = 0
    with target.client("eve") as eve:
        for url in urls:
            answer = eve.post("/readings", json={"question": "When?", "url": url, "plan": PLAN})
            seen += answer.status_code == 201
    return seen


def write_outside(target: Target) -> int:
    """Upload files whose names lead elsewhere."""
    names = [
        "../evil.txt",
        "../../evil.txt",
        "/tmp/evil-upload.txt",
        "..%2f..%2fevil.txt",
        "..\\evil.txt",
        "a/../../evil.txt",
    ]
    with target.client("eve") as eve:
        for name in names:
            eve.post("/documents", content=b"evil words", headers={"X-Filename": name})
            eve.post("/documents", files={"file": (name, b"evil words")})
    places = [
        *target.folder.parent.rglob("*evil*"),
        *Path("/tmp").glob("evil*"),
        *Path(tempfile.gettempdir()).glob("evil*"),
    ]
    return len(places)


def store_secret(target: Target) -> tuple[str, str]:
    """Store a document and a reading of Ada's; return their ids."""
    with target.client("ada") as ada:
        sha = ada.post("/documents", content=SECRET.encode(), headers={"X-Filename": "ada.txt"}).json()["document"]
        body = {"question": f"{SECRET} When?", "document": sha, "plan": PLAN}
        id_ = ada.post("/readings", json=body).json()["reading"]
        wait_for_end(ada, id_)
    return id_, sha


def wait_for_end(client: httpx2.Client, id_: str) -> None:
    """Return when a reading has ended."""
    for _ in range(2400):
        if client.get(f"/readings/{id_}").json()["status"] != "reading":
            return
        time.sleep(0.05)
    raise SystemExit(f"reading {id_} does not end")


def beyond_limit(target: Target) -> int:
    """Return the tokens beyond the limit that the endpoint has worked on, when it has come to rest."""
    before = -1
    while before != target.endpoint.tokens:
        before = target.endpoint.tokens
        time.sleep(0.5)
    return max(0, before - LIMIT)


def raw_status(target: Target, head: str) -> int:
    """Return the status of the first answer to a request that no client would send."""
    return int(next(iter(last_statuses(target, head).split()), 0))


def last_statuses(target: Target, head: str) -> str:
    """Return the statuses of all answers to these bytes."""
    with socket.create_connection(("127.0.0.1", target.port), timeout=3) as connection:
        connection.sendall(head.replace("{host}", f"127.0.0.1:{target.port}").encode())
        received = b""
        with suppress(OSError):
            while piece := connection.recv(1 << 16):
                received += piece
    lines = received.split(b"\r\n")
    return " ".join(line.split()[1].decode() for line in lines if line.startswith(b"HTTP/1."))


ONE, TWO = {"keys": ("eve",)}, {"keys": ("ada", "eve")}
QUOTA = {**ONE, "tokens_per_day": LIMIT}
CAPPED = {**ONE, "options": ("--max-tokens-total", str(LIMIT))}
SHARED = {**TWO, "options": ("--shared",)}
ATTACKS = {
    "aborted streams": Attack(abort_streams, "tokens", QUOTA, ONE),
    "parallel calls": Attack(call_in_parallel, "tokens", QUOTA, ONE),
    "one greedy call": Attack(call_greedily, "tokens", CAPPED, ONE),
    "parallel readings": Attack(read_in_parallel, "tokens", QUOTA, ONE),
    "fork, resume, come back": Attack(fork_resume_and_return, "tokens", CAPPED, ONE),
    "another key's readings": Attack(use_others_readings, "seen", TWO, SHARED),
    "another key's readings over MCP": Attack(use_others_over_mcp, "seen", TWO, SHARED),
    "guessed names": Attack(guess_names, "seen", TWO, SHARED),
    "a full disk": Attack(fill_the_disk, "KiB", {**ONE, "options": ("--journal-limit", str(DISK_MIB))}, ONE),
    "no token": Attack(come_without_token, "doors", {"options": ("--token",), "BOOKWHEEL_TOKEN": TOKEN}, {}),
    "smuggled headers": Attack(smuggle_headers, "doors", {}, {"options": ("--allow-host", "evil.example")}),
    "paths outside": Attack(
        lead_paths_outside,
        "seen",
        {"command": "mcp", "options": ("--http", "--root", "ROOT")},
        {"command": "mcp", "options": ("--http", "--root", "ROOT/..")},
    ),
    "addresses inside": Attack(fetch_from_inside, "seen", ONE, {**ONE, "options": ("--allow-private",)}),
    "uploads outside": Attack(write_outside, "files", ONE, None),
}


def measure(attack: Attack, settings: dict[str, Any], folder: Path) -> int:
    """Return what the attack gains against a server of these settings."""
    with ExitStack() as stack:
        endpoint = PaidEndpoint(SECRET)
        stack.callback(endpoint.close)
        options = tuple(word.replace("ROOT", str(folder / "root")) for word in settings.get("options", ()))
        named = {name: value for name, value in settings.items() if name != "options"}
        return attack.run(stack.enter_context(serving(folder / "server", endpoint, *options, **named)))


def make_root(folder: Path) -> None:
    """Make a root with links that lead out of it, and a secret beside it."""
    root = folder / "root"
    (root / "sub").mkdir(parents=True)
    (root / "open.txt").write_text("Nothing of note.")
    (root / ".hidden").write_text(SECRET)
    (folder / "secret.txt").write_text(SECRET)
    (root / "link.txt").symlink_to(folder / "secret.txt")
    (root / "folder-link").symlink_to(folder)


def run_all(names: list[str]) -> Iterator[bool]:
    """Print a line for each attack; yield True for each that gained something or bites nowhere."""
    print("| attack | gained | with the defence off | seconds |\n|---|---|---|---|")
    for name, attack in ATTACKS.items():
        if names and name not in names:
            continue
        began, gains = time.perf_counter(), []
        for settings in (attack.defended, attack.opened):
            folder = Path(tempfile.mkdtemp(prefix="attack-"))
            make_root(folder)
            gains.append(None if settings is None else measure(attack, settings, folder))
            shutil.rmtree(folder)
        opened = "not possible" if gains[1] is None else f"{gains[1]:,} {attack.unit}"
        print(f"| {name} | {gains[0]:,} {attack.unit} | {opened} | {time.perf_counter() - began:.0f} |", flush=True)
        yield bool(gains[0]) or gains[1] == 0


if __name__ == "__main__":
    sys.exit(any(list(run_all(sys.argv[1:]))))
