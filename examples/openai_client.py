"""Use a bookwheel server from the OpenAI client: the document is a message, the memories are the reasoning.

The server runs on a free port of this machine with the scripted model. Against a server of yours, all that changes is
`base_url` and the model's name.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx2
from openai import OpenAI

LOG = Path(__file__).with_name("lighthouse.md")
PORT = int(os.environ.get("PORT", "8475"))


def wait_until_up(url: str) -> None:
    """Return when the server answers."""
    for _ in range(300):
        try:
            httpx2.get(f"{url}/healthz")
        except httpx2.TransportError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError(url)


with tempfile.TemporaryDirectory() as place:
    command = [sys.executable, "-m", "bookwheel", "serve", "--model", "scripted", "--port", str(PORT), "--quiet"]
    command += ["--journal", f"{place}/journal.sqlite"]
    server = subprocess.Popen(command)  # noqa: S603 - our own command
    try:
        wait_until_up(f"http://localhost:{PORT}")
        client = OpenAI(base_url=f"http://localhost:{PORT}/v1", api_key="none")
        stream = client.chat.completions.create(
            model="bookwheel/scripted",
            messages=[
                {"role": "user", "content": LOG.read_text(encoding="utf-8")},
                {"role": "user", "content": "How many barrels were counted by the customs men?"},
            ],
            stream=True,
            extra_body={"plan": {"chunk_tokens": 1000}},
        )
        for event in stream:
            for choice in event.choices:
                memory = getattr(choice.delta, "reasoning_content", None)
                print(memory or choice.delta.content or "", end="", flush=True)
        print()
    finally:
        server.terminate()
        server.wait()
