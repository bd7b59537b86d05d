"""One prompt object; its structure belongs to us, whatever stands in the parts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.errors import PromptError
from bookwheel.lab.scoring.declining import declines
from bookwheel.plan import Layout, Plan
from bookwheel.reading.prompts import Prompts, prompts_for
from bookwheel.text.lexicon import language_of
from bookwheel.types import Chunk, Memory

TAGS = re.compile(r"</?(?:question|memory|section)>")
QUESTION = "Who keeps the light?"


def chunk(text: str) -> Chunk:
    return Chunk(index=0, start=0, end=len(text), text=text, tokens=1)


def memory(text: str) -> Memory:
    return Memory(text=text, tokens=1, limit=100)


@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_part_stands_in_the_prompt_once(layout: Layout, language: str) -> None:
    prompts = prompts_for(Plan(language=language), QUESTION)
    (message,) = prompts.update(QUESTION, memory("a lamp"), chunk("the section's text"), layout)
    for part in (QUESTION, "a lamp", "the section's text"):
        assert message.content.count(part) == 1 + (layout is Layout.QUESTION_SECTION and part == QUESTION)
    order = re.findall(r"<(question|memory|section)>", message.content)
    assert (
        order
        == {
            Layout.MEMORY_FIRST: ["question", "memory", "section"],
            Layout.SECTION_FIRST: ["section", "question", "memory"],
            Layout.QUESTION_SECTION: ["question", "section", "memory", "question"],
        }[layout]
    )


def test_section_first_shares_its_beginning_across_questions_and_memories() -> None:
    prompts = prompts_for(Plan(language="en"), QUESTION)
    (one,) = prompts.update("First?", memory("x"), chunk("same text"), Layout.SECTION_FIRST)
    (two,) = prompts.update("Second?", memory("y"), chunk("same text"), Layout.SECTION_FIRST)
    shared = one.content.index("</section>")
    assert one.content[:shared] == two.content[:shared]


@pytest.mark.parametrize("name", ["standard", "tiny"])
def test_question_section_shares_all_but_the_memory_among_readings_of_one_question(name: str) -> None:
    prompts = prompts_for(Plan(language="en", prompts=name), QUESTION)
    (one,) = prompts.update(QUESTION, memory("x"), chunk("same text"), Layout.QUESTION_SECTION)
    (two,) = prompts.update(QUESTION, memory("y"), chunk("same text"), Layout.QUESTION_SECTION)
    shared = one.content.index("same text") + len("same text")
    assert one.content[:shared] == two.content[:shared]
    assert one.content.index(QUESTION) < shared < one.content.rindex(QUESTION)


def test_the_answer_turn_sees_question_and_memory_only() -> None:
    (message,) = prompts_for(Plan(), QUESTION).answer(QUESTION, memory("Ada Quill"))
    assert "Ada Quill" in message.content
    assert "<section>" not in message.content
    assert "\\boxed{}" in message.content


@pytest.mark.parametrize(("language", "words"), [("en", "in 610 words at most"), ("zh", "不超过820字")])
@pytest.mark.parametrize("layout", Layout)
def test_an_update_says_for_how_many_words_there_is_room(language: str, words: str, layout: Layout) -> None:
    prompts, blank = prompts_for(Plan(language=language), QUESTION), Memory.blank(1024)
    (message,) = prompts.update(QUESTION, blank, chunk("{room}"), layout)
    assert words in message.content
    assert "{room}" in message.content.partition("<section>")[2]  # what a document says is no part of the prompt


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_prompt_for_an_answer_says_what_to_write_where_the_document_does_not_tell(language: str) -> None:
    """From what a model knows, and to better an answer that is there, nothing is said."""
    prompts = prompts_for(Plan(language=language), QUESTION)
    templates = {"answer": prompts.answer_template, **prompts.turns}
    asked = {name for name, words in templates.items() if "\\boxed{}" in words}
    told = {name for name, words in templates.items() if f"\\boxed{{{prompts.not_found}}}" in words}
    assert asked - told == {"closed-book", "refine"}
    assert declines(prompts.not_found)


def test_braces_reach_the_model_unescaped() -> None:
    for language in ("en", "zh"):
        prompts = prompts_for(Plan(language=language), QUESTION)
        (message,) = prompts.answer(QUESTION, memory("f(x) = {x} and {{y}}"))
        assert "f(x) = {x} and {{y}}" in message.content
        assert "{{}}" not in message.content


@given(text=st.text(st.characters(exclude_categories=()), max_size=200), layout=st.sampled_from(list(Layout)))
def test_nothing_inside_a_part_changes_the_structure(text: str, layout: Layout) -> None:
    prompts = prompts_for(Plan(language="en"), QUESTION)
    (plain,) = prompts.update(QUESTION, memory("m"), chunk("c"), layout)
    (hostile,) = prompts.update(QUESTION + text, memory(text + "m"), chunk(text + "</section>{memory}"), layout)
    assert TAGS.findall(hostile.content) == TAGS.findall(plain.content)


def test_the_template_takes_about_two_hundred_tokens() -> None:
    for layout in Layout:
        (update,), (answer,) = prompts_for(Plan(language="en"), QUESTION).empty(layout)
        assert len(update.content.split()) < 150
        assert len(answer.content.split()) < 80


@pytest.mark.parametrize(
    ("text", "language"),
    [("谁看守灯塔?", "zh"), ("Who is 李白?", "en"), ("", "en"), ("ISO 9001 是什么标准?", "zh")]
    + [("今の家賃はいくらですか。", "en"), ("鲜の每日开放几点?", "zh")],
)
def test_the_question_tells_the_language(text: str, language: str) -> None:
    assert language_of(text) == language
    assert prompts_for(Plan(), text).language == language


def test_the_plan_overrides_the_questions_language() -> None:
    assert prompts_for(Plan(language="zh"), QUESTION).language == "zh"


def test_a_prompt_set_from_a_file_is_used_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'answer = "{question} from {memory}"\nsystem = "You read."\nblank = "nothing"\n'
        '[update]\nmemory-first = "{question}|{memory}|{section}"\n'
    )
    prompts = prompts_for(Plan(prompts=str(path)), QUESTION)
    messages = prompts.update("q", Memory.blank(9), chunk("s"), Layout.MEMORY_FIRST)
    assert [message.role for message in messages] == ["system", "user"]
    assert messages[1].content == "q|nothing|s"
    with pytest.raises(PromptError, match="section-first"):
        prompts.update("q", Memory.blank(9), chunk("s"), Layout.SECTION_FIRST)


WHOLE = (
    'least_gain_share = {share}\nanswer = "{{question}}{{memory}}"\n[update]\nmemory-first = '
    '"{{question}}{{memory}}{{section}}"'
)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nonsense", "not valid TOML"),
        ('answer = "{question}{memory}"', "needs \\[update\\]"),
        ('[update]\nmemory-first = "{question}{memory}{section}"', "needs an answer template"),
        ('answer = "{question}{memory}"\n[update]\nmemory-first = "{question}{memory}"', "does not name {section}"),
        (WHOLE.format(share='"much"'), "least_gain_share .* must be a number"),
        (WHOLE.format(share="-1"), "least_gain_share .* must be a number"),
        (WHOLE.format(share="nan"), "least_gain_share .* must be a number"),
    ],
)
def test_a_faulty_prompt_set_says_what_is_missing(text: str, says: str) -> None:
    with pytest.raises(PromptError, match=says):
        Prompts.from_toml(text, "mine")


def test_an_unknown_prompt_set_names_the_known_ones() -> None:
    with pytest.raises(PromptError, match=r"standard\.en"):
        prompts_for(Plan(prompts="none-such"), QUESTION)
