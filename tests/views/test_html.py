"""The page shows everything as text, asks for nothing from anywhere, and tells what happened."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.claims import Claim, Evidence, Verdict
from bookwheel.flags import Flag
from bookwheel.plan import Plan
from bookwheel.types import Answer, Chunk, Conversation, DocumentInfo, Memory, Reading, Reply, Status, Step, Usage
from bookwheel.verdict.provenance import LineOrigin
from bookwheel.views.html import render_fragment, render_page

HOSTILE = (
    "<script>alert(1)</script>",
    "</title></style><script src=//evil.example/x.js></script>",
    '"><img src=x onerror=alert(1)>',
    "<svg/onload=alert(1)>",
    "javascript:alert(1)",
    "<a href='javascript:alert(1)'>x</a>",
    "<iframe srcdoc='<script>1</script>'>",
    "--><!-- <!DOCTYPE x [<!ENTITY y SYSTEM 'file:///etc/passwd'>]>",
    "' style='background:url(//evil.example)",
    "\x1b[31mred\x07 \u202etxt.exe\u202c \ud800 \x00",
    "&lt;b&gt; &amp;amp;",
)
TAGS = {
    *("html", "head", "meta", "link", "title", "style", "body", "main", "div", "section", "p", "h1", "h2", "b", "span"),
    *("bdi", "br", "dl", "dt", "dd", "ul", "li", "a", "blockquote", "details", "summary", "ins", "del"),
    *("svg", "rect"),
}
ATTRIBUTES = {
    *(
        "lang",
        "charset",
        "http-equiv",
        "content",
        "name",
        "rel",
        "class",
        "dir",
        "id",
        "href",
        "open",
        "role",
        "aria-label",
    ),
    *("viewbox", "preserveaspectratio", "x", "y", "width", "height"),
}


class Seen(HTMLParser):
    """The tags, attributes and texts of a page as a browser would find them."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.texts, self.open = [], [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in {"meta", "link", "br", "rect"}:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes another tag"

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.texts.append(data)

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")


def reading_of(*memories, question="Who?", answer="Ada", source="a.pdf", status=Status.ANSWERED, flags=()):
    steps, before = [], ""
    for index, after in enumerate(memories):
        steps.append(
            Step(
                chunk=Chunk(
                    index=index,
                    start=index * 100,
                    end=index * 100 + 100,
                    text="",
                    tokens=25,
                    sources=(source,),
                    pages=(index + 1,),
                ),
                before=Memory(text=before, tokens=1, limit=64),
                after=Memory(text=after, tokens=1, limit=64),
                conversation=Conversation(
                    messages=(),
                    reply=Reply(text=f"reply {index}", usage=Usage(calls=1, prompt_tokens=77, completion_tokens=9)),
                ),
                flags=flags if index == 1 else (),
            )
        )
        before = after
    return Reading(
        id="ab12",
        document=DocumentInfo(id="0" * 64, name=source, length=100 * len(memories)),
        question=question,
        plan=Plan(memory_tokens=64),
        model="scripted",
        status=status,
        steps=tuple(steps),
        answer=Answer(text=answer, conversation=Conversation(messages=(), reply=Reply(text=answer)))
        if answer
        else None,
        evidence=(Evidence(quote=f"{answer} signed", start=110, end=120, step=1, pages=(2,)),),
        claims=(Claim(text=answer, verdict=Verdict.SUPPORTED, evidence=(0,)),),
        created="2026-11-21T10:00:00+00:00",
    )


def origin(line, **values):
    settled = {
        "step": 1,
        "since": 1,
        "sources": ("a",),
        "pages": (2,),
        "start": 100,
        "end": 200,
        "quote": None,
        "found": True,
    }
    return LineOrigin(line=line, **{**settled, **values})


def check_harmless(page):
    seen = Seen(page)
    assert set(seen.tags) <= TAGS
    assert {name for name, _ in seen.attributes} <= ATTRIBUTES
    assert all(value == "data:," or value.startswith("#step-") for name, value in seen.attributes if name == "href")
    assert seen.open == []
    page.encode("utf-8")
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\u202a-\u202e\u2066-\u2069]", page)
    return seen


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_was_written_becomes_markup(text):
    reading = reading_of(f"{text}\nkept", f"{text} more\nkept", "kept", question=text, answer=text, source=text)
    reading = replace(reading, id=text, model=text, error=text, language=text, parent=text, created=text)
    quoted = origin(text, quote=reading.evidence[0], found=False)
    for page in (render_page(reading, [quoted]), render_fragment(reading)):
        seen = check_harmless(page)
        assert "".join(seen.texts).count(re.sub("[\x00-\x1f\u202a-\u202e\ud800]", "\ufffd", text)) >= 4, (
            "shown in full, as text"
        )


