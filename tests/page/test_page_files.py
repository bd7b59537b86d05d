"""What can be told of the page's files without a browser."""

from __future__ import annotations

import ast
import gzip
import re
from pathlib import Path

from bookwheel import record
from bookwheel.flags import Flag
from bookwheel.reading.ways.registry import list_ways, load_spec
from bookwheel.types import Status
from bookwheel.views.verdicts import FLAG_WORDS

PACKAGE = Path(record.__file__).parent
PAGE = PACKAGE / "serve" / "page"


def test_both_languages_say_everything_that_is_asked_for():
    english, chinese = (
        {
            key
            for file in PAGE.glob(f"words-{name}*.js")
            for key in re.findall(r'^  "([^"]+)":', file.read_text("utf-8"), re.MULTILINE)
        }
        for name in ("en", "zh")
    )
    assert english == chinese
    code = "".join(file.read_text("utf-8") for file in PAGE.glob("*.js"))
    assert set(re.findall(r'\bt\("([^"]+)"', code)) <= english
    lists = re.findall(r'new SearchedList\(\{\s*words: "(\w+)"', code)
    assert {f"{words}.{told}" for words in lists for told in ("search", "empty", "none")} <= english
    assert len(lists) > 1
    assert {f"status.{status}" for status in Status} <= english
    # The form does not offer a reading without the document.
    assert {f"way.{way}" for way in list_ways() if way != "closed-book" and load_spec(way).is_general} <= english


def test_the_page_says_of_flags_what_all_other_doors_say():
    said = dict(re.findall(r'^  "flag\.([^"]+)": "([^"]+)"', (PAGE / "words-en.js").read_text("utf-8"), re.MULTILINE))
    assert said == FLAG_WORDS
    assert set(said) == set(Flag)


def written_reasons():
    """Yield every reason that a metric of ours gives, with `1` for what is filled in."""
    for file in (PACKAGE / "lab" / "scoring").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.keyword | ast.Assign) and getattr(node, "arg", "reason") == "reason":
                targets = [target.id for target in getattr(node, "targets", ()) if isinstance(target, ast.Name)]
                if isinstance(node, ast.keyword) or targets == ["reason"]:
                    yield from sentences(node.value)


def sentences(node):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(part.value if isinstance(part, ast.Constant) else "1" for part in node.values)
    elif isinstance(node, ast.IfExp):
        yield from (*sentences(node.body), *sentences(node.orelse))
    elif isinstance(node, ast.Subscript):
        yield from sentences(node.value)
    elif isinstance(node, ast.Dict):
        for value in node.values:
            yield from sentences(value)


def test_every_reason_of_a_score_has_words_in_both_languages():
    rules = re.findall(r"\[/(.+)/s?, \"(reason\.[\w-]+)\"\]", (PAGE / "reasons.js").read_text("utf-8"))
    english = set(re.findall(r'^  "(reason\.[^"]+)":', (PAGE / "words-en-desk.js").read_text("utf-8"), re.MULTILINE))
    assert {key for _, key in rules} == english
    reasons = {reason.replace("repeats 1", "repeats 1%") for reason in written_reasons() if reason}
    assert len(reasons) > 20
    assert [one for one in sorted(reasons) if not any(re.search(rule, one, re.DOTALL) for rule, _ in rules)] == []


def test_what_a_report_says_on_the_page_has_words_in_both_languages():
    rules = re.findall(r"\[/(.+)/, \"(?:report|outcome)\..+\"\]", (PAGE / "reasons.js").read_text("utf-8"))
    builders = {"_build_failures", "_build_provenance", "_format_seeds"}
    said = []
    for function in ast.walk(ast.parse((PACKAGE / "lab" / "evaluation" / "layout.py").read_text("utf-8"))):
        if not isinstance(function, ast.FunctionDef) or function.name not in builders:
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.keyword) and node.arg == "caption"):
                said += sentences(getattr(node, "value", node))
            if isinstance(node, ast.Tuple):
                said += [text for one in node.elts for text in sentences(one)]
    said = [text for text in said if text and ": " not in text]
    assert len(said) > 14
    assert [text for text in said if not any(re.search(rule, text) for rule in rules)] == []


def test_no_note_on_a_document_names_an_option_of_the_command_line():
    rules = re.findall(r"\[/(.+)/[si]?, \"(?:note)\.[\w-]+\"\]", (PAGE / "refusals.js").read_text("utf-8"))
    files = (PACKAGE / "documents" / "readers").glob("*.py")
    kinds = [kind for file in files for kind in re.findall(r'warnings\.add\("([^"]+)"', file.read_text("utf-8"))]
    with_options = [f"{kind}: ledger.pdf (9 words)" for kind in kinds if "--" in kind]
    assert len(with_options) == len(rules) == 2
    assert all(any(re.search(rule, note) for rule in rules) for note in with_options)


def test_the_first_load_is_small():
    # The library, its styles and its words; what is imported within a function is loaded when it is asked for.
    todo, loaded = [PAGE / "app.js"], {PAGE / "index.html", PAGE / "wheel.svg", *PAGE.glob("*.css")}
    while todo:
        file = todo.pop()
        if file not in loaded:
            loaded.add(file)
            imported = re.findall(
                r'^(?:import|export) .*?from "\./([\w-]+\.js)"', file.read_text("utf-8"), re.MULTILINE
            )
            todo += [PAGE / name for name in imported]
    assert {"library.js", "words-zh.js", "look.css"} <= {file.name for file in loaded}
    assert sum(len(gzip.compress(file.read_bytes())) for file in loaded) < 75_000
    everything = [file for file in PAGE.iterdir() if file.name != "sample.json"]
    assert sum(len(gzip.compress(file.read_bytes())) for file in everything) < 165_000


def test_every_rule_has_a_file_that_is_short() -> None:
    long = {
        file.name: count for file in PAGE.glob("*.js") if (count := len(file.read_text("utf-8").splitlines())) > 350
    }
    assert long == {}


def test_nothing_is_asked_of_other_places():
    for file in (file for file in PAGE.iterdir() if file.suffix != ".json"):
        said = file.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://[\w.]|innerHTML|insertAdjacentHTML|document\.write|eval\(", said), file.name
