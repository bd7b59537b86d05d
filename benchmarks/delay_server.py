"""An OpenAI-compatible server with a simulated engine's delays and prefix cache, to run the whole product against.

    python benchmarks/delay_server.py PORT [--memory 300] [--hurry 1]
    bookwheel ask case-1.txt "QUESTION" --base-url http://127.0.0.1:PORT/v1 --way gated+edits --gate-threshold 0.28

It computes 5,000 prompt tokens and writes 50 reply tokens a second; `--hurry 10` makes it ten times as fast. The
replies are those of the scripted reader in ways_policy.py, and `top_logprobs` are served, so that it can judge. A word
is a token.
`--case FILE` writes one of its documents and prints the question. Standard library only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path
from typing import Any

from simulated_engine import SPEEDS, SimulatedEngine
from ways_policy import Policy, make_case

from bookwheel.types import Message

WINDOW = 16_384


class DelayServer:
    """Answers chat completions after as long as the engine takes."""

    def __init__(self, policy: Policy, hurry: float) -> None:
        self._policy = policy
        self._engine = SimulatedEngine(SPEEDS["endpoint"], hurry=hurry)
        self.engine_task: asyncio.Task[None] | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Keep a connection until the client closes it."""
        self.engine_task = self.engine_task or asyncio.ensure_future(self._engine.run())
        try:
            while line := await reader.readline():
                path, length = line.split()[1].decode(), 0
                while (head := await reader.readline()).strip():
                    name, _, value = head.decode().partition(":")
                    length = int(value) if name.lower() == "content-length" else length
                body = json.loads(await reader.readexactly(length)) if length else {}
                answer = await self._answer(path, body)
                payload = json.dumps(answer).encode()
                status = b"404 Not Found" if answer.get("error") else b"200 OK"
                writer.write(
                    b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
                    % (status, len(payload))
                    + payload
                )
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        if path == "/counts":
            return vars(self._engine.counts)
        if path.endswith("/models"):
            return {"object": "list", "data": [{"id": "delayed", "object": "model", "max_model_len": WINDOW}]}
        if not path.endswith("/chat/completions"):
            return {"error": {"message": "no such route"}}
        messages = [Message(role="user", content=body["messages"][-1]["content"])]
        logprobs = None
        if body.get("top_logprobs"):
            yes, no = self._policy.judge(messages, ("Yes", "No"))
            text = "Yes" if yes > no else "No"
            listed = [{"token": word, "logprob": value, "bytes": None} for word, value in (("Yes", yes), ("No", no))]
            logprobs = {"content": [{"token": text, "logprob": max(yes, no), "bytes": None, "top_logprobs": listed}]}
        else:
            text = self._policy.reply(messages)
        prompt = messages[0].content.split()
        cached = await self._engine.call(prompt, len(text.split()))
        message = {"role": "assistant", "content": text}
        written = len(text.split())
        return {
            "id": "delayed",
            "object": "chat.completion",
            "created": 0,
            "model": "delayed",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message, "logprobs": logprobs}],
            "usage": {
                "prompt_tokens": len(prompt),
                "completion_tokens": written,
                "total_tokens": len(prompt) + written,
                "prompt_tokens_details": {"cached_tokens": cached},
            },
        }


async def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("--memory", type=int, default=300)
    parser.add_argument("--hurry", type=float, default=1.0)
    parser.add_argument("--chunks", type=int, default=10)
    parser.add_argument("--case", type=Path)
    arguments = parser.parse_args()
    if arguments.case:
        case = make_case(1, tokens=arguments.chunks * 5000, mentions=arguments.chunks // 10)
        arguments.case.write_text("".join(part.text for part in case.document.parts()), encoding="utf-8")
        print(case.question, flush=True)
    server = DelayServer(Policy(limit=arguments.memory), arguments.hurry)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", arguments.port, backlog=256, limit=1 << 24)
    async with listening:
        await listening.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
