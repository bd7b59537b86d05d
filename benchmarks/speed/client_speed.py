"""How fast a client reads against an endpoint that replies at once or after a set delay: ours and others'.

    python benchmarks/speed/client_speed.py TOKENIZER.json [--rounds N] [--only million|many] [--delays SECONDS ...]
                                      [--clients NAME ...] [--others PYTHON --memagent FOLDER]

Two scenarios: one document of a million tokens, and 64 documents of 20 chunks each, side by side. Every client runs
in a process of its own, cuts chunks of 5,000 tokens (1,000 of the small documents) with the same tokenizer and talks
to one endpoint in another process. The first client is a bare aiohttp loop: it encodes the document, cuts the ids,
decodes each chunk and posts it. Its time begins before that encoding, as ours begins before the document is put into
the journal. `aiohttp-ready` does not tokenize at all, so it shows what tokens cost.

PYTHON is an interpreter with langchain-classic, langchain-openai, llama-index-llms-openai-like and transformers; FOLDER
is a checkout of the official MemAgent, whose own client is imported from there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

AT_ONCE, NOTES, REPLY = 16, 1024, 1024
CHARACTERS_PER_TOKEN = 4.19
"""Of the made-up prose."""
QUESTION = "What did the keeper write?"
SCENARIOS = {"million": (1, 1_000_000, 5000), "many": (64, 20_000, 1000)}
"""Documents, tokens of each, tokens of a chunk."""
CHUNK = int(os.environ.get("CHUNK_TOKENS", "5000"))
OTHERS = ("memagent", "langchain", "llamaindex")
HERE = Path(__file__).resolve().parent


def make_text(tokens: int, seed: int) -> str:
    """Return made-up English of so many tokens or more, in paragraphs."""
    from bookwheel.lab.tasks.material import write_prose

    sentences = write_prose("en", random.Random(seed))
    # An English token has less than five characters.
    out, length = [], 0
    while length < tokens * 5.5:
        out.append(" ".join(islice(sentences, 8)))
        length += len(out[-1])
    return "\n\n".join(out)


def peak_megabytes() -> float:
    """Return the process's own peak; getrusage would count what its parent held when it was started."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024


def texts_of(scenario: str, tokenizer: str) -> list[str]:
    """Return the scenario's documents, of exactly so many tokens by this tokenizer."""
    from tokenizers import Tokenizer

    fast = Tokenizer.from_file(tokenizer)
    count, tokens, _ = SCENARIOS[scenario]
    texts = []
    for number in range(count):
        text = make_text(tokens, seed=number)
        offsets = fast.encode(text, add_special_tokens=False).offsets
        assert len(offsets) > tokens, (len(offsets), tokens)
        texts.append(text[: offsets[tokens][0]])
    return texts


# --- clients: each returns the number of calls that it made ---


def read_side_by_side(texts: list[str], read: Callable[[str, asyncio.Semaphore], Awaitable[int]]) -> int:
    """Read all texts at once, with a limit that `read` applies to its calls; return the number of calls."""

    async def run() -> int:
        gate = asyncio.Semaphore(AT_ONCE)
        return sum(await asyncio.gather(*(read(text, gate) for text in texts)))

    return asyncio.run(run())


def run_bare(texts: list[str], base: str, split: Callable[[str], Iterator[str]]) -> int:
    """Post the pieces of each text in turn."""
    import aiohttp

    async def read(text: str, gate: asyncio.Semaphore, session: aiohttp.ClientSession) -> int:
        memory, calls = "", 0
        for section in split(text):
            prompt = f"Question: {QUESTION}\n\nNotes:\n{memory}\n\nSection:\n{section}\n\nWrite the new notes."
            body = {"model": "bare", "messages": [{"role": "user", "content": prompt}], "max_tokens": REPLY}
            async with gate, session.post(f"{base}/chat/completions", json=body) as response:
                reply = await response.json()
            memory = reply["choices"][0]["message"]["content"]
            calls += 1
        return calls

    async def run() -> int:
        gate = asyncio.Semaphore(AT_ONCE)
        # Encoding blocks the loop, for longer than the default waits for a connection.
        patience = aiohttp.ClientTimeout(total=None, sock_connect=None)
        async with aiohttp.ClientSession(timeout=patience) as session:
            return sum(await asyncio.gather(*(read(text, gate, session) for text in texts)))

    return asyncio.run(run())


def run_aiohttp(texts: list[str], base: str, tokenizer: str) -> int:
    from tokenizers import Tokenizer

    fast = Tokenizer.from_file(tokenizer)

    def split(text: str) -> Iterator[str]:
        ids = fast.encode(text, add_special_tokens=False).ids
        for start in range(0, len(ids) + 1, CHUNK):
            yield fast.decode(ids[start : start + CHUNK])

    return run_bare(texts, base, split)


