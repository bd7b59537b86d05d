"""A call is tried again as often as that makes sense and as long as patience lasts, and every try is accounted for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from bookwheel import errors
from bookwheel.errors import (
    BadReply,
    EmptyReply,
    ModelError,
    Overloaded,
    Refused,
    Rejected,
    ServerFault,
    UnknownModel,
    Unreachable,
    WindowExceeded,
)
from bookwheel.models import patience as module
from bookwheel.models.patience import Patience, PatientModel, Retry, format_duration, persist
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Sampling
from bookwheel.types import Finish, Message, Reply, Usage

HELLO = (Message(role="user", content="Hello"),)
COST = Usage(calls=1, prompt_tokens=7, completion_tokens=3)


class Playing(ScriptedModel):
    """Plays one outcome a call, the last again and again; remembers the samplings."""

    def __init__(self, *outcomes: str | Reply | Exception) -> None:
        super().__init__(lambda _messages: outcomes[min(self.calls - 1, len(outcomes) - 1)])
        self.samplings: list[Sampling] = []

    async def reply(self, messages: Sequence[Message], *, limit: int, sampling: Sampling) -> Reply:
        self.samplings.append(sampling)
        return await super().reply(messages, limit=limit, sampling=sampling)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that only sleeping moves."""
    clock = SimpleNamespace(now=0.0, waits=[])

    async def sleep(seconds: float) -> None:
        clock.waits.append(seconds)
        clock.now += seconds

    clock.sleep = sleep
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def ask(model: Playing, clock: SimpleNamespace, seconds: float | None = 600, **more: object) -> Reply:
    patience = Patience(seconds=seconds, **more)
    patient = PatientModel(model, patience, sleep=clock.sleep)
    return asyncio.run(patient.reply(HELLO, limit=9, sampling=Sampling(seed=5)))


@pytest.mark.parametrize("error", [Unreachable, Overloaded, errors.TimedOut, BadReply, ServerFault])
def test_what_passes_is_waited_out(clock: SimpleNamespace, error: type[ModelError]) -> None:
    model = Playing(*[error("not now")] * 12, "Noted.")
    assert ask(model, clock).text == "Noted."
    assert model.calls == 13
    assert all(wait <= module._LONGEST_WAIT for wait in clock.waits)


@pytest.mark.parametrize("error", [Refused, UnknownModel, WindowExceeded, errors.QuotaUsedUp, errors.NoWeights])
def test_what_cannot_mend_ends_at_once(clock: SimpleNamespace, error: type[ModelError]) -> None:
    model = Playing(error("no"), "Noted.")
    with pytest.raises(error, match=r"^no$"):
        ask(model, clock)
    assert (model.calls, clock.waits) == (1, [])


def test_every_model_error_says_how_often_it_is_worth_trying() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ModelError)]
    passing = {kind.__name__ for kind in kinds if kind("").is_passing}
    assert passing == {"Unreachable", "Overloaded", "TimedOut", "BadReply", "ServerFault"}
    assert {kind.__name__: kind.most_tries for kind in kinds if 1 < kind.most_tries < 99} == {
        "EmptyReply": 4,
        "Rejected": 3,
        "BrokenModel": 3,
    }


def test_patience_ends_and_the_error_says_what_was_tried(clock: SimpleNamespace) -> None:
    model = Playing(Unreachable("gone"))
    with pytest.raises(Unreachable, match=r"^gone \(tried \d+ times within \d+ min \d+ s\)$") as caught:
        ask(model, clock, seconds=600)
    assert 540 < clock.now <= 600
    assert caught.value.tries == model.calls > 15


def test_without_end_it_never_gives_up(clock: SimpleNamespace) -> None:
    model = Playing(*[Unreachable("gone")] * 500, "Noted.")
    assert ask(model, clock, seconds=None).text == "Noted."
    assert clock.now > 3600


def test_no_patience_is_one_try(clock: SimpleNamespace) -> None:
    model = Playing(Unreachable("gone"), "Noted.")
    with pytest.raises(Unreachable):
        ask(model, clock, seconds=0)
    assert model.calls == 1


def test_patience_counts_from_the_first_failure_and_not_from_the_call(clock: SimpleNamespace) -> None:
    """A call that hangs for ten minutes still gets its second try."""

    class Hanging(Playing):
        async def reply(self, *args: object, **more: object) -> Reply:
            clock.now += 600
            return await super().reply(*args, **more)

    model = Hanging(errors.TimedOut("hung"), "Noted.")
    assert ask(model, clock, seconds=600).text == "Noted."


def test_a_server_that_asks_to_wait_is_not_asked_earlier(clock: SimpleNamespace) -> None:
    model = Playing(Overloaded("busy", retry_after=40), "Noted.")
    ask(model, clock)
    assert 40 <= clock.waits[0] <= 41


def test_a_server_that_asks_for_no_wait_is_not_stormed(clock: SimpleNamespace) -> None:
    model = Playing(*[Overloaded("busy", retry_after=0)] * 30, "Noted.")
    ask(model, clock)
    assert min(clock.waits) > 0
    assert max(clock.waits) > 10


