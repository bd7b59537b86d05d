"""What a model can do besides replying: found through wrappers, refused with advice, paid from the same budgets."""

from __future__ import annotations

import asyncio
import math

import pytest

from bookwheel.errors import BudgetReached, InputError, MissingAbility
from bookwheel.models.base import (
    Ability,
    Judgement,
    Likelihood,
    ModelWrapper,
    find_abilities,
    find_first_tokens,
    require_ability,
)
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Budget, Plan
from bookwheel.reading.budget import BudgetedModel
from bookwheel.types import Message

TALK = (Message(role="user", content="one two three four"),)
YES_OR_NO = ("Yes", "No")


def judging_model(**more: object) -> ScriptedModel:
    return ScriptedModel(
        lambda messages: "yes",
        judge=lambda messages, options: [-0.5 - at for at, _ in enumerate(options)],
        likelihood=lambda messages, text: [-float(len(word)) for word in text.split()],
        **more,
    )


def test_the_probability_of_an_option_is_its_share_among_the_options() -> None:
    judgement = Judgement(options=YES_OR_NO, logprobs=(math.log(0.06), math.log(0.02)))
    assert judgement.probability("Yes") == pytest.approx(0.75)
    assert judgement.probability("No") == pytest.approx(0.25)
    # Far below what a float can hold as a probability.
    assert Judgement(options=YES_OR_NO, logprobs=(-2000.0, -2000.0)).probability("No") == pytest.approx(0.5)


def test_the_mean_of_a_likelihood_compares_texts_of_different_lengths() -> None:
    assert Likelihood(logprobs=(-1.0, -2.0, -6.0)).mean == -3.0


def test_abilities_are_found_through_every_wrapper() -> None:
    async def run() -> None:
        model = judging_model()
        wrapped = ModelWrapper(BudgetedModel(model, Budget()))
        assert await find_abilities(wrapped) == frozenset(Ability)
        assert await require_ability(wrapped, Ability.JUDGE, "gated") is wrapped
        assert (await wrapped.judge(TALK, YES_OR_NO)).logprobs == (-0.5, -1.5)
        assert (await wrapped.likelihood(TALK, "a bcd")).logprobs == (-1.0, -3.0)
        assert model.calls == 2
        assert model.last_messages == TALK

    asyncio.run(run())


class OnlyReplies:
    """A model of another package, with nothing but what the protocol asks for."""

    name = "theirs"
    window = None
    plan = Plan()
    template_tokens = 0
    tokenizer = ScriptedModel(lambda messages: "").tokenizer

    async def reply(self, messages, *, limit, sampling):
        raise AssertionError("no way of reading may get here")

    async def aclose(self) -> None:
        """Release nothing."""


@pytest.mark.parametrize("wrap", [lambda model: model, lambda model: BudgetedModel(model, Budget())])
def test_a_model_that_only_replies_is_refused_before_the_first_call(wrap) -> None:
    async def run() -> None:
        model = wrap(OnlyReplies())
        assert await find_abilities(model) == frozenset()
        with pytest.raises(MissingAbility, match=r"the way gated needs log-probabilities .*theirs.*--way"):
            await require_ability(model, Ability.JUDGE, "gated")
        if isinstance(model, BudgetedModel):
            with pytest.raises(MissingAbility, match="theirs"):
                await model.judge(TALK, YES_OR_NO)

    asyncio.run(run())


def test_a_scripted_model_has_the_abilities_that_it_was_given_functions_for() -> None:
    async def run() -> None:
        model = ScriptedModel(lambda messages: "", judge=lambda messages, options: [0.0])
        assert await find_abilities(model) == {Ability.JUDGE}
        with pytest.raises(MissingAbility):
            await model.likelihood(TALK, "x")

    asyncio.run(run())


@pytest.mark.parametrize("missing", [0, 1])
def test_a_judgement_is_paid_from_the_budget(missing: int) -> None:
    async def run() -> None:
        scripted = judging_model()
        need = scripted.tokenizer.count(TALK[0].content) + 1
        model = BudgetedModel(scripted, Budget(tokens=need - missing))
        if missing:
            with pytest.raises(BudgetReached):
                await model.judge(TALK, YES_OR_NO)
        else:
            await model.judge(TALK, YES_OR_NO)
            assert model.spent.tokens == need
        assert scripted.calls == 1 - missing

    asyncio.run(run())


def test_a_likelihood_reserves_one_token_more_than_its_text() -> None:
    async def run() -> None:
        scripted = judging_model()
        need = scripted.tokenizer.count(TALK[0].content) + scripted.tokenizer.count("a b c") + 1
        with pytest.raises(BudgetReached):
            await BudgetedModel(scripted, Budget(tokens=need - 1)).likelihood(TALK, "a b c")
        model = BudgetedModel(scripted, Budget(tokens=need))
        await model.likelihood(TALK, "a b c")
        assert model.spent.tokens == need - 1

    asyncio.run(run())


def test_options_must_begin_with_different_tokens() -> None:
    assert find_first_tokens(YES_OR_NO, [[5, 6], [7]]) == [5, 7]
    with pytest.raises(InputError, match="same token"):
        find_first_tokens(("Keep it", "Keep"), [[5, 6], [5]])
    for ids in ([[5], []], []):
        with pytest.raises(InputError, match="at least one token"):
            find_first_tokens(("a", "b")[: len(ids)], ids)
