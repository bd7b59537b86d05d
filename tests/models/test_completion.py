from __future__ import annotations

import asyncio
import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.errors import BadReply, ModelError, ServerFault, Unreachable
from bookwheel.models.completion import StreamedReply, parse_completion
from bookwheel.types import Finish

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def shaped(**fields):
    return st.fixed_dictionaries({}, optional=fields)


MESSAGE = shaped(content=JSON, reasoning_content=JSON, refusal=JSON, tool_calls=JSON)
CHOICE = shaped(
    message=MESSAGE | JSON,
    finish_reason=st.sampled_from(["stop", "length", "abort"]) | JSON,
    logprobs=shaped(content=JSON) | JSON,
    token_ids=JSON,
)
BODY = shaped(
    choices=st.lists(CHOICE | JSON, max_size=2) | JSON,
    usage=shaped(prompt_tokens=JSON, completion_tokens=JSON) | JSON,
    error=JSON,
)


def whole(content, finish="stop", written=5, **message):
    return {
        "choices": [{"message": {"content": content, **message}, "finish_reason": finish}],
        "usage": {"completion_tokens": written},
    }


@given(BODY | JSON)
def test_whatever_a_server_sends_is_a_completion_or_an_error_of_ours(body):
    with suppress(ModelError):
        said = parse_completion(body, 8)
        assert isinstance(said.text, str)
        assert isinstance(said.finish, Finish)


@given(st.lists(st.text(max_size=6), max_size=6), st.sampled_from(["stop", "length", "content_filter"]))
def test_pieces_make_up_what_the_whole_would_have_been(pieces, finish):
    async def chunks():
        yield {"choices": [{"delta": {"role": "assistant", "content": ""}}]}
        for piece in pieces:
            yield {"choices": [{"delta": {"content": piece}, "finish_reason": None}]}
        yield {"choices": [{"delta": {}, "finish_reason": finish}]}
        yield {"choices": [], "usage": {"completion_tokens": 5}}

    assert parse_completion(asyncio.run(StreamedReply(8).join(chunks())), 8) == parse_completion(
        whole("".join(pieces), finish), 8
    )


@pytest.mark.parametrize("content", ["", None])
def test_an_empty_reply_is_a_reply(content):
    assert parse_completion(whole(content, written=1), 8).text == ""


def test_a_filtered_reply_may_have_no_text():
    said = parse_completion(whole(None, "content_filter", written=40), 8)
    assert (said.text, said.finish) == ("", Finish.FILTER)


def test_a_refusal_in_its_own_field_is_the_text():
    assert parse_completion(whole(None, refusal="I can't help with that."), 8).text == "I can't help with that."


def test_text_in_typed_parts_is_joined():
    assert (
        parse_completion(whole([{"type": "text", "text": "Signed "}, {"type": "text", "text": "by Ada"}]), 8).text
        == "Signed by Ada"
    )


def test_reasoning_beside_a_text_is_left_out():
    assert parse_completion(whole("Ada", reasoning_content="Who could it be?"), 8).text == "Ada"


@pytest.mark.parametrize(
    ("body", "advice"),
    [
        (whole(None, written=40), "content is null"),
        (whole(None, written=None), "content is null"),
        (whole(None, reasoning_content="Hm"), "reasoning field"),
        (whole("", "length", reasoning="Hm"), "limit of 8 tokens for reasoning"),
        (whole(None, "tool_calls", tool_calls=[{}]), "called a tool"),
        (whole({"a": 1}), "is an object, not text"),
        ({"choices": []}, "no choices"),
    ],
)
def test_text_that_went_elsewhere_is_an_error_and_not_an_empty_memory(body, advice):
    with pytest.raises(BadReply, match=advice):
        parse_completion(body, 8)


@pytest.mark.parametrize("reason", ["abort", "error"])
def test_a_reply_that_the_server_gave_up_is_no_reply(reason):
    with pytest.raises(ServerFault, match=reason):
        parse_completion(whole("half a", reason), 8)


def test_a_stream_without_an_end_is_a_broken_connection():
    async def chunks():
        yield {"choices": [{"delta": {"content": "half a"}, "finish_reason": None}]}

    with pytest.raises(Unreachable):
        asyncio.run(StreamedReply(8).join(chunks()))


def test_probabilities_become_logprobs_and_a_lost_one_voids_all():
    def told(*entries):
        body = whole("ab")
        body["choices"][0]["logprobs"] = {"content": list(entries)}
        return parse_completion(body, 8)

    assert told({"id": 4, "prob": 0.5}, {"id": 5, "prob": 1.0}).logprobs == (math.log(0.5), 0.0)
    assert told({"id": 4, "logprob": -1}, {"id": 5, "logprob": -2.5}).reply_ids == (4, 5)
    assert told({"id": 4, "prob": 0.5}, {"id": 5, "prob": 0}).logprobs is None
    assert told({"id": 4, "prob": 0.5}, {"prob": 0.5}).reply_ids is None


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("length", Finish.LENGTH),
        ("max_tokens", Finish.LENGTH),
        ("MODEL_LENGTH", Finish.LENGTH),
        ("content_filter", Finish.FILTER),
        ("SAFETY", Finish.FILTER),
        ("stop", Finish.STOP),
        ("eos_token", Finish.STOP),
        (None, Finish.STOP),
    ],
)
def test_the_reasons_of_all_servers_are_understood_in_any_case(reason, finish):
    assert parse_completion(whole("text", finish=reason), 8).finish is finish


def test_a_count_of_no_prompt_tokens_is_a_count_not_made():
    body = whole("text")
    body["usage"] = {"prompt_tokens": 0, "completion_tokens": 0}
    completion = parse_completion(body, 8)
    assert (completion.prompt_tokens, completion.completion_tokens) == (None, 0)


@pytest.mark.parametrize("written", [0, 1])
def test_a_reply_of_its_end_token_alone_is_empty(written):
    assert parse_completion(whole(None, written=written), 8).text == ""
    with pytest.raises(BadReply, match="content is null"):
        parse_completion(whole(None, written=2), 8)


def test_a_count_that_no_reply_can_have_is_not_reported():
    body = {"choices": [{"message": {"content": "Aye."}}], "usage": {"prompt_tokens": 10**30, "completion_tokens": 2}}
    found = parse_completion(body, 9)
    assert (found.prompt_tokens, found.completion_tokens) == (None, 2)


def numbered(index, text, finish="stop"):
    return {"index": index, "message": {"content": text}, "delta": {"content": text}, "finish_reason": finish}


def test_of_several_choices_the_one_of_index_0_is_read_in_whatever_order_they_come():
    choices = [numbered(2, "two"), numbered(0, "zero"), numbered(1, "one")]
    assert parse_completion({"choices": choices}, 8).text == "zero"

    async def chunks():
        for choice in choices:
            yield {"choices": [choice]}
        yield {"choices": [numbered(1, "and one", None), numbered(2, "and two", None)]}

    assert parse_completion(asyncio.run(StreamedReply(8).join(chunks())), 8).text == "zero"