def test_a_wait_beyond_patience_is_not_begun(clock: SimpleNamespace) -> None:
    model = Playing(Overloaded("busy", retry_after=3600), "Noted.")
    with pytest.raises(Overloaded):
        ask(model, clock)
    assert (model.calls, clock.waits) == (1, [])


def test_waits_grow_and_differ(clock: SimpleNamespace) -> None:
    for _ in range(20):
        with pytest.raises(Unreachable):
            ask(Playing(Unreachable("gone")), clock, seconds=300)
    assert max(clock.waits) > 20
    assert len({round(wait, 6) for wait in clock.waits}) > len(clock.waits) * 0.9


def test_an_empty_reply_is_asked_for_again_with_another_seed_and_paid_for(clock: SimpleNamespace) -> None:
    model = Playing(Reply(text=" \n", usage=COST), Reply(text="", usage=COST), Reply(text="Noted.", usage=COST))
    reply = ask(model, clock)
    assert (reply.text, reply.usage) == ("Noted.", COST + COST + COST)
    assert [sampling.seed for sampling in model.samplings] == [5, 6, 7]


def test_a_reply_that_stays_empty_is_returned_with_the_cost_of_all_tries(clock: SimpleNamespace) -> None:
    model = Playing(Reply(text="", usage=COST))
    reply = ask(model, clock)
    assert (reply.text, model.calls, reply.usage.calls) == ("", 4, 4)


def test_what_a_content_filter_took_away_is_not_asked_for_again(clock: SimpleNamespace) -> None:
    model = Playing(Reply(text="", finish=Finish.FILTER))
    assert ask(model, clock).finish is Finish.FILTER
    assert model.calls == 1


def test_a_model_that_never_sent_a_text_is_set_up_wrong(clock: SimpleNamespace) -> None:
    model = Playing(EmptyReply("all went into reasoning"))
    with pytest.raises(EmptyReply, match=r"reasoning.*tried 4 times"):
        ask(model, clock)


def test_a_model_that_has_sent_texts_is_let_off_one_section(clock: SimpleNamespace) -> None:
    model = Playing("Noted.", EmptyReply("all went into reasoning"))
    patient = PatientModel(model, Patience(), sleep=clock.sleep)

    async def run() -> list[str]:
        return [(await patient.reply(HELLO, limit=9, sampling=Sampling())).text for _ in range(2)]

    assert asyncio.run(run()) == ["Noted.", ""]


def test_a_rejected_request_is_tried_three_times_whatever_came_before(clock: SimpleNamespace) -> None:
    model = Playing(*[Unreachable("gone")] * 5, Rejected("bad request"))
    with pytest.raises(Rejected):
        ask(model, clock)
    assert model.calls == 8


def test_every_wait_is_told_with_its_reason(clock: SimpleNamespace) -> None:
    told: list[Retry] = []
    ask(Playing(Unreachable("gone"), ServerFault("503"), "Noted."), clock, on_retry=told.append)
    assert [(type(retry.error), retry.tries, retry.wait > 0) for retry in told] == [
        (Unreachable, 1, True),
        (Unreachable, 1, False),
        (ServerFault, 2, True),
        (ServerFault, 2, False),
    ]
    assert [retry.wait for retry in told if retry.wait] == clock.waits
    assert told[-1].seconds == clock.now


def test_tries_within_tries_do_not_multiply(clock: SimpleNamespace) -> None:
    model = Playing(Unreachable("gone"))
    patient = PatientModel(model, Patience(seconds=60), sleep=clock.sleep)

    async def outer() -> Reply:
        return await patient.reply(HELLO, limit=9, sampling=Sampling())

    with pytest.raises(Unreachable) as caught:
        asyncio.run(persist(outer, Patience(), sleep=clock.sleep))
    assert caught.value.tries == model.calls
    assert clock.now <= 60


def test_patience_begins_anew_with_progress(clock: SimpleNamespace) -> None:
    steps: list[int] = []

    async def work() -> None:
        if len(steps) < 30:
            steps.append(1)
            clock.now += 50
            raise Unreachable("the tokenizer's server is gone")

    asyncio.run(persist(work, Patience(seconds=100), sleep=clock.sleep, progress=lambda: len(steps)))
    assert len(steps) == 30


def test_other_errors_and_interrupts_are_never_tried_again(clock: SimpleNamespace) -> None:
    for error in (AssertionError("a test"), errors.BudgetReached("spent")):
        model = Playing(error, "Noted.")
        with pytest.raises(type(error)):
            ask(model, clock)
        assert model.calls == 1


def test_what_nobody_foresaw_is_tried_three_times_and_told_in_our_words(clock: SimpleNamespace) -> None:
    model = Playing(ValueError("a bug"), "Noted.")
    assert ask(model, clock).text == "Noted."
    model = Playing(*[ValueError("a bug")] * 3)
    with pytest.raises(errors.BrokenModel, match="nobody foresaw"):
        ask(model, clock)
    assert model.calls == 3


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (59.4, "59 s"), (60, "1 min 0 s"), (754, "12 min 34 s")])
def test_durations_are_for_people(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
