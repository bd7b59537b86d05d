"""A budget is hard, shared by calls side by side, and free again when a call has ended."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from bookwheel.errors import BudgetReached, ServerFault
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Budget, Sampling
from bookwheel.reading import budget as module
from bookwheel.reading.budget import BudgetedModel
from bookwheel.types import Message, Reply

MESSAGE = (Message(role="user", content="a b c d e"),)
SAMPLING = Sampling()


def reply_of_ten_words(_messages: object) -> str:
    return "word " * 10


def worst_case(model: BudgetedModel, limit: int) -> int:
    return model.template_tokens + model.tokenizer.count(MESSAGE[0].content) + limit


def test_concurrent_calls_share_one_budget() -> None:
    async def run() -> list[object]:
        model = BudgetedModel(ScriptedModel(reply_of_ten_words, seconds_per_call=0.01), Budget(tokens=100))
        calls = (model.reply(MESSAGE, limit=20, sampling=SAMPLING) for _ in range(10))
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert model.spent.tokens <= 100
        return outcomes

    refused = [outcome for outcome in asyncio.run(run()) if isinstance(outcome, Exception)]
    assert 0 < len(refused) < 10


def test_a_call_waits_for_those_in_flight_where_only_what_they_reserve_is_in_its_way() -> None:
    async def run() -> list[Reply]:
        scripted = ScriptedModel(lambda _: "word", seconds_per_call=0.01)
        need = worst_case(BudgetedModel(scripted, Budget()), 20)
        model = BudgetedModel(scripted, Budget(tokens=2 * need))
        calls = (model.reply(MESSAGE, limit=20, sampling=SAMPLING) for _ in range(3))
        replies = await asyncio.gather(*calls)
        assert model.spent.tokens <= 2 * need
        return replies

    assert [reply.text for reply in asyncio.run(run())] == ["word"] * 3


@pytest.mark.parametrize("missing", [0, 1])
def test_a_call_is_made_only_when_its_worst_case_fits(missing: int) -> None:
    async def run() -> None:
        scripted = ScriptedModel(reply_of_ten_words)
        need = worst_case(BudgetedModel(scripted, Budget()), 20)
        model = BudgetedModel(scripted, Budget(tokens=need - missing))
        if missing:
            with pytest.raises(BudgetReached, match="--max-tokens-total"):
                await model.reply(MESSAGE, limit=20, sampling=SAMPLING)
        else:
            await model.reply(MESSAGE, limit=20, sampling=SAMPLING)
        assert scripted.calls == 1 - missing

    asyncio.run(run())


@pytest.mark.parametrize("budget", [Budget(tokens=10_000), Budget(cost=1.0, price_in=100.0, price_out=100.0)])
def test_what_was_reserved_is_free_again_after_the_reply(budget: Budget) -> None:
    """One call after another may spend the whole budget: only what was really used counts."""

    async def run() -> int:
        model = BudgetedModel(ScriptedModel(reply_of_ten_words), budget)
        limit = 9_900 - model.template_tokens - 10
        for _ in range(4):
            await model.reply(MESSAGE, limit=limit, sampling=SAMPLING)
        return model.spent.tokens

    # Each call reserves nearly everything and uses a few words of it; without release the second would be refused.
    assert asyncio.run(run()) < 200


def test_what_was_reserved_is_free_again_after_a_failure_and_nothing_is_spent() -> None:
    async def run() -> None:
        scripted = ScriptedModel(reply_of_ten_words, faults={0: ServerFault("no")})
        model = BudgetedModel(scripted, Budget(tokens=worst_case(BudgetedModel(scripted, Budget()), 20)))
        with pytest.raises(ServerFault):
            await model.reply(MESSAGE, limit=20, sampling=SAMPLING)
        assert model.spent.tokens == 0
        await model.reply(MESSAGE, limit=20, sampling=SAMPLING)

    asyncio.run(run())


def test_a_cost_counts_prompt_and_reply_at_their_own_prices() -> None:
    async def run() -> None:
        scripted = ScriptedModel(reply_of_ten_words)
        need = worst_case(BudgetedModel(scripted, Budget()), 20)
        prompt = need - 20
        exact = (prompt * 3.0 + 20 * 7.0) / 1e6
        await BudgetedModel(scripted, Budget(cost=exact * 1.0001, price_in=3.0, price_out=7.0)).reply(
            MESSAGE, limit=20, sampling=SAMPLING
        )
        with pytest.raises(BudgetReached, match="cost"):
            await BudgetedModel(scripted, Budget(cost=exact * 0.9999, price_in=3.0, price_out=7.0)).reply(
                MESSAGE, limit=20, sampling=SAMPLING
            )

    asyncio.run(run())


def test_a_time_limit_ends_a_call_that_hangs_and_refuses_the_next() -> None:
    async def run() -> None:
        model = BudgetedModel(ScriptedModel(reply_of_ten_words, seconds_per_call=60), Budget(seconds=0.05))
        for _ in range(2):
            with pytest.raises(BudgetReached, match=r"0\.05 seconds.*--max-seconds"):
                await model.reply(MESSAGE, limit=5, sampling=SAMPLING)

    asyncio.run(run())


@pytest.mark.parametrize("budget", [Budget(), Budget(tokens=400)])
def test_a_call_that_is_cancelled_counts_with_what_it_may_have_cost(budget: Budget) -> None:
    async def run() -> None:
        model = BudgetedModel(ScriptedModel(reply_of_ten_words, seconds_per_call=60), budget)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(model.reply(MESSAGE, limit=20, sampling=SAMPLING), 0.01)
        assert (model.spent.calls, model.spent.completion_tokens) == (1, 20)
        assert model.spent.prompt_tokens > 0

    asyncio.run(run())


@pytest.mark.parametrize(("now", "refused"), [(109.9, False), (110.0, True), (111.0, True)])
def test_the_time_limit_counts_from_the_start_of_the_run(
    now: float, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock[0]))

    async def run() -> None:
        scripted = ScriptedModel(reply_of_ten_words)
        model = BudgetedModel(scripted, Budget(seconds=10))
        clock[0] = now
        if refused:
            with pytest.raises(BudgetReached, match="10 seconds"):
                await model.reply(MESSAGE, limit=5, sampling=SAMPLING)
        else:
            reply = await model.reply(MESSAGE, limit=5, sampling=SAMPLING)
            assert reply.text.startswith("word")
        assert scripted.calls == (0 if refused else 1)

    asyncio.run(run())


def test_without_limits_every_call_is_made_and_counted() -> None:
    async def run() -> None:
        model = BudgetedModel(ScriptedModel(reply_of_ten_words), Budget())
        replies = [await model.reply(MESSAGE, limit=20, sampling=SAMPLING) for _ in range(3)]
        assert model.spent.calls == 3
        assert model.spent.tokens == sum(reply.usage.tokens for reply in replies)

    asyncio.run(run())


@pytest.mark.parametrize("budget", [Budget(), Budget(seconds=60.0)])
def test_a_timeout_of_the_model_itself_is_not_taken_for_the_budget(budget: Budget) -> None:
    class Hasty(ScriptedModel):
        async def reply(self, *_: object, **__: object) -> Reply:
            raise TimeoutError("the connection timed out")

    model = BudgetedModel(Hasty(reply_of_ten_words), budget)
    with pytest.raises(TimeoutError, match="the connection timed out"):
        asyncio.run(model.reply(MESSAGE, limit=20, sampling=SAMPLING))
