"""Words kept and processor time of opening real documents, against other programs and an older tree.

    apt-get download debian-handbook debian-policy developers-reference debmake-doc maint-guide
    for package in *.deb; do dpkg-deb -x $package DOCS; done
    python benchmarks/quality/extraction.py DOCS
    python benchmarks/quality/extraction.py DOCS --source OTHER/src --no-engines

What a document should hold comes from another reader: the standard library's parser of HTML for pages and books, and
for a PDF the book of the same manual; a book also has addresses of links that no print shows, so a second share counts
only those of its words that poppler's `pdftotext` finds in the print (apt-get install poppler-utils). Words in neither
are invented. `pip install pypdf trafilatura` for the comparison with them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unicodedata
import zipfile
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

SHARE = "usr/share"
# Name, document, and the place of the words that it should hold.
DOCUMENTS = (
    ("handbook, 107 pages of HTML", "doc/debian-handbook/html/en-US", ""),
    ("maint-guide, HTML", "doc/maint-guide/html", "*.en.html"),
    ("policy, EPUB", "doc/debian-policy/policy.epub", ""),
    ("developers-reference, EPUB", "developers-reference/developers-reference.epub", ""),
    ("debmake-doc, EPUB", "doc/debmake-doc/debmake-doc.en.epub", ""),
    ("debmake-doc in Chinese, EPUB", "doc/debmake-doc/debmake-doc.zh-cn.epub", ""),
    ("policy, PDF", "doc/debian-policy/policy.pdf.gz", "doc/debian-policy/policy.epub"),
    (
        "developers-reference, PDF",
        "developers-reference/developers-reference.pdf",
        "developers-reference/developers-reference.epub",
    ),
    ("debmake-doc, PDF", "doc/debmake-doc/debmake-doc.en.pdf", "doc/debmake-doc/debmake-doc.en.epub"),
    ("debmake-doc in German, PDF", "doc/debmake-doc/debmake-doc.de.pdf", "doc/debmake-doc/debmake-doc.de.epub"),
    ("debmake-doc in Japanese, PDF", "doc/debmake-doc/debmake-doc.ja.pdf", "doc/debmake-doc/debmake-doc.ja.epub"),
)
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
OPEN = """
import json, sys
from bookwheel.documents.opening import open_document
document = open_document(sys.argv[1:])
text = "".join(part.text for part in document.parts())
json.dump([text, list(document.notes)], open(sys.argv[0] + ".out", "w"))
"""
ENGINES = {
    "PDFium": """
import pypdfium2
from pathlib import Path
for page in pypdfium2.PdfDocument(Path(sys.argv[1])):
    page.get_textpage().get_text_range()
""",
    "pypdf": """
import pypdf
for page in pypdf.PdfReader(sys.argv[1]).pages:
    page.extract_text()
""",
    "trafilatura": """
import trafilatura
from pathlib import Path
for name in sys.argv[1:]:
    trafilatura.extract(Path(name).read_text("utf-8"), output_format="markdown", favor_recall=True)
