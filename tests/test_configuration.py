"""Settings files: what they name stands beside them, wherever the command runs."""

from pathlib import Path

import pytest

from bookwheel.configuration import Configuration, NamedEndpoint
from bookwheel.plan import Budget, renew_budget


@pytest.mark.parametrize(
    ("given", "found"),
    [("mine.toml", "/work/mine.toml"), ("/etc/mine.toml", "/etc/mine.toml"), ("standard", "standard")],
)
def test_a_prompt_set_is_found_from_the_file_that_names_it(given, found):
    settings = Configuration.from_toml(f'[plan]\nprompts = "{given}"\n', Path("/work/bookwheel.toml"))
    assert settings.plan == {"prompts": found}


def test_a_plan_without_prompts_stays_as_it_is():
    assert Configuration.from_toml("[plan]\nchunk_tokens = 900\n", Path("/x/bookwheel.toml")).plan == {
        "chunk_tokens": 900
    }


def test_an_endpoint_without_prices_leaves_those_that_are_known():
    known = Budget(price_in=2.0, price_out=3.0)
    assert NamedEndpoint(url="http://tower").apply_prices(known) == known
    assert renew_budget(known, {"max_cost": 1.0}) == Budget(cost=1.0, price_in=2.0, price_out=3.0)
    priced = NamedEndpoint(url="http://tower", price_out=5.0)
    assert priced.apply_prices(known) == Budget(price_out=5.0)
