"""Chat completions, made of texts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bookwheel.errors import BudgetReached, Overloaded, WindowExceeded
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.reading.runner import new_reading
from bookwheel.serve.engine.errors import QuotaReached, ServerLimitReached
from bookwheel.serve.openai.completions import cut_at_stop, make_refusal
from bookwheel.types import DocumentInfo, Status


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


@pytest.mark.parametrize(
    ("status", "kind", "expected", "code", "advice"),
    [
        (Status.STOPPED, BudgetReached, 400, "budget_reached", "may give another limit"),
        (Status.STOPPED, QuotaReached, 429, "insufficient_quota", "goes on."),
        (Status.STOPPED, ServerLimitReached, 400, "server_limit_reached", "shows it."),
        (Status.FAILED, WindowExceeded, 400, "context_length_exceeded", "goes on."),
        (Status.FAILED, Overloaded, 503, "overloaded", "goes on."),
        (Status.FAILED, ValueError, 502, "model_error", "goes on."),
    ],
)
def test_a_reading_without_an_answer_is_refused_for_its_own_reason(status, kind, expected, code, advice):
    document = DocumentInfo(id="0" * 64, name="text", length=9)
    begun = new_reading(document, "Who?", ScriptedModel(lambda _: "x"), Plan(), "sequential")
    ended = replace(begun, status=status, error="it ended", error_kind=kind.__name__)
    refusal = make_refusal(ended)
    error = refusal.payload["error"]
    assert (refusal.status, error["code"], refusal.payload["reading"]) == (expected, code, begun.id)
    assert error["message"].endswith(advice) or advice in error["message"].split("Its body ")[-1]
    assert f"GET /readings/{begun.id}" in error["message"]
