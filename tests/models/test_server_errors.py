"""Every bad reply over a real connection: the right error, advice in it, and never the key."""

from __future__ import annotations

import asyncio
import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from bookwheel.errors import (
    BadReply,
    ModelError,
    Overloaded,
    QuotaUsedUp,
    Refused,
    Rejected,
    ServerFault,
    TimedOut,
    UnknownModel,
    Unreachable,
    WindowExceeded,
)
from bookwheel.models.endpoint import Endpoint
from bookwheel.models.openai import OpenAIModel
from bookwheel.models.server_errors import _find_cause, find_retry_after, format_server_message

KEY = "sk-very-secret-4711"


def failure(acts, model, error, **settings):
    """The message of the error that asking ends in."""
    with pytest.raises(error) as caught:
        acts.ask(model(api_key=KEY, **settings))
    assert type(caught.value) is error
    assert caught.value.exit_code == 3
    assert KEY not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_not_repeated_and_not_shown(server, acts, model, status):
    server.plays(acts.fault(status, f"Incorrect API key provided: {KEY}."))
    said = failure(acts, model, Refused)
    assert "Incorrect API key provided: ***" in said
    assert "Check --api-key or OPENAI_API_KEY" in said
    assert len(server.asked) == 1


def test_a_missing_key_is_asked_for(server, acts, model):
    server.plays(acts.fault(401, "You need to provide a key"))
    with pytest.raises(Refused, match="set OPENAI_API_KEY"):
        acts.ask(model())


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (404, {"message": "The model `m` does not exist or you have no access to it.", "code": "model_not_found"}),
        (404, {"message": "The model `m` does not exist.", "code": 404, "param": "model"}),
        (404, {"message": 'model "m" not found, try pulling it first'}),
        (400, {"message": "Invalid model name passed in model=m"}),
    ],
)
def test_an_unknown_model_is_told_from_a_wrong_address(server, acts, model, status, error):
    server.plays(acts.sends({"error": error}, status))
    assert "has no model 'm'" in failure(acts, model, UnknownModel)


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True])
def test_a_wrong_address_is_told_with_advice(server, acts, model, stream):
    page = "<!DOCTYPE html><html><body>Welcome</body></html>"
    for act in (
        acts.sends({"detail": "Not Found"}, 404),
        acts.fault(404, "File Not Found", code="404"),
        acts.sends(page, 404, kind="text/html"),
        acts.sends({"detail": "Method Not Allowed"}, 405),
        acts.sends(page, 200, kind="text/html"),
        acts.sends(page, 400, kind="text/html"),
    ):
        server.plays(act)
        said = failure(acts, model, Unreachable, stream=stream)
        assert "Is the base URL right? It usually ends in /v1" in said
        assert server.url in said


@pytest.mark.parametrize(
    ("headers", "told"), [({}, "Try again later"), ({"Retry_After": "0.01"}, "It asks to wait: 0.01 s")]
)
def test_overload_is_told_with_the_time_to_wait_and_never_repeated_by_the_sdk(server, acts, model, headers, told):
    server.plays(acts.fault(429, "Rate limit reached", **headers))
    assert told in failure(acts, model, Overloaded)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_the_time_that_a_server_asks_for_is_a_number_a_date_or_nothing(headers, seconds):
    assert find_retry_after(headers) == seconds


def test_a_date_to_come_back_at_counts_from_now():
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert 60 < find_retry_after({"retry-after": later}) <= 90


@pytest.mark.parametrize("status", [429, 503])
def test_an_error_carries_the_seconds_that_the_server_asks_for(server, acts, model, status):
    server.plays(acts.fault(status, "Slow down", Retry_After="12"))
    with pytest.raises(ModelError) as caught:
        acts.ask(model())
    assert caught.value.retry_after == 12
    assert caught.value.is_passing
    assert not caught.value.is_charged


def test_a_used_up_quota_is_told_apart_from_haste(server, acts, model):
    server.plays(acts.fault(429, "You exceeded your current quota", code="insufficient_quota"))
    assert "Add credit" in failure(acts, model, QuotaUsedUp)


@pytest.mark.parametrize("status", [500, 502, 503])
def test_a_failing_server_is_quoted(server, acts, model, status):
    server.plays(acts.fault(status, "CUDA out of memory"))
    said = failure(acts, model, ServerFault)
    assert f"HTTP {status}: CUDA out of memory." in said


def test_a_gateways_error_page_is_not_quoted(server, acts, model):
    server.plays(acts.sends("<html><body>502 Bad Gateway</body></html>", 502, kind="text/html"))
    assert "HTTP 502: no reason given" in failure(acts, model, ServerFault)


