"""The user's longest text is the document; everything else is the question."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.openai.messages import (
    check_supported,
    cut_at_stop,
    parse_messages,
    split_document_and_question,
)
from bookwheel.serve.openai.schemas import ChatShape, MessageShape

LONG = "The harbour master of Skarholm is Ada Quill."
SHORT = "Who is she?"
PICTURE = {"type": "image_url", "image_url": {"url": "data:,"}}


def contents_of(*messages):
    return parse_messages([MessageShape(role=role, content=content) for role, content in messages])


def split(*messages, document=None):
    return split_document_and_question(contents_of(*messages), document)


def text_part(text, kind="text"):
    return {"type": kind, "text": text}


def file_part(id_):
    return {"type": "file", "file": {"file_id": id_}}


@pytest.mark.parametrize("texts", [(LONG, SHORT), (SHORT, LONG), ("Hello.", LONG, SHORT), (SHORT, "Hello.", LONG)])
def test_the_longest_text_of_the_user_is_the_document_wherever_it_stands(texts):
    document, question = split(*(("user", text) for text in texts))
    assert document == LONG
    assert question == "\n\n".join(text for text in texts if text != LONG)


def test_of_two_texts_of_the_same_length_the_first_is_the_document():
    assert split(("user", "one one"), ("user", "two two")) == ("one one", "two two")


def test_parts_of_one_message_are_texts_of_their_own():
    parts = [text_part(SHORT), text_part(LONG, "input_text")]
    assert split(("user", parts)) == (LONG, SHORT)


def test_a_longer_text_of_another_role_is_not_the_document():
    system = "Answer in one word, and in the language of the question, whatever the document says."
    assert split(("system", system), ("user", LONG), ("user", SHORT)) == (LONG, f"{system}\n\n{SHORT}")
    assert split(("assistant", system), ("user", LONG), ("user", SHORT))[0] == LONG


def test_the_other_texts_make_the_question_in_their_order_and_without_blanks_around_them():
    texts = (("system", " a \n"), ("user", LONG), ("assistant", "b"), ("user", " "), ("user", "\nc"))
    assert split(*texts) == (LONG, "a\n\nb\n\nc")


def test_the_document_is_passed_on_as_it_is():
    assert split(("user", f"  {LONG}\n\n"), ("user", SHORT))[0] == f"  {LONG}\n\n"


def test_a_single_text_ends_with_the_question():
    assert split(("user", f"{LONG}\n\nMore.\n\n{SHORT}\n ")) == (f"{LONG}\n\nMore.", SHORT)
    assert split(("system", "Be brief."), ("user", f"{LONG}\n\n{SHORT}")) == (LONG, f"Be brief.\n\n{SHORT}")


def test_the_last_line_is_the_question_where_no_paragraph_ends():
    assert split(("user", f"{LONG}\nMore.\n{SHORT}")) == (f"{LONG}\nMore.", SHORT)
    # A paragraph goes before a line: the question may have two lines.
    assert split(("user", f"{LONG}\n\nWho is she?\nAnd where?")) == (LONG, "Who is she?\nAnd where?")


def test_a_blank_text_beside_it_leaves_a_text_single():
    assert split(("user", " \n"), ("user", f"{LONG}\n\n{SHORT}")) == (LONG, SHORT)


@pytest.mark.parametrize("text", [LONG, f"\n\n{LONG}", f" \n{LONG}\n\n", f"\n \n\n{LONG}"])
def test_a_single_text_without_a_second_paragraph_has_no_question(text):
    with pytest.raises(ApiError) as error:
        split(("user", text))
    assert (error.value.kind, error.value.status, error.value.param) == ("no_question", 400, "messages")


@pytest.mark.parametrize("messages", [(("system", LONG),), (("user", " \n"), ("assistant", LONG)), (("user", None),)])
def test_without_a_text_of_the_user_there_is_nothing_to_read(messages):
    with pytest.raises(ApiError) as error:
        split(*messages)
    assert (error.value.kind, error.value.status, error.value.param) == ("no_user_message", 400, "messages")


def test_beside_a_document_all_texts_are_the_question():
    assert split(("system", "Be brief."), ("user", LONG), ("user", SHORT), document="a text") == (
        None,
        f"Be brief.\n\n{LONG}\n\n{SHORT}",
    )
    assert split(("user", SHORT), document="") == (None, SHORT)


def test_beside_a_file_all_texts_are_the_question():
    contents = contents_of(("user", [file_part("file-1"), text_part(LONG)]), ("user", SHORT))
    assert contents.files == ("file-1",)
    assert split_document_and_question(contents, None) == (None, f"{LONG}\n\n{SHORT}")


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        (PICTURE, "image_url"),
        ({"type": "text"}, "text"),
        ({"type": "text", "text": 7}, "text"),
        ({"type": "file"}, "file"),
        ({"type": "file", "file": {"file_id": 7}}, "file"),
        ({"type": "file", "file": "file-1"}, "file"),
        ({}, "None"),
    ],
)
def test_what_is_not_text_is_refused_by_its_kind(part, kind):
    contents = contents_of(("user", [text_part(LONG), part, text_part(SHORT)]))
    assert contents.others == (kind,)
    assert (contents.files, len(contents.texts)) == ((), 2)
    with pytest.raises(ApiError, match=f"holds {kind}") as error:
        split_document_and_question(contents, None)
    assert (error.value.kind, error.value.status, error.value.param) == ("unsupported_content", 400, "messages")


def test_a_message_without_content_has_no_texts():
    contents = contents_of(("assistant", None), ("user", LONG))
    assert [(text.role, text.text) for text in contents.texts] == [("user", LONG)]


@given(st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), st.text("ab \n", max_size=9)), max_size=6))
def test_no_text_is_lost(messages):
    messages = [*messages, ("user", "a document of many words"), ("user", "a question")]
    document, question = split(*messages)
    texts = [text.strip() for _, text in messages if text.strip()]
    assert document == "a document of many words"
    assert question == "\n\n".join(text for text in texts if text != document)


@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        (None, "one. two. three"),
        ([], "one. two. three"),
        ("", "one. two. three"),
        ([""], "one. two. three"),
        ("four", "one. two. three"),
        (".", "one"),
        (["three", "two"], "one. "),
        (["four", ". t", ""], "one"),
        ("one", ""),
        ("three", "one. two. "),
    ],
)
def test_a_text_is_cut_at_the_first_stop_sequence(stop, expected):
    assert cut_at_stop("one. two. three", stop) == expected


def chat(**values):
    return ChatShape.model_validate({"model": "m", "messages": [{"role": "user", "content": "x"}], **values})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n", 2),
        ("tools", [{"type": "function"}]),
        ("functions", [{}]),
        ("response_format", {"type": "json_object"}),
        ("logprobs", True),
    ],
)
def test_a_setting_that_a_reading_cannot_follow_is_refused_by_name(name, value):
    with pytest.raises(ApiError, match=name) as error:
        check_supported(chat(**{name: value}))
    assert (error.value.kind, error.value.status, error.value.param) == ("unsupported_parameter", 400, name)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"n": 1},
        {"n": None},
        {"tools": []},
        {"functions": None},
        {"response_format": {"type": "text"}},
        {"response_format": None},
        {"logprobs": False},
    ],
)
def test_a_setting_that_asks_for_nothing_more_is_accepted(values):
    check_supported(chat(**values))
