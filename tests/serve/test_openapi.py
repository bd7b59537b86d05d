"""The API stands whatever is sent to it: schemathesis makes requests from its description, a bounded number."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from bookwheel.serve.openapi import build_openapi

MILD = settings(
    max_examples=6, deadline=None, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_no_request_made_from_the_description_breaks_the_server(up) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    seen = set()
    schema = schemathesis.openapi.from_dict(build_openapi())
    for operation in (found.ok() for found in schema.get_all_operations()):

        @MILD
        @given(case=operation.as_strategy())
        def send(case) -> None:
            answer = case.call(base_url=up.url, timeout=10)
            seen.add((case.operation.path, answer.status_code))
            assert answer.status_code < 500, (case.operation.label, answer.text)
            if answer.status_code >= 400 and answer.headers.get("content-type") == "application/json":
                assert answer.json()["error"], case.operation.label

        send()
    assert {path for path, _ in seen} == set(build_openapi()["paths"])
    assert {200, 201} & {status for path, status in seen if path == "/readings"}
