"""Documents on their way into the journal: texts of requests, uploads, files that a client may read, addresses.

Fetching and converting can take long, so each has its own bounded number of places, shared fairly among clients, and
neither uses the threads that the journal is read with. Conversion happens in child processes with limits.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

from bookwheel.documents.cancellation import ChildLimits, run_cancellable
from bookwheel.documents.opening import TextDocument, open_document, open_fetched, open_isolated
from bookwheel.documents.readers.pictures import MOST_KEPT
from bookwheel.documents.sources import to_printable
from bookwheel.documents.web import fetch
from bookwheel.errors import JournalFull, NotKept, SourceError
from bookwheel.journal import Journal, StoredDocument
from bookwheel.journal.files import measure_journal
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.engine.settings import Limits
from bookwheel.serve.engine.sharing import FairQueue
from bookwheel.serve.engine.usage import UsageStore
from bookwheel.types import Document

_LONGEST_STEM: Final = 120
# A busy machine gives a conversion a part of its time: so much longer it may take on the clock.
_BUSY: Final = 4
# Characters of a text that become its name.
_LONGEST_OPENING: Final = 60
_LONGEST_SUFFIX: Final = 16
_LONGEST_NAME_BYTES: Final = 240  # file systems end at 255 bytes
_MARKUP: Final = re.compile(r"[\\/#*_<>]")
_WEB: Final = ("http://", "https://")
# Uploads under way for each conversion: they wait for slow clients, not for the processor.
_UPLOADS_PER_CONVERSION: Final = 8
# Times the seconds of a conversion that the words in its pictures may take.
_PICTURES_PER_CONVERSION: Final = 5
# Bytes of a conversion's pictures, in the form in which they come from its child.
_PICTURES_AS_TEXT: Final = MOST_KEPT * 4 // 3


def safe_name(name: str) -> str:
    """Return the last part of a stranger's file name, made safe: it leads to no other folder."""
    last = name.replace("\\", "/").rpartition("/")[2]
    printable = to_printable(last).encode("utf-8", "replace").decode().strip()
    if not printable.strip("."):
        return "document"
    stem, dot, suffix = printable.rpartition(".")
    # A sentence may have dots too: "Dr. Frayne rode out".
    if not dot or " " in suffix or len(suffix) > _LONGEST_SUFFIX:
        stem, dot, suffix = printable, "", ""
    short = f"{stem[:_LONGEST_STEM]}{dot}{suffix}"
    if len(short.encode()) <= _LONGEST_NAME_BYTES:
        return short
    return f"document{dot}{suffix if suffix.isascii() else ''}"


def shorten_name(text: str) -> str:
    line = " ".join(_MARKUP.sub(" ", text.strip().partition("\n")[0]).split())
    if len(line) <= _LONGEST_OPENING:
        return line
    cut = line[:_LONGEST_OPENING]
    words = cut.rpartition(" ")[0]
    # Chinese has no spaces between its words.
    return f"{words if 2 * len(words) > len(cut) else cut}…"


class DocumentStore:
    """Fetches, converts and stores documents. `client` is the key's name: it takes turns, and owns what it stores."""

    def __init__(self, journal: Journal, usage: UsageStore, limits: Limits) -> None:
        self._journal = journal
        self._usage = usage
        self._limits = limits
        self._child_limits = ChildLimits(
            seconds=_BUSY * limits.conversion_seconds,
            cpu_seconds=limits.conversion_seconds,
            memory_bytes=limits.conversion_memory,
            output_bytes=limits.text_bytes + _PICTURES_AS_TEXT,
            picture_seconds=_PICTURES_PER_CONVERSION * limits.conversion_seconds,
        )
        self._conversions = FairQueue(limits.conversions, most_waiting=limits.waiting_documents)
        self._fetches = FairQueue(limits.fetches, most_waiting=limits.waiting_documents)
        self._uploads = FairQueue(limits.conversions * _UPLOADS_PER_CONVERSION, most_waiting=limits.waiting_documents)

    @asynccontextmanager
    async def receive_upload(self, client: str) -> AsyncGenerator[None]:
        """Hold a place while an upload is received. Raise ApiError when there is no room for one."""
        self._uploads.check_capacity()
        self._conversions.check_capacity()
        await self.check_disk()
        async with self._uploads.slot(client):
            yield

    async def store_text(self, text: str, name: str | None, client: str) -> StoredDocument:
        if not text.strip():
            raise SourceError("the text is empty: give a document with text in it")
        await self.check_disk()
        document = TextDocument(text, safe_name(name or shorten_name(text) or "text"))
        return await self._store(document, client, renames=bool(name))

    async def store_path(self, path: Path, client: str) -> StoredDocument:
        return await self.store_paths([path], client)

    async def store_paths(self, paths: Sequence[Path], client: str, *, renames: bool = True) -> StoredDocument:
        """Store files, or a folder, as one document; unless it `renames`, a text that is known keeps its name."""
        await self.check_disk()
        self._conversions.check_capacity()
        async with self._conversions.slot(client):
            if len(paths) > 1 or await asyncio.to_thread(paths[0].is_dir):
                # Each of its files has a child of its own, so that a hostile one is left out alone.
                folder = await run_cancellable(open_document, paths, limits=self._child_limits)
                return await self._store(folder, client, renames=renames)
            return await self._store(open_isolated(paths[0], to_printable(paths[0].name)), client, renames=renames)

    async def store_url(self, url: str, client: str, *, allow_private: bool) -> StoredDocument:
        # A path must never reach what opens files, so anything but an address is declined first.
        if not url.lower().startswith(_WEB):
            raise SourceError("url must begin with http:// or https://; upload files instead")
        await self.check_disk()
        self._fetches.check_capacity()
        most, seconds = self._limits.upload_bytes, self._limits.fetch_seconds
        work = partial(fetch, url, allow_private=allow_private, most_bytes=most, most_seconds=seconds)
        async with self._fetches.slot(client):
            source = await run_cancellable(work)
        async with self._conversions.slot(client):
            return await self._store(open_fetched(source), client)

    async def _store(self, document: Document, client: str, *, renames: bool = True) -> StoredDocument:
        most = self._limits.journal_bytes
        find_known = None if renames else partial(self._find_known, client)
        try:
            stored: StoredDocument = await run_cancellable(
                self._journal.keep, document, most, find_known, limits=self._child_limits
            )
        except JournalFull as error:
            raise _disk_error(most or 0) from error
        await asyncio.to_thread(self._usage.add_document, client, stored.id, stored.row)
        return stored

    def _find_known(self, client: str, sha: str) -> int | None:
        if client:
            return self._usage.find_document(client, sha)
        with suppress(NotKept):
            return self._journal.document(sha).row
        return None

    async def check_disk(self) -> None:
        """Raise a 507 when the journal fills the disk that it may fill."""
        most = self._limits.journal_bytes
        if most is not None and await asyncio.to_thread(measure_journal, self._journal.path) >= most:
            raise _disk_error(most)


def _disk_error(most: int) -> ApiError:
    message = f"the server's journal has reached its {most >> 20} MiB: delete readings, or ask whoever runs the server"
    return ApiError(507, f"{message} for more room (--journal-limit)", kind="disk_quota")
