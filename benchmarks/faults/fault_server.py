"""An OpenAI-compatible server on loopback that plays faults: broken bodies, statuses and connections, streamed or not.

    python benchmarks/faults/fault_server.py PORT [--rate 0.02] [--seed 1] [--delay 0] [--outages 40:90,300:90]
        [--tls FOLDER]

Its good reply is a chain: the memory after a section is a hash of the memory before and of the section's text, so that
an answer is right only if every section was taken in once and in order. A model named `fault:NAME` gets that fault for
the first try of every prompt; any other model gets faults at random. GET /counts tells how often each prompt was
answered, which faults were played and how many requests an outage turned away. Standard library only; `--tls` needs
the package cryptography.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import re
import ssl
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faults import FAULTS, FINAL, Exchange

CHAT = "/chat/completions"
TAG = r"<{0}>\n?(.*?)\n?</{0}>"


def chain_reply(prompt: str) -> str:
    """Return the reply to a prompt: the next memory of the chain, or its end as the answer."""
    found = {tag: re.findall(TAG.format(tag), prompt, re.DOTALL) for tag in ("memory", "section")}
    memory = re.search(r"sections (\d+) chain ([0-9a-f]{24})", found["memory"][-1] if found["memory"] else "")
    count, chain = (int(memory[1]), memory[2]) if memory else (0, "")
    if not found["section"]:
        return f"\\boxed{{sections {count} chain {chain}}}"
    chain = hashlib.sha256(f"{chain}\n{found['section'][-1]}".encode()).hexdigest()[:24]
    return f"sections {count + 1} chain {chain}"


@dataclass
class FaultServer:
    """The server, its faults and what it has counted."""

    rate: float = 0.0
    seed: int = 0
    delay: float = 0.0
    outages: tuple[tuple[float, float], ...] = ()
    """Seconds from the first reply to an outage's begin, and its length."""
    answered: Counter[str] = field(default_factory=Counter)
    """Good replies by prompt."""
    played: Counter[str] = field(default_factory=Counter)
    turned_away: int = 0
    requests: int = 0

    def __post_init__(self) -> None:
        self._tries: Counter[str] = Counter()
        self._draw = random.Random(self.seed)
        self._over = asyncio.Event()
        self._began: float | None = None
        self._open: set[asyncio.Task[Any]] = set()
        self._mixed = [name for name in FAULTS if name != "drip"]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection's requests until it ends."""
        task = asyncio.current_task()
        assert task
        self._open.add(task)
        try:
            while not self._over.is_set() and (head := await _read_head(reader)):
                body = await reader.readexactly(int(head.get("content-length", 0)))
                if not await self._answer(head, body, writer):
                    break
        except (OSError, asyncio.IncompleteReadError, ValueError):
            pass
        finally:
            self._open.discard(task)
            writer.close()

    async def close(self) -> None:
        """End all connections."""
        self._over.set()
        for task in tuple(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _answer(self, head: dict[str, str], body: bytes, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; return whether the connection goes on."""
        path = head["path"]
        exchange = Exchange(writer, self._over, stream=False, text="", prompt_tokens=0)
        if path == "/counts":
            counts = {"answered": sum(self.answered.values()), "repeated": sum(n - 1 for n in self.answered.values())}
            await exchange.send_json(counts | {"faults": dict(self.played), "turned_away": self.turned_away})
        elif self._is_out():
            self.turned_away += 1
            exchange.cut(reset=True)
        elif path.endswith("/models"):
            await exchange.send_json({"object": "list", "data": [{"id": "chain", "max_model_len": 8192}]})
        elif path.endswith(CHAT):
            exchange = await self._chat(json.loads(body), writer)
        else:
            await exchange.send(b"{}", "404 Not Found")
        return not exchange.closes

    def _is_out(self) -> bool:
        now = time.monotonic() - self._began if self._began is not None else -1.0
        return any(begin <= now < begin + length for begin, length in self.outages)

    async def _chat(self, request: dict[str, Any], writer: asyncio.StreamWriter) -> Exchange:
        self._began = self._began or time.monotonic()
        self.requests += 1
        prompt = "\n".join(str(message["content"]) for message in request["messages"])
        key = hashlib.sha256(prompt.encode()).hexdigest()[:16]
        stream = bool(request.get("stream"))
        exchange = Exchange(writer, self._over, stream, chain_reply(prompt), prompt_tokens=len(prompt) // 4)
        if self.delay:
            await asyncio.sleep(self.delay)
        name = self._choose_fault(str(request.get("model")), key)
        self._tries[key] += 1
        if name:
            self.played[name] += 1
            await (FAULTS | FINAL)[name](exchange)
        else:
            self.answered[key] += 1
            await exchange.send_completion()
        return exchange

    def _choose_fault(self, model: str, key: str) -> str:
        if model.startswith("fault:"):
            return "" if self._tries[key] else model.removeprefix("fault:")
        return self._draw.choice(self._mixed) if self._draw.random() < self.rate else ""


async def _read_head(reader: asyncio.StreamReader) -> dict[str, str]:
    line = await reader.readline()
    if not line:
        return {}
    head = {"path": line.split()[1].decode()}
    while (line := await reader.readline()).strip():
        name, _, text = line.decode().partition(":")
        head[name.lower()] = text.strip()
    return head


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """Write a certificate for 127.0.0.1, signed by itself, and its key; return both."""
    from datetime import UTC, datetime, timedelta
    from ipaddress import ip_address

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "fault-server.pem", folder / "fault-server-key.pem"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return files


def load_tls(folder: Path) -> ssl.SSLContext:
    """Return the server's side of TLS with a new certificate in the folder."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*make_certificate(folder))
    return context


async def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int)
    parser.add_argument("--rate", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--outages", default="")
    parser.add_argument("--tls", type=Path)
    options = parser.parse_args()
    pairs = (pair.split(":") for pair in options.outages.split(",") if pair)
    outages = tuple((float(begin), float(length)) for begin, length in pairs)
    faults = FaultServer(rate=options.rate, seed=options.seed, delay=options.delay, outages=outages)
    tls = load_tls(options.tls) if options.tls else None
    server = await asyncio.start_server(faults.serve, "127.0.0.1", options.port, limit=1 << 24, ssl=tls)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
