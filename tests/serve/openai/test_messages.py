"""Texts, files and calls of messages; the fields beside them."""

from __future__ import annotations

import pytest

from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.openai.fields import check_supported, name_unused
from bookwheel.serve.openai.messages import cut_at_stop, parse_messages
from bookwheel.serve.openai.schemas import ChatShape, MessageShape

LONG = "The harbour master of Skarholm is Ada Quill."
SHORT = "Who is she?"
PICTURE = {"type": "image_url", "image_url": {"url": "data:,"}}


def contents_of(*messages):
    return parse_messages([MessageShape(role=role, content=content) for role, content in messages])


def text_part(text, kind="text"):
    return {"type": kind, "text": text}


def file_part(id_):
    return {"type": "file", "file": {"file_id": id_}}


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
    assert contents.newest_others == (kind,)


def test_texts_of_both_kinds_and_files_are_found_in_their_order():
    contents = contents_of(
        ("user", [text_part(LONG, "input_text"), file_part("file-1")]),
        ("user", [file_part("file-2"), text_part(SHORT)]),
    )
    assert [(text.text, text.message) for text in contents.texts] == [(LONG, 0), (SHORT, 1)]
    assert (contents.files, contents.others) == (("file-1", "file-2"), ())


def test_the_newest_message_of_the_user_has_its_own_others():
    contents = contents_of(("user", [PICTURE]), ("assistant", [PICTURE]), ("user", SHORT))
    assert (contents.others, contents.newest_others) == (("image_url", "image_url"), ())
    contents = contents_of(("user", [PICTURE]), ("assistant", SHORT), ("user", [PICTURE, PICTURE]))
    assert len(contents.newest_others) == 2
    assert contents_of(("assistant", SHORT), ("assistant", [PICTURE])).newest_others == ()


def test_calls_in_another_form_are_texts_as_they_stand():
    calls = [{"id": "Mära"}, "Quill", {"function": {"name": "remind", "arguments": {"day": "März"}}}]
    texts = parse_messages([MessageShape(role="assistant", content=None, tool_calls=calls)]).texts
    assert [text.text for text in texts] == [
        '{"id": "Mära"}',
        '"Quill"',
        '(called the tool remind with {"day": "März"})',
    ]


def test_a_message_without_content_has_no_texts():
    contents = contents_of(("assistant", None), ("user", LONG))
    assert [(text.role, text.text) for text in contents.texts] == [("user", LONG)]


def test_calls_of_tools_are_texts_of_the_assistant():
    call = {"id": "1", "type": "function", "function": {"name": "remind", "arguments": '{"day": "May"}'}}
    messages = [
        MessageShape(role="user", content=SHORT),
        MessageShape(role="assistant", content=None, tool_calls=[call]),
    ]
    texts = parse_messages(messages).texts
    assert [(text.role, text.message) for text in texts] == [("user", 0), ("assistant", 1)]
    assert texts[1].text == '(called the tool remind with {"day": "May"})'


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
        ("functions", [{}]),
        ("logprobs", True),
        ("modalities", ["text", "audio"]),
        ("audio", {"voice": "ash"}),
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


def test_tools_and_formats_are_refused_where_there_is_no_answer_step():
    for values in ({"tools": [{"type": "function"}]}, {"response_format": {"type": "json_object"}}):
        check_supported(chat(**values))
        with pytest.raises(ApiError, match=next(iter(values))):
            check_supported(chat(**values), has_tools=False)


def test_fields_that_a_reading_does_not_use_are_named():
    used = {"temperature": 0.2, "response_format": {"type": "json_object"}, "user": "ada", "metadata": {"a": "b"}}
    assert name_unused(chat(**used)) == ()
    assert name_unused(chat(top_k=40, presence_penalty=0, frequency_penalty=0.5, logit_bias={})) == (
        "frequency_penalty",
        "top_k",
    )
