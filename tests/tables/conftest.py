"""The real server of `loopback_server`, and the command line over a model that reads payments truly."""

from __future__ import annotations

from pathlib import Path

import pytest
from loopback_server import _uvicorn_looks_often, serving
from table_model import make_model

__all__ = ["_uvicorn_looks_often", "serving"]


@pytest.fixture
def model():
    """What the command line reads with."""
    return make_model()


@pytest.fixture
def run(model, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command):
    async def open_model(*_words: object, **_settings: object):
        return model

    monkeypatch.setattr("bookwheel.models.registry.open_model", open_model)
    monkeypatch.setenv("BOOKWHEEL_JOURNAL", str(tmp_path / "journal.sqlite"))
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    return command
