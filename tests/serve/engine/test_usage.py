"""The usage store: what it was told it knows after a restart, for the right key, the right day and the right reading."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from threading import Thread

import pytest

from bookwheel.errors import JournalError
from bookwheel.journal.files import SYNCHRONOUS  # as it is before a test runs
from bookwheel.serve.engine import usage as module
from bookwheel.serve.engine.usage import UsageEntry, UsageStore, today


@pytest.fixture
def store(tmp_path: Path):
    store = UsageStore(tmp_path / "journal.sqlite")
    yield store
    store.close()


def entry(id_: str, **more: object) -> UsageEntry:
    return UsageEntry(id=id_, **{"key_name": "a", **more})


def test_an_entry_comes_back_as_it_was_saved(store: UsageStore) -> None:
    saved = entry("r1", idempotency_key="one", fingerprint="f00", is_open=False)
    store.save_reading(saved)
    assert store.find_reading("a", "one") == saved
    assert store.find_reading("b", "one") is None
    assert store.find_reading("a", "two") is None


def test_open_readings_are_listed_oldest_first_until_they_are_closed_or_deleted(store: UsageStore) -> None:
    for id_ in ("r3", "r1", "r2"):
        store.save_reading(entry(id_))
    store.save_reading(entry("r0", is_open=False))
    assert [one.id for one in store.list_open()] == ["r3", "r1", "r2"]
    store.set_ended("r1")
    store.save_reading(entry("r0"))
    store.delete_reading("r3")
    assert {one.id for one in store.list_open()} == {"r2", "r0"}


def test_of_ended_readings_those_that_a_client_waited_for_are_not_listed(store: UsageStore) -> None:
    for id_, is_open in (("r1", True), ("r2", False), ("r3", True), ("r4", True)):
        store.save_reading(entry(id_, is_open=is_open))
    for id_ in ("r1", "r2", "r4"):
        store.set_ended(id_)
    assert [one.id for one in store.list_ended(["r4", "r3", "r2", "r1", "nobody"])] == ["r1", "r4"]
    assert [one.id for one in store.list_ended(["r1"])] == ["r1"]


def test_a_reading_that_continues_keeps_the_request_that_started_it(store: UsageStore) -> None:
    store.save_reading(entry("r1", idempotency_key="one", fingerprint="f00", is_open=False))
    store.save_reading(entry("r1", key_name="b"))
    found = store.find_reading("a", "one")
    assert (found.id, found.fingerprint, found.is_open) == ("r1", "f00", True)


def test_one_request_cannot_start_two_readings_of_one_key(store: UsageStore) -> None:
    store.save_reading(entry("r1", idempotency_key="one"))
    store.save_reading(entry("r2", key_name="b", idempotency_key="one"))
    with pytest.raises(JournalError):
        store.save_reading(entry("r3", idempotency_key="one"))


def test_tokens_add_up_for_each_key_and_day(store: UsageStore, monkeypatch: pytest.MonkeyPatch) -> None:
    assert store.tokens_today("a") == 0
    store.add_tokens("a", 5)
    store.add_tokens("a", 7)
    store.add_tokens("b", 1)
    assert (store.tokens_today("a"), store.tokens_today("b")) == (12, 1)
    monkeypatch.setattr(module, "today", lambda: "2999-01-01")
    assert store.tokens_today("a") == 0
    store.add_tokens("a", 3)
    assert store.tokens_today("a") == 3


def test_all_of_it_survives_a_restart_beside_the_journal(tmp_path: Path) -> None:
    journal = tmp_path / "journal.sqlite"
    first = UsageStore(journal)
    first.save_reading(entry("r1"))
    first.add_tokens("a", 5)
    first.close()
    again = UsageStore(journal)
    assert [one.id for one in again.list_open()] == ["r1"]
    assert again.tokens_today("a") == 5
    assert again.path == tmp_path / "journal.sqlite.serve"
    again.close()


def test_many_threads_lose_no_token(store: UsageStore) -> None:
    threads = [Thread(target=lambda: [store.add_tokens("a", 1) for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.tokens_today("a") == 200


def test_a_store_that_cannot_be_opened_says_so(tmp_path: Path) -> None:
    with pytest.raises(JournalError):
        UsageStore(tmp_path / "no" / "journal.sqlite")


def test_a_day_ends_at_midnight_by_utc() -> None:
    before = datetime.now(UTC).date().isoformat()
    assert today() in {before, datetime.now(UTC).date().isoformat()}


def test_a_commit_waits_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bookwheel.journal.files.SYNCHRONOUS", SYNCHRONOUS)
    store = UsageStore(tmp_path / "journal.sqlite")
    assert store._connection.execute("PRAGMA synchronous").fetchone()[0] >= 2
    store.close()