def run_ready(texts: list[str], base: str, tokenizer: str) -> int:
    """Post pieces of about the right length: the bare loop without a tokenizer."""
    del tokenizer
    size = int(CHUNK * CHARACTERS_PER_TOKEN)
    return run_bare(
        texts, base, lambda text: (text[start : start + size] for start in range(0, len(text) + size, size))
    )


def run_bookwheel(texts: list[str], base: str, tokenizer: str | None) -> int:
    from bookwheel.documents.opening import TextDocument
    from bookwheel.journal import Journal
    from bookwheel.models.openai import OpenAIModel
    from bookwheel.plan import Plan
    from bookwheel.reading import runner
    from bookwheel.text.tokens import FileTokenizer
    from bookwheel.types import Status

    plan = Plan(chunk_tokens=CHUNK, memory_tokens=NOTES, answer_tokens=REPLY, language="en")

    async def read(text: str, model: OpenAIModel, journal: Journal) -> int:
        document = await asyncio.to_thread(journal.keep, TextDocument(text))
        reading = runner.new_reading(document.info, QUESTION, model, plan)
        journal.begin(reading)
        reading = await runner.run_reading(reading, document, model, journal=journal)
        assert reading.status is Status.ANSWERED, reading.error
        return reading.usage.calls

    async def run() -> int:
        model = await OpenAIModel(
            name="bare", base_url=base, api_key="-", tokenizer=FileTokenizer(Path(tokenizer)), concurrency=AT_ONCE
        ).connect()
        with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "journal.sqlite") as journal:
            calls = sum(await asyncio.gather(*(read(text, model, journal) for text in texts)))
        await model.aclose()
        return calls

    return asyncio.run(run())


def run_bookwheel_estimate(texts: list[str], base: str, tokenizer: str) -> int:
    del tokenizer
    return run_bookwheel(texts, base, None)


