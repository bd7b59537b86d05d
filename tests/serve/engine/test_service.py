"""What a key may see and spend, asked of the service itself."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import pytest

from bookwheel.documents.opening import TextDocument
from bookwheel.errors import BudgetReached, InputError, JournalError
from bookwheel.journal import Journal
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.serve.engine.access import Key, KeyRing
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.engine.running_reading import Caller
from bookwheel.serve.engine.service import ReadingSpec, Service
from bookwheel.serve.engine.usage import UsageEntry
from bookwheel.serve.http.answers import error_response

DOCUMENT = TextDocument("The harbour master of Skarholm is Ada Quill.", "log")
SHA = hashlib.sha256(DOCUMENT.text.encode()).hexdigest()
ADA = Key(name="ada", sha256="a" * 64, tokens_per_day=100)
BO = Key(name="bo", sha256="b" * 64)


@pytest.fixture
def service(tmp_path: Path):
    with Journal(tmp_path / "journal.sqlite") as journal:
        model = ScriptedModel(keyword_reader)
        yield Service(journal=journal, models={"scripted": model}, keys=KeyRing([ADA, BO]))


def test_a_key_has_one_quota_and_a_key_without_a_limit_none(service: Service) -> None:
    quota = service.quota(ADA)
    assert quota is not None
    assert service.quota(ADA) is quota
    assert service.quota(BO) is None
    assert service.quota(None) is None


def test_a_journal_that_cannot_be_written_for_an_hour_keeps_no_unread_documents_for_ever(service, monkeypatch) -> None:
    tries = []

    def delete_unread() -> None:
        tries.append(1)
        if len(tries) == 1:
            raise JournalError("the disk is full")

    monkeypatch.setattr(service.journal, "delete_unread", delete_unread)
    monkeypatch.setattr("bookwheel.serve.engine.service._SECONDS_BETWEEN_DROPS", 0.001)
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(service.drop_unread(), 0.5))
    assert len(tries) > 1


def test_a_reading_beyond_the_days_quota_is_refused_before_its_document_is_opened(service: Service) -> None:
    quota = service.quota(ADA)
    assert quota
    asyncio.run(quota.settle(100))

    async def open_document() -> TextDocument:
        raise AssertionError("the document was opened")

    spec = ReadingSpec(model="scripted", plan=service.plans["scripted"])
    with pytest.raises(BudgetReached, match="ada"):
        asyncio.run(service.prepare(spec, "Who?", open_document, Caller(key=ADA)))


@pytest.mark.parametrize("sha", ["last", "../journal", SHA.upper(), SHA[:-1], SHA + "0", "0" * 64])
def test_only_the_name_of_a_kept_document_finds_one(service: Service, sha: str) -> None:
    service.journal.keep(DOCUMENT)
    with pytest.raises(ApiError) as error:
        asyncio.run(service.get_document(sha, None))
    assert error.value.status == 404
    assert asyncio.run(service.get_document(SHA, None)).length == len(DOCUMENT.text)


def test_a_key_does_not_find_what_another_brought(service: Service) -> None:
    service.journal.keep(DOCUMENT)
    with pytest.raises(ApiError, match="upload it again"):
        asyncio.run(service.get_document(SHA, BO))


@pytest.mark.parametrize("name", ["", "last", "0", "unknown"])
def test_a_key_without_readings_finds_none_by_any_name(service: Service, name: str) -> None:
    with pytest.raises(ApiError) as error:
        asyncio.run(service.find_id(name, BO))
    assert error.value.status == 404


def test_a_key_names_its_readings_by_their_ids_their_beginnings_or_last(service: Service) -> None:
    for id_, key in (("aaaa1111", "bo"), ("aaaa2222", "bo"), ("bbbb3333", "bo"), ("cccc4444", "ada")):
        service.usage.save_reading(UsageEntry(id=id_, key_name=key))
    found = {name: asyncio.run(service.find_id(name, BO)) for name in ("aaaa1111", "bb", "last")}
    assert found == {"aaaa1111": "aaaa1111", "bb": "bbbb3333", "last": "bbbb3333"}
    with pytest.raises(ApiError, match="'aaaa' matches more than one reading, as aaaa1111, aaaa2222; give more of"):
        asyncio.run(service.find_id("aaaa", BO))
    for name in ("", "cccc4444"):
        with pytest.raises(ApiError, match="reading of that name"):
            asyncio.run(service.find_id(name, BO))


def test_a_key_finds_what_it_brought_itself(service: Service) -> None:
    service.usage.add_document(BO.name, SHA, service.journal.keep(DOCUMENT).row)
    assert asyncio.run(service.get_document(SHA, BO)).length == len(DOCUMENT.text)
    with pytest.raises(ApiError, match="upload it again"):
        asyncio.run(service.get_document(SHA, ADA))
    with pytest.raises(ApiError, match="no document of that name here"):
        asyncio.run(service.get_document("last", BO))


@pytest.mark.parametrize("path", ["/readings", "/v1/chat/completions"])
def test_an_error_names_settings_as_a_request_has_them(path: str) -> None:
    said = error_response(InputError("raise --question-tokens, or lower --max-cost; see --help"), path).body
    assert b"raise question_tokens, or lower budget.cost; see --help" in said