def test_what_a_server_says_cannot_reach_the_terminal_raw_or_at_length(server, acts, model):
    server.plays(acts.fault(500, "\x1b[31mred\x07 " + "x" * 9000))
    said = failure(acts, model, ServerFault)
    assert "\x1b" not in said
    assert len(said) < 600


@pytest.mark.parametrize(
    ("error", "numbers"),
    [
        (
            {
                "message": "This model's maximum context length is 4096 tokens. However, your messages resulted in 5012 tokens.",
                "code": "context_length_exceeded",
            },
            ("4096", "5012"),
        ),
        (
            {
                "message": "This model's maximum context length is 8192 tokens. However, you requested 1024 output tokens and your prompt contains at least 7169 input tokens",
                "param": "max_tokens",
                "code": 400,
            },
            ("8192", "7169"),
        ),
        (
            {
                "message": "request (9031 tokens) exceeds the available context size (2048 tokens), try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 9031,
                "n_ctx": 2048,
            },
            ("n_prompt_tokens = 9031", "n_ctx = 2048"),
        ),
        (
            {"message": "The input (9031 tokens) is longer than the model's context length (2048 tokens)."},
            ("9031", "2048"),
        ),
    ],
)
def test_a_prompt_beyond_the_window_names_the_servers_numbers(server, acts, model, error, numbers):
    server.plays(acts.sends({"error": error}, 400))
    said = failure(acts, model, WindowExceeded)
    assert all(number in said for number in numbers)
    assert "--chunk-tokens" in said
    assert len(server.asked) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_a_connection_that_breaks_in_mid_reply_is_told(server, acts, model, stream):
    server.plays(acts.streams("Signed", " by", finish=None, usage=None, ends=False) if stream else acts.drops)
    assert "broke in mid-reply: the server ended it before its time" in failure(acts, model, Unreachable, stream=stream)


@pytest.mark.parametrize("stream", [False, True])
def test_a_connection_that_breaks_before_the_reply_is_told(server, acts, model, stream):
    server.plays(acts.cut)
    assert "broke in mid-reply" in failure(acts, model, Unreachable, stream=stream)


def test_a_stream_that_ends_before_the_reply_does_is_no_reply(server, acts, model):
    server.plays(acts.streams("Signed", " by", finish=None, usage=None))
    assert "broke in mid-reply" in failure(acts, model, Unreachable, stream=True)


def test_a_whole_reply_that_broke_is_not_repeated_by_the_sdk(server, acts, model):
    server.plays(acts.drops, acts.sends(acts.completion()))
    failure(acts, model, Unreachable)
    assert len(server.asked) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_what_had_arrived_of_a_broken_reply_is_counted_where_it_is_known(server, acts, model, stream):
    server.plays(acts.streams("Signed", " by", finish=None, usage=None, ends=False) if stream else acts.drops)
    with pytest.raises(Unreachable) as caught:
        acts.ask(model(stream=stream))
    assert caught.value.is_charged
    assert caught.value.received == ("Signed by" if stream else None)


@pytest.mark.parametrize("status", [400, 403, 404])
def test_a_proxys_page_says_nothing_about_key_or_model_and_passes(server, acts, model, status):
    server.plays(acts.sends("<html><body>Access denied</body></html>", status, kind="text/html"))
    with pytest.raises(ModelError) as caught:
        acts.ask(model())
    assert caught.value.is_passing
    assert not caught.value.is_charged


@pytest.mark.parametrize(
    ("status", "error"), [(400, Rejected), (422, Rejected), (402, QuotaUsedUp), (425, ServerFault)]
)
def test_a_rejected_request_is_told_from_a_server_in_trouble(server, acts, model, status, error):
    server.plays(acts.fault(status, "no"))
    failure(acts, model, error)


@pytest.mark.parametrize("stream", [False, True])
def test_a_server_that_hangs_is_given_up(server, acts, model, stream):
    server.plays(server.hangs)
    assert "sent nothing for 0.2 s" in failure(acts, model, TimedOut, stream=stream, timeout=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True])
def test_blanks_that_keep_coming_end_at_the_deadline(server, acts, model, stream):
    def drips(handler):
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream" if stream else "application/json")
        handler.end_headers()
        while not server.over.wait(0.02):
            handler.wfile.write(b": wait\n\n" if stream else b" ")

    server.plays(drips)
    told = failure(acts, model, TimedOut, stream=stream, timeout=30, deadline=0.3)
    assert "no whole reply within 0.3 s. Raise --deadline" in told


