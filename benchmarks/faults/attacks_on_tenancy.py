"""Attacks on what another key owns."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from attack_steps import CHAT, PLAN, ROUTES, SECRET, wait_for_end

if TYPE_CHECKING:
    from attack_targets import Target


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


def store_secret(target: Target) -> tuple[str, str]:
    """Store a document and a reading of Ada's; return their ids."""
    with target.client("ada") as ada:
        sha = ada.post("/documents", content=SECRET.encode(), headers={"X-Filename": "ada.txt"}).json()["document"]
        body = {"question": f"{SECRET} When?", "document": sha, "plan": PLAN}
        id_ = ada.post("/readings", json=body).json()["reading"]
        wait_for_end(ada, id_)
    return id_, sha