def run_memagent(texts: list[str], base: str, tokenizer: str) -> int:
    folder = os.environ["MEMAGENT"]
    sys.path[:0] = [folder, f"{folder}/taskutils/memory_eval"]
    host, port = base.removeprefix("http://").removesuffix("/v1").split(":")
    # Its own limit of 120,000 tokens would cut the middle of the document out.
    os.environ.update(SERVE_HOST=host, SERVE_PORT=port, RECURRENT_MAX_CONTEXT_LEN=str(10**9))
    os.environ.update(RECURRENT_CHUNK_SIZE=str(CHUNK), RECURRENT_MAX_NEW=str(REPLY))
    from transformers import PreTrainedTokenizerFast
    from utils import recurrent

    fast = PreTrainedTokenizerFast(tokenizer_file=tokenizer)
    gate = asyncio.Semaphore(AT_ONCE)

    async def read(number: int, text: str) -> int:
        async with gate:
            item = {"_id": number + 1, "context": text, "input": QUESTION}
            assert await recurrent.async_query_llm(item, "bare", fast)
        return -(-len(fast.encode(text.strip())) // CHUNK) + 1 if number == 0 else 0

    async def run() -> int:
        return sum(await asyncio.gather(*(read(number, text) for number, text in enumerate(texts)))) * len(texts)

    return asyncio.run(run())


def run_langchain(texts: list[str], base: str, tokenizer: str) -> int:
    from langchain_classic.chains.summarize import load_summarize_chain
    from langchain_core.documents import Document
    from langchain_openai import ChatOpenAI
    from langchain_text_splitters import RecursiveCharacterTextSplitter
    from transformers import PreTrainedTokenizerFast

    fast = PreTrainedTokenizerFast(tokenizer_file=tokenizer)
    splitter = RecursiveCharacterTextSplitter.from_huggingface_tokenizer(fast, chunk_size=CHUNK, chunk_overlap=0)
    chain = load_summarize_chain(
        ChatOpenAI(model="bare", base_url=base, api_key="-", max_tokens=REPLY), chain_type="refine"
    )

    async def read(text: str, gate: asyncio.Semaphore) -> int:
        pieces = splitter.split_text(text)
        async with gate:
            await chain.ainvoke({"input_documents": [Document(page_content=piece) for piece in pieces]})
        return len(pieces)

    return read_side_by_side(texts, read)


def run_llamaindex(texts: list[str], base: str, tokenizer: str) -> int:
    from llama_index.core import Settings
    from llama_index.core.node_parser import SentenceSplitter
    from llama_index.core.response_synthesizers import ResponseMode, get_response_synthesizer
    from llama_index.llms.openai_like import OpenAILike
    from transformers import PreTrainedTokenizerFast

    fast = PreTrainedTokenizerFast(tokenizer_file=tokenizer)
    Settings.tokenizer = fast.encode
    splitter = SentenceSplitter(chunk_size=CHUNK, chunk_overlap=0, tokenizer=fast.encode)
    # A window that holds a chunk, its prompt and the reply: a smaller one would be filled with several calls.
    llm = OpenAILike(
        model="bare", api_base=base, api_key="-", is_chat_model=True, context_window=16_384, max_tokens=REPLY
    )
    synthesizer = get_response_synthesizer(llm=llm, response_mode=ResponseMode.REFINE)

    async def read(text: str, gate: asyncio.Semaphore) -> int:
        pieces = splitter.split_text(text)
        async with gate:
            await synthesizer.aget_response(QUESTION, pieces)
        return len(pieces)

    return read_side_by_side(texts, read)


CLIENTS = {
    "aiohttp": run_aiohttp,
    "aiohttp-ready": run_ready,
    "bookwheel": run_bookwheel,
    "bookwheel-estimate": run_bookwheel_estimate,
    "memagent": run_memagent,
    "langchain": run_langchain,
    "llamaindex": run_llamaindex,
}


def run_client(name: str, folder: Path, base: str, tokenizer: str) -> None:
    """Read all documents of a folder; print time, CPU time and memory. A short document before warms everything up."""
    texts = [path.read_text("utf-8") for path in sorted(folder.glob("*.txt"))]
    client = CLIENTS[name]
    client([texts[0][:60_000]], base, tokenizer)
    memory = peak_megabytes()
    cpu, began = time.process_time(), time.perf_counter()
    calls = client(texts, base, tokenizer)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    print(json.dumps({"seconds": seconds, "cpu": cpu, "calls": calls, "grown_mb": peak_megabytes() - memory}))


# --- the comparison ---


def measure(name: str, folder: Path, base: str, chunk: int, options: argparse.Namespace) -> dict[str, float] | None:
    """Run one client in a process of its own; None if it fails."""
    python = options.others if name in OTHERS else sys.executable
    environment = {**os.environ, "MEMAGENT": options.memagent or "", "TOKENIZERS_PARALLELISM": "false"}
    environment["CHUNK_TOKENS"] = str(chunk)
    command = [python, __file__, options.tokenizer, "--client", name, "--folder", str(folder), "--base", base]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        print(f"{name} failed:\n{done.stderr[-2000:]}", file=sys.stderr)
        return None
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(scenario: str, delay: float, folder: Path, options: argparse.Namespace) -> None:
    """Print a table: every client in turn, as often as there are rounds, against the bare loop of the same round."""
    sys.path.insert(0, str(HERE.parent / "support"))
    from loopback import SERVER, free_port, wait_for

    port = free_port()
    server = subprocess.Popen([*SERVER, str(port), str(delay)])
    names = [name for name in options.clients if options.others or name not in OTHERS]
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    try:
        wait_for(port)
        for _ in range(options.rounds):
            for name in names:
                if name != "memagent" or options.memagent:
                    found = measure(name, folder, f"http://127.0.0.1:{port}/v1", SCENARIOS[scenario][2], options)
                    rows[name] += [found] if found else []
    finally:
        server.kill()
        server.wait()
    print(f"\n{scenario}, endpoint delay {delay * 1000:g} ms, {options.rounds} rounds\n")
    print(
        "| client | tokens/s (median) | of the bare loop: median (min-max) | CPU s | of its CPU | calls | grown, MB |"
    )
    print("|---|---|---|---|---|---|---|")
    documents, tokens, _ = SCENARIOS[scenario]
    bare = rows["aiohttp"]
    for name, found in rows.items():
        if len(found) == options.rounds == len(bare):
            ratios = [base["seconds"] / one["seconds"] for base, one in zip(bare, found, strict=True)]
            rate = documents * tokens / statistics.median(one["seconds"] for one in found)
            middle, last = statistics.median(ratios), found[-1]
            cpu = statistics.median(one["cpu"] for one in found)
            share = statistics.median(base["cpu"] / one["cpu"] for base, one in zip(bare, found, strict=True))
            print(
                f"| {name} | {rate:,.0f} | {middle:.2f} ({min(ratios):.2f}-{max(ratios):.2f}) "
                f"| {cpu:.1f} | {share:.2f} "
                f"| {last['calls']:.0f} | {max(one['grown_mb'] for one in found):.0f} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tokenizer")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=SCENARIOS)
    parser.add_argument("--delays", type=float, nargs="+", default=[0.0, 0.05])
    parser.add_argument("--clients", nargs="+", choices=CLIENTS, default=[*CLIENTS])
    parser.add_argument("--others")
    parser.add_argument("--memagent")
    parser.add_argument("--client", choices=CLIENTS)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--base")
    options = parser.parse_args()
    if options.client:
        run_client(options.client, options.folder, options.base, options.tokenizer)
        return
    for scenario in [options.only] if options.only else list(SCENARIOS):
        with tempfile.TemporaryDirectory() as folder:
            for number, text in enumerate(texts_of(scenario, options.tokenizer)):
                (Path(folder) / f"{number:03}.txt").write_text(text, "utf-8")
            for delay in options.delays:
                compare(scenario, delay, Path(folder), options)


if __name__ == "__main__":
    main()