def test_no_server_at_all_names_the_address(acts):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        with pytest.raises(Unreachable, match="no server answers at") as caught:
            acts.ask(OpenAIModel(name="m", base_url=url, api_key=KEY))
    assert url in str(caught.value)


def test_a_password_in_the_address_is_not_shown(server, acts):
    url = server.url.replace("http://", "http://ada:quill@")
    with pytest.raises(Unreachable) as caught:
        acts.ask(OpenAIModel(name="m", base_url=url))
    assert "quill" not in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        '{"choices": [{"mess',
        "",
        "[1, 2]",
        '"text"',
        "null",
        "{}",
        '{"choices": []}',
        '{"choices": null}',
        '{"choices": [7]}',
    ],
)
def test_a_reply_that_is_no_completion_is_a_bad_reply(server, acts, model, body):
    server.plays(acts.sends(body))
    failure(acts, model, BadReply)


@pytest.mark.parametrize(
    "lines", ["data: {broken\n\n", "data: [DONE]\n\n", "", 'data: {"choices": []}\n\n', "data: 7\n\n"]
)
def test_a_stream_that_is_no_completion_is_a_bad_reply(server, acts, model, lines):
    server.plays(acts.sends(lines, kind="text/event-stream"))
    failure(acts, model, BadReply, stream=True)


def test_an_error_inside_a_stream_is_told(server, acts, model):
    server.plays(acts.sends('data: {"error": {"message": "worker died", "code": 500}}\n\n', kind="text/event-stream"))
    assert "worker died" in failure(acts, model, ServerFault, stream=True)


def test_an_error_in_place_of_a_reply_is_told(server, acts, model):
    server.plays(acts.sends({"error": {"message": "upstream failed", "code": 502}}))
    assert "upstream failed" in failure(acts, model, ServerFault)


def test_a_cancelled_call_stops_at_once(server, acts, model):
    server.plays(server.hangs)

    async def run() -> None:
        asked = model(timeout=30)
        call = asyncio.create_task(asked.reply([], limit=8, sampling=asked.plan.sampling))
        await asyncio.to_thread(server.reached.wait, 5)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asked.aclose()

    asyncio.run(asyncio.wait_for(run(), 10))


@pytest.mark.parametrize(("length", "end"), [(400, "x."), (401, "x…"), (5000, "x…")])
def test_a_servers_message_is_quoted_up_to_400_characters(length, end):
    quoted = format_server_message({"message": "x" * length}, Endpoint.resolve("http://host/v1"))
    assert quoted == "x" * 399 + end


def test_no_server_makes_a_reading_wait_for_ever():
    assert find_retry_after({"retry-after": "10000000000000000000"}) == 3600
    assert find_retry_after({"retry-after": "7"}) == 7


def test_an_overloaded_provider_is_told_by_its_own_status(server, acts, model):
    server.plays(acts.fault(529, "Overloaded"))
    assert "is overloaded (HTTP 529): Overloaded" in failure(acts, model, Overloaded)


@pytest.mark.parametrize(
    ("body", "packed", "says"),
    [
        (b"", "", "sent an empty reply. "),
        (b'{"choices": [{"mess', "", "not JSON: it cannot be read from line 1, column "),
        ('{"choices": "ö"}'.encode("latin-1"), "", "not JSON: it is not UTF-8. "),
        (b"{}", "gzip", "broke in mid-reply: it is not packed as it says. "),
    ],
)
def test_what_cannot_be_read_is_told_in_our_words(server, acts, model, body, packed, says):
    def act(handler):
        handler.send_response(200)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(body)))
        if packed:
            handler.send_header("content-encoding", packed)
        handler.end_headers()
        handler.wfile.write(body)

    server.plays(act)
    assert says in failure(acts, model, Unreachable if packed else BadReply)


def test_a_refused_connection_is_told_without_the_address_of_its_library():
    error = ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 9255)")
    assert _find_cause(error) == "Connection refused"


@pytest.mark.parametrize("status", [302, 307])
def test_an_endpoint_that_redirects_to_itself_is_told_so(server, acts, model, status):
    server.plays(acts.sends("", status, location="/v1/chat/completions"))
    server.plays(acts.sends("", status, location="/v1/chat/completions"), route="/v1/chat/completions")
    # On a busy machine the server may close a connection while the next request is written.
    assert any("redirects" in failure(acts, model, Unreachable) for _ in range(5))


def test_a_proxy_that_takes_no_request_this_long_is_told_with_what_to_lower(server, acts, model):
    server.plays(acts.sends("<html><h1>413 Request Entity Too Large</h1></html>", 413))
    assert "Lower --chunk-tokens, or raise the limit of the proxy" in failure(acts, model, Rejected)
