"""Drive Open WebUI in front of `bookwheel serve`: upload, ask, follow up, title, tags, suggestions, regenerate.

Both servers must be up; Open WebUI has an environment of its own, for it brings two hundred packages:

    uv pip install open-webui
    bookwheel serve --model scripted --port 8490 --no-token --journal owui.sqlite
    WEBUI_AUTH=False OPENAI_API_BASE_URL=http://127.0.0.1:8490/v1 OPENAI_API_KEY=none ENABLE_OLLAMA_API=False \
        BYPASS_EMBEDDING_AND_RETRIEVAL=True OFFLINE_MODE=True open-webui serve --port 8491
    python benchmarks/quality/open_webui.py

It speaks Open WebUI's own API, as its page does, and prints what each request made bookwheel do.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import httpx2

READER, WEBUI = "http://127.0.0.1:8490", "http://127.0.0.1:8491"
WIND = "Gulls circle over the pier all day, and the keeper writes down the wind. "
RAIN = "Rain fell on the roofs of the town. "
BOOK = (
    WIND * 900
    + "The harbour master of Skarholm is Ada Quill. "
    + RAIN * 900
    + "The lamp of the tower is lit by Bo Fell. "
    + WIND * 300
)
QUESTION, SAME, OTHER = (
    "Who is the harbour master of Skarholm?",
    "What is the name of the harbour master?",
    "Who lights the lamp of the tower?",
)
TASKS = ("title", "tags", "follow_up")


class WebUi:
    """Open WebUI as its one user sees it."""

    def __init__(self, model: str) -> None:
        self._http = httpx2.Client(base_url=WEBUI, timeout=900)
        self._model = model
        signed_in = self._post("/api/v1/auths/signin", {"email": "", "password": ""})
        self._http.headers["Authorization"] = f"Bearer {signed_in['token']}"
        self._http.get("/api/models").raise_for_status()

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        answer = self._http.post(path, json=body)
        answer.raise_for_status()
        return answer.json()

    def upload(self, text: str) -> dict[str, Any]:
        """Upload a text as a file of a chat."""
        answer = self._http.post("/api/v1/files/", files={"file": ("harbour.txt", text.encode(), "text/plain")})
        answer.raise_for_status()
        return answer.json()

    def ask(self, messages: list[dict[str, str]], file: dict[str, Any]) -> str:
        """Send a chat with its file, as the page does."""
        attached = {"type": "file", "id": file["id"], "name": file["filename"], "context": "full", "file": file}
        body = {"model": self._model, "messages": messages, "files": [attached], "stream": False}
        return str(self._post("/api/chat/completions", body)["choices"][0]["message"]["content"])

    def run_task(self, task: str, messages: list[dict[str, str]]) -> str:
        """Run one of the tasks that the page runs after a reply."""
        body = {"model": self._model, "messages": messages, "stream": False}
        return str(self._post(f"/api/v1/tasks/{task}/completions", body)["choices"][0]["message"]["content"])


def list_readings() -> list[dict[str, Any]]:
    """Return the readings of the server behind, newest first."""
    answer = httpx2.get(f"{READER}/readings", params={"limit": 100}, timeout=60)
    answer.raise_for_status()
    readings: list[dict[str, Any]] = answer.json()
    return readings


def count_calls() -> int:
    """Return how many calls of the model the server behind has made."""
    lines = httpx2.get(f"{READER}/metrics", timeout=60).text.splitlines()
    return sum(int(float(line.split()[-1])) for line in lines if line.startswith("bookwheel_calls_total"))


def main() -> None:
    """Hold one conversation and print a table of what it took."""
    model = sys.argv[1] if len(sys.argv) > 1 else "scripted"
    webui = WebUi(model)
    file = webui.upload(BOOK)
    chat: list[dict[str, str]] = []

    def say(question: str, name: str) -> None:
        calls, before = count_calls(), len(list_readings())
        chat.append({"role": "user", "content": question})
        answer = webui.ask(chat, file)
        chat.append({"role": "assistant", "content": answer})
        report(name, calls, before, answer)

    def report(name: str, calls: int, before: int, answer: str) -> None:
        readings = list_readings()
        made = len(readings) - before
        how = ("begins with a memory" if readings[0]["parent"] else "reads") if made else "no reading"
        print(f"| {name} | {how} | {count_calls() - calls} | {json.dumps(answer[:70])} |", flush=True)

    print("| request | reading | calls | reply |\n|---|---|---|---|")
    say(QUESTION, "ask")
    say(SAME, "follow up")
    say(OTHER, "follow up on another matter")
    for task in TASKS:
        calls, before = count_calls(), len(list_readings())
        report(task, calls, before, webui.run_task(task, chat))
    del chat[-2:]
    say(OTHER, "regenerate")


if __name__ == "__main__":
    main()