""",
}


class Visible(HTMLParser):
    """The words of a page's body, without menus."""

    HIDDEN = frozenset(("script", "style", "head", "nav", "noscript", "template", "select", "button"))

    INLINE = frozenset("a abbr b code em font i q small span strong sub sup tt var".split())  # noqa: SIM905

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Part words at the beginning of anything but a run of text."""
        if tag in self.HIDDEN:
            self._hidden.append(tag)
        if tag not in self.INLINE:
            self.text.append(" ")
        if tag == "img":
            self.text.append(f" {dict(attrs).get('alt') or ''} ")

    def handle_endtag(self, tag: str) -> None:
        """Part words at the end of a block."""
        if self._hidden and tag == self._hidden[-1]:
            self._hidden.pop()
        if tag in {"p", "div", "li", "td", "th", "dt", "dd", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "caption"}:
            self.text.append(" ")

    def handle_data(self, data: str) -> None:
        """Take visible text."""
        if not self._hidden:
            self.text.append(data)


def words_of(text: str) -> Counter[str]:
    plain = unicodedata.normalize("NFKC", text).replace("\N{SOFT HYPHEN}", "").lower()
    return Counter(WORD.findall(plain))


def page_words(markup: str) -> Counter[str]:
    parser = Visible()
    parser.feed(markup)
    return words_of("".join(parser.text))


def gold_words(path: Path) -> Counter[str]:
    if path.suffix == ".epub":
        total: Counter[str] = Counter()
        with zipfile.ZipFile(path) as book:
            package = next(name for name in book.namelist() if name.endswith(".opf"))
            spine = book.read(package).decode()
            hrefs = dict(
                (found[2], found[1]) if found[0] == "href" else (found[1], found[2])
                for item in re.findall(r"<item\s[^>]*>", spine)
                for found in [("id", *(re.search(rf'\b{key}="([^"]*)"', item)[1] for key in ("id", "href")))]
            )
            for ref in re.findall(r'<itemref[^>]*idref="([^"]*)"', spine):
                total += page_words(book.read(str(Path(package).parent / hrefs[ref])).decode())
        return total
    return sum((page_words(page.read_text("utf-8")) for page in list_pages(path, "*.html")), Counter())


def list_pages(path: Path, pattern: str) -> list[Path]:
    return sorted(path.glob(pattern or "*.html"))


def print_words(path: Path) -> Counter[str]:
    """Return the words that poppler finds in a PDF; none without poppler."""
    if not shutil.which("pdftotext"):
        return Counter()
    done = subprocess.run(["pdftotext", "-enc", "UTF-8", path, "-"], check=True, capture_output=True)
    return words_of(done.stdout.decode())


def describe(gold: Counter[str], found: Counter[str], printed: Counter[str]) -> tuple[str, ...]:
    """Return the shares of words kept, of those kept that the print shows, and of those invented."""
    shown = gold & printed if printed else gold
    shares = [(gold & found, gold), (shown & found, shown), (found - (gold | printed), found)]
    return tuple(f"{100 * part.total() / whole.total():.2f}" for part, whole in shares)


def run(code: str, arguments: list[str], source: str = "") -> tuple[float, Path]:
    """Return the processor seconds of a program and its children."""
    script = Path(tempfile.mkdtemp()) / "run.py"
    script.write_text(f"import sys\n{code}")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, **({"PYTHONPATH": source} if source else {})}
    subprocess.run([sys.executable, str(script), *arguments], check=True, env=environment, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, script.with_name("run.py.out")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--source", default=str(Path(__file__).resolve().parents[2] / "src"))
    options.add_argument("--no-engines", action="store_true")
    options.add_argument("--only", default="", help="documents whose name has this in it")
    chosen = options.parse_args()
    heads = ("document", "words", "kept %", "of those printed %", "invented %", "headings", "CPU s", "ratios of CPU s")
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for name, place, gold_place in DOCUMENTS:
        path = chosen.folder / SHARE / place
        if chosen.only not in name:
            continue
        if not path.exists():
            print(f"| {name} | missing | | | | |")
            continue
        if path.is_dir():
            pages = list_pages(path, gold_place)
            gold: Counter[str] = sum((page_words(page.read_text("utf-8")) for page in pages), Counter())
            arguments = [str(page) for page in pages] if gold_place else [str(path)]
        else:
            gold = gold_words(chosen.folder / SHARE / gold_place if gold_place else path)
            arguments = [str(path)]
        if path.suffix == ".gz":
            plain = Path(tempfile.mkdtemp()) / path.stem
            plain.write_bytes(gzip.decompress(path.read_bytes()))
            arguments = [str(plain)]
        seconds, out = run(OPEN, arguments, chosen.source)
        text, _ = json.loads(out.read_text())
        printed = print_words(Path(arguments[0])) if ".pdf" in path.name else Counter()
        shares = describe(gold, words_of(text), printed)
        headings = sum(line.startswith("#") for line in text.splitlines())
        ratios = []
        for engine, code in {} if chosen.no_engines else ENGINES.items():
            if (engine == "trafilatura") == path.is_dir() and (path.is_dir() or ".pdf" in path.name):
                files = [str(page) for page in list_pages(path, gold_place)] if path.is_dir() else arguments
                alone, _ = run(code, files)
                ratios.append(f"{seconds / alone:.2f} of {engine}")
        row = (name, f"{gold.total():,}", *shares, str(headings), f"{seconds:.1f}", ", ".join(ratios))
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
