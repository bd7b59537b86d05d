"""A journal, sessions over a scripted model, and memories begun in them."""

from __future__ import annotations

import pytest
from value_notes import PLAN, note_values

from bookwheel.journal import Journal
from bookwheel.memory.opened import begin_memory, open_memory
from bookwheel.models.patience import Patience
from bookwheel.models.scripted import ScriptedModel
from bookwheel.session import Session


@pytest.fixture
def journal(tmp_path):
    with Journal(tmp_path / "journal.sqlite") as journal:
        yield journal


@pytest.fixture
def make_session(journal):
    def make(script=note_values, **settings) -> Session:
        return Session(
            model=ScriptedModel(script, plan=PLAN, **settings), journal=journal, patience=Patience(seconds=0)
        )

    return make


@pytest.fixture
def session(make_session) -> Session:
    return make_session()


@pytest.fixture
def begin():
    async def begin_and_open(session, name="ada", **settings):
        await begin_memory(session, name, "Everything about Ada", PLAN, **settings)
        return open_memory(session, name)

    return begin_and_open


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
