"""Every fault that a second try can mend is mended, streamed or not, with TLS and without; every other ends at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest
from fault_server import FaultServer, chain_reply, load_tls
from faults import FAULTS, SLOW

from bookwheel.errors import ModelError, QuotaUsedUp, Refused, UnknownModel, WindowExceeded, is_passing_kind
from bookwheel.models.openai import OpenAIModel
from bookwheel.models.patience import Patience, PatientModel
from bookwheel.plan import Sampling
from bookwheel.reading.guards import is_empty
from bookwheel.types import Message

PROMPT = "<question>\nWhy?\n</question>\n<memory>\n\n</memory>\n<section>\nThe lamp was lit.\n</section>"
GOOD = chain_reply(PROMPT)
STREAMS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


class Up:
    """A fault server in a thread of its own."""

    def __init__(self, folder: Path | None = None) -> None:
        self.port: Future[int] = Future()
        self._loop = asyncio.new_event_loop()
        self._folder = folder
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),))
        self._thread.start()
        scheme = "https" if folder else "http"
        self.url = f"{scheme}://127.0.0.1:{self.port.result(30)}/v1"

    async def _serve(self) -> None:
        self._end = asyncio.Event()
        tls = load_tls(self._folder) if self._folder else None
        self.faults = FaultServer()
        server = await asyncio.start_server(self.faults.serve, "127.0.0.1", 0, ssl=tls)
        self.port.set_result(server.sockets[0].getsockname()[1])
        await self._end.wait()
        server.close()
        await self.faults.close()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()
        self._loop.close()


@pytest.fixture(scope="module")
def plain() -> Iterator[Up]:
    up = Up()
    yield up
    up.close()


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    pytest.importorskip("cryptography")
    folder = tmp_path_factory.mktemp("tls")
    up = Up(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(folder / "fault-server.pem"))
        yield up
    up.close()


async def _no_wait(_seconds: float) -> None:
    await asyncio.sleep(0)


def ask(up: Up, name: str, *, stream: bool, patience: Patience | None = None, timeout: float = 0.3) -> str:
    """Ask once through the patient model; the server plays the fault at the first try."""

    async def run() -> str:
        model = OpenAIModel(
            name=f"fault:{name}", base_url=up.url, stream=stream, timeout=timeout, deadline=timeout + 0.5
        )
        patient = PatientModel(model, patience or Patience(), is_empty=is_empty, sleep=_no_wait)
        # A prompt of its own for every case: the server counts tries by prompt.
        note = f"{name} {stream} {up.url} {patience}"
        messages = [Message(role="system", content=note), Message(role="user", content=PROMPT)]
        try:
            return (await patient.reply(messages, limit=64, sampling=Sampling())).text
        finally:
            await model.aclose()

    return asyncio.run(run())


def test_there_are_faults_enough() -> None:
    assert len(FAULTS) >= 35


@STREAMS
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in sorted(FAULTS)]
)
def test_a_passing_fault_is_mended_by_the_next_try(plain: Up, name: str, stream: bool) -> None:
    assert ask(plain, name, stream=stream) == GOOD
    assert plain.faults.played[name] >= 1


@pytest.mark.slow
@STREAMS
@pytest.mark.parametrize("name", sorted(FAULTS))
def test_over_tls_too(tls: Up, name: str, stream: bool) -> None:
    assert ask(tls, name, stream=stream) == GOOD
    assert tls.faults.played[name] >= 1


@STREAMS
@pytest.mark.parametrize("name", sorted(set(FAULTS) - SLOW))
def test_without_patience_every_fault_is_an_error_of_ours_or_an_empty_reply(plain: Up, name: str, stream: bool) -> None:
    """No fault passes for a reply: otherwise the test above would prove nothing."""
    text, most_tries, is_passing, kind = "", 2, False, ""
    try:
        text = ask(plain, name, stream=stream, patience=Patience(seconds=0))
    except ModelError as error:
        most_tries, is_passing, kind = error.most_tries, error.is_passing, type(error).__name__
    assert is_empty(text)
    assert most_tries > 1
    # A server that starts anew has the kind alone.
    assert is_passing_kind(kind) is is_passing


@STREAMS
@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("wrong-key", Refused),
        ("json-403", Refused),
        ("no-credit", QuotaUsedUp),
        ("no-model", UnknownModel),
        ("too-long", WindowExceeded),
    ],
)
def test_what_cannot_mend_is_asked_once(plain: Up, name: str, error: type[ModelError], stream: bool) -> None:
    before = plain.faults.requests
    with pytest.raises(error) as caught:
        # The server replies at once. On a busy machine that can take longer than a silence that is to be noticed soon,
        # and a second try would be answered.
        ask(plain, name, stream=stream, timeout=10)
    assert not is_passing_kind(type(caught.value).__name__)
    assert plain.faults.requests == before + 1
