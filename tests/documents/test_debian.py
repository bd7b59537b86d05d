"""Manuals as Debian ships them: fetched from the system's package archive when the tests run, never kept here."""

import shutil
import subprocess

import extraction
import pytest

from bookwheel.documents.opening import open_document

pytestmark = pytest.mark.slow
# The least share of the words that another reader finds. Running titles and repeated menus are left out of ours, and
# the book of a manual has addresses that its print does not show.
MANUALS = {
    ("debian-policy", "doc/debian-policy/policy.epub", ""): 0.995,
    ("debian-policy", "doc/debian-policy/policy.pdf.gz", "doc/debian-policy/policy.epub"): 0.99,
    ("maint-guide", "doc/maint-guide/html/advanced.en.html", ""): 0.995,
}


@pytest.fixture(scope="session")
def debian(tmp_path_factory):
    """Return a function that unpacks a package and returns its folder; skip where there is none to be had."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        pytest.skip("needs Debian's apt-get")
    folder = tmp_path_factory.mktemp("debian")

    def unpack(package):
        if not list(folder.glob(f"{package}_*.deb")):
            fetch = ["apt-get", "download", package]
            if subprocess.run(fetch, cwd=folder, capture_output=True, check=False, timeout=120).returncode:
                pytest.skip(f"{package} cannot be fetched: run apt-get update, or connect to an archive")
            subprocess.run(["dpkg-deb", "-x", *folder.glob(f"{package}_*.deb"), "unpacked"], cwd=folder, check=True)
        return folder / "unpacked" / extraction.SHARE

    return unpack


@pytest.mark.parametrize(("package", "place", "gold_place"), MANUALS)
def test_a_manual_keeps_its_words(debian, package, place, gold_place):
    share = debian(package)
    path = share / place
    gold_path = share / (gold_place or place)
    gold = (
        extraction.gold_words(gold_path)
        if gold_path.suffix == ".epub"
        else extraction.page_words(gold_path.read_text())
    )
    text = "".join(part.text for part in open_document([path], ocr="off").parts())
    kept = sum((gold & extraction.words_of(text)).values()) / sum(gold.values())
    assert kept >= MANUALS[package, place, gold_place]