anything = st.text(st.characters() | st.sampled_from("<>&'\"\ud800\u202e\x00\n"), max_size=25)


@given(st.lists(anything, max_size=4), anything, anything)
def test_any_reading_gives_a_harmless_page(memories, question, answer):
    reading = reading_of(*memories, question=question, answer=answer, source=question)
    check_harmless(render_page(reading, [origin(memory) for memory in memories]))
    check_harmless(render_fragment(reading))


def test_a_page_stands_alone():
    page = render_page(reading_of("a", "a\nb"))
    assert "default-src 'none'" in page
    assert "prefers-color-scheme: dark" in page
    assert "max-width: 640px" in page
    assert not re.search(r"https?:|//|@import|url\(", page)


def texts(page):
    return " ".join(" ".join(Seen(page).texts).split())


def test_the_question_the_answer_and_its_evidence_are_told():
    told = texts(render_page(reading_of("a", "b", question="Who signed?", answer="Ada Quill")))
    for words in (
        "Who signed?",
        "Ada Quill",
        "Ada Quill signed",
        "p. 2 · characters 110–120 · step 1",
        "a.pdf",
        "scripted",
    ):
        assert words in told


def test_a_diff_shows_what_came_what_went_and_what_was_reworded():
    page = render_page(reading_of("built in 1588 by monks\nrain fell", "built in 1589 by monks\nsigned by Ada"))
    assert "built in <del>1588</del><ins>1589</ins> by monks" in page
    assert '<div class="new" dir="auto">signed by Ada</div>' in page
    assert '<div class="gone" dir="auto">rain fell</div>' in page
    assert page.count('class="gone"') == 1


def test_steps_that_changed_nothing_are_folded_but_not_left_out():
    page = render_page(reading_of("a", "a", "a", "b"))
    assert "Steps 1–2: nothing new for the memory" in page
    assert page.count('id="step-') == 4


def test_flags_are_told_and_a_flagged_step_is_not_folded():
    page = render_page(reading_of("a", "a", flags=(Flag.KEPT_REFUSAL,)))
    assert "refusal, memory kept" in page
    assert "nothing new" not in page
    assert "reply 1" in page


def test_lines_that_are_not_in_the_text_are_marked():
    lost, found, hand = origin("bears", found=False), origin("built"), origin("Odo", found=False, by_hand=True)
    told = texts(render_page(reading_of("a"), [lost, found, hand]))
    assert "bears not found in the text" in told
    assert "Odo written by hand not found in the text" in told
    assert "built p. 2 · step 1" in told


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (Status.READING, "Not read to its end yet"),
        (Status.STOPPED, "a budget was reached"),
        (Status.FAILED, "the model failed"),
        (Status.CANCELLED, "Interrupted"),
        (Status.ANSWERED, "gave no answer"),
    ],
)
def test_a_reading_without_an_answer_says_why(status, words):
    assert words in texts(render_page(reading_of("a", answer="", status=status)))


def test_an_answer_that_does_not_fit_its_schema_is_no_failure_of_the_model():
    reading = replace(reading_of("a", answer="", status=Status.FAILED), error_kind="UnfitAnswer")
    assert "No answer that fits the schema" in texts(render_page(reading))


def test_a_reading_without_steps_has_a_page():
    check_harmless(render_page(replace(reading_of(), evidence=(), claims=())))


def test_a_fragment_brings_no_ids_and_no_links_into_its_notebook():
    seen = Seen(render_fragment(reading_of("a", "b")))
    assert not {"id", "href"} & {name for name, _ in seen.attributes}


def test_a_long_reading_has_a_page_of_bounded_size_a_step():
    memories = [f"fact number {index}\n" + "kept line\n" * 30 for index in range(300)]
    assert len(render_page(reading_of(*memories))) < 300 * 5000
