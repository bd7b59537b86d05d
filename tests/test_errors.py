"""What the errors of every room share."""

from __future__ import annotations

import json
import sys
from importlib import metadata
from pathlib import Path

import pytest

from bookwheel.errors import InputError, MissingExtra, find_install_command


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch):
    """Pretend that bookwheel was installed from somewhere: what pip wrote down about it."""

    def pretend(origin: dict | None) -> None:
        class Fake:
            @staticmethod
            def read_text(_name: str) -> str | None:
                return json.dumps(origin) if origin else None

        monkeypatch.setattr(metadata, "distribution", lambda _name: Fake)

    monkeypatch.setattr(sys, "executable", "/opt/my env/bin/python")
    return pretend


PYTHON = "'/opt/my env/bin/python' -m pip install"


def test_the_advice_of_a_checkout_installs_from_the_checkout(install, tmp_path: Path) -> None:
    install({"url": tmp_path.as_uri(), "dir_info": {"editable": True}})
    assert find_install_command("train") == f"{PYTHON} -e '{tmp_path}[train]'"


def test_the_advice_of_a_wheel_names_the_wheel(install, tmp_path: Path) -> None:
    wheel = tmp_path / "a wheel.whl"
    wheel.touch()
    install({"url": wheel.as_uri(), "archive_info": {}})
    assert find_install_command("serve") == f"{PYTHON} '{wheel}[serve]'"
    wheel.unlink()
    assert find_install_command("serve") == f"{PYTHON} 'bookwheel[serve]'"


def test_the_advice_of_a_package_from_the_index_names_the_package(install) -> None:
    install(None)
    assert str(MissingExtra("Serving", "serve")) == f"Serving needs optional packages: {PYTHON} 'bookwheel[serve]'"


def test_the_advice_of_bare_sources_names_the_package(install, monkeypatch: pytest.MonkeyPatch) -> None:
    def lack(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", lack)
    assert find_install_command("serve") == f"{PYTHON} 'bookwheel[serve]'"


def test_no_message_quotes_the_number_of_an_error_of_the_system() -> None:
    with pytest.raises(FileNotFoundError) as caught:
        Path("no-such-file").read_text("utf-8")
    message = str(InputError(f"no-such-file cannot be read: {caught.value}"))
    assert message == "no-such-file cannot be read: No such file or directory: 'no-such-file'"


@pytest.mark.parametrize(
    ("fail", "words"),
    [
        (b"\xff".decode, "it is not utf-8"),
        ("\ud800".encode, "it is not utf-8"),
        (lambda: int("9" * 5000), "a number is too long"),
    ],
)
def test_words_of_python_within_a_message_become_ours(fail, words):
    with pytest.raises(ValueError) as caught:
        fail()
    assert str(InputError(f"a.txt cannot be read: {caught.value}. Mend it (again).")) == (
        f"a.txt cannot be read: {words}. Mend it (again)."
    )
