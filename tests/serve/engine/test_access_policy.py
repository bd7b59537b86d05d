"""No path leads out of the roots, whatever it is made of."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.errors import SourceError
from bookwheel.serve.engine.access_policy import AccessPolicy

PIECES = ["..", ".", "", "a", "b.txt", "out", "up", "/", "~", "secret.txt", ".hidden", "\0", "…", "\ud800", "a" * 300]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    house = tmp_path_factory.mktemp("house")
    (house / "secret.txt").write_text("secret")
    root = house / "root"
    (root / "a").mkdir(parents=True)
    (root / ".hidden").mkdir()
    (root / ".hidden" / "secret.txt").write_text("secret")
    (root / "b.txt").write_text("open")
    (root / "a" / "b.txt").write_text("open")
    (root / "a" / "out").symlink_to(house / "secret.txt")
    (root / "up").symlink_to("..")
    (root / "a" / "up").symlink_to(root / ".hidden")
    return house


@given(pieces=st.lists(st.sampled_from(PIECES), max_size=7), absolute=st.booleans())
@pytest.mark.slow
def test_a_path_is_either_refused_or_leads_into_the_root(house: Path, pieces: list[str], absolute: bool) -> None:
    root = house / "root"
    path = "/".join(pieces)
    try:
        found = AccessPolicy.from_roots([root]).resolve(f"{root}/{path}" if absolute else path)
    except SourceError:
        return
    assert found == found.resolve()
    assert found == root or root in found.parents
    assert "secret" not in found.name
    assert ".hidden" not in found.parts


def test_a_relative_path_is_looked_for_in_every_root(house: Path, tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("open")
    reach = AccessPolicy.from_roots([house / "root", tmp_path])
    assert reach.resolve("c.txt") == tmp_path / "c.txt"
    assert reach.resolve("b.txt") == house / "root" / "b.txt"
    with pytest.raises(SourceError, match="does not exist"):
        reach.resolve("d.txt")


def test_a_root_that_is_a_link_is_what_it_leads_to(house: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(house / "root")
    assert AccessPolicy.from_roots([tmp_path / "link"]).resolve("b.txt") == house / "root" / "b.txt"
    with pytest.raises(SourceError, match="Give a folder"):
        AccessPolicy.from_roots([tmp_path / "nothing"])
