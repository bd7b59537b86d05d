from __future__ import annotations

import math
from collections import Counter

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from bookwheel.lab.training.generation import GenerationRequest, generate  # noqa: E402
from bookwheel.lab.training.rows import Row  # noqa: E402


@pytest.fixture(params=[0, 10**6], ids=["alone", "sharing"])
def sharing_limit(request):
    return request.param


def requests(**more):
    prompts = [(7, 8, 9), (7, 8, 9, 10, 11, 12, 30, 31), (5,), (7, 8, 9), tuple(range(20, 50)), (*range(20, 45), 7)]
    return [GenerationRequest(prompt=prompt, limit=6 + i, seed=i, **more) for i, prompt in enumerate(prompts)]


def said(policy, asked, **how):
    return generate(policy.model, asked, stop=policy.stop_ids, **how)


def test_log_probabilities_are_those_that_training_computes(still_policy, sharing_limit):
    asked = requests()
    sampled = said(still_policy, asked, sharing_limit=sharing_limit)
    rows = [
        Row(
            ids=(*request.prompt, *one.ids),
            trained=(False,) * len(request.prompt) + (True,) * len(one.ids),
            logprobs=tuple(one.logprobs),
            advantage=0.0,
            rollout="",
        )
        for request, one in zip(asked, sampled, strict=True)
    ]
    with torch.no_grad():
        trained = still_policy.score(rows).logprobs
    assert torch.allclose(trained, torch.tensor([p for row in rows for p in row.logprobs]), atol=1e-5)


def test_what_a_request_draws_does_not_depend_on_its_neighbours(still_policy, sharing_limit):
    together = [one.ids for one in said(still_policy, requests(), sharing_limit=sharing_limit)]
    alone = [said(still_policy, [request])[0].ids for request in requests()]
    in_small_batches = [one.ids for one in said(still_policy, requests(), budget=40, sharing_limit=sharing_limit)]
    assert together == alone == in_small_batches


def test_the_same_prompt_is_read_once_and_drawn_from_apart(still_policy):
    widths = []
    handle = still_policy.model.get_decoder().register_forward_pre_hook(
        lambda module, args, kwargs: widths.append(kwargs["input_ids"].shape[0]), with_kwargs=True
    )
    drawn = said(still_policy, [GenerationRequest(prompt=(7, 8, 9), limit=8, seed=seed) for seed in range(6)])
    handle.remove()
    assert widths[0] == 1
    assert widths[1] == 6
    assert len({tuple(one.ids) for one in drawn}) > 1


def test_limits_and_stops_end_a_reply(still_policy, sharing_limit):
    replies = said(still_policy, requests(), sharing_limit=sharing_limit)
    for request, one in zip(requests(), replies, strict=True):
        assert len(one.ids) == len(one.logprobs) <= request.limit
        assert one.stopped == (one.ids[-1] in still_policy.stop_ids)
        assert one.stopped or len(one.ids) == request.limit
    everything = frozenset(range(len(still_policy.tokenizer)))
    assert all(len(one.ids) == 1 and one.stopped for one in generate(still_policy.model, requests(), stop=everything))


def test_without_temperature_the_likeliest_token_is_taken(still_policy):
    (one,) = said(still_policy, [GenerationRequest(prompt=(7, 8, 9), limit=5, temperature=0.0)])
    ids = [7, 8, 9]
    for token in one.ids:
        with torch.no_grad():
            assert token == still_policy.model(input_ids=torch.tensor([ids])).logits[0, -1].argmax().item()
        ids.append(token)


def test_draws_follow_the_distribution_and_the_nucleus_cuts_its_tail(still_policy):
    with torch.no_grad():
        logits = still_policy.model(input_ids=torch.tensor([[7, 8, 9]])).logits[0, -1]
    expected = torch.softmax(logits * 20, dim=-1)
    asked = [GenerationRequest(prompt=(7, 8, 9), limit=1, temperature=0.05, seed=seed) for seed in range(3000)]
    counts = Counter(one.ids[0] for one in said(still_policy, asked))
    likeliest = int(expected.argmax())
    share = float(expected[likeliest])
    assert counts[likeliest] / 3000 == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / 3000))
    nucleus = [
        GenerationRequest(prompt=(7, 8, 9), limit=1, temperature=0.05, top_p=share / 2, seed=seed) for seed in range(50)
    ]
    assert {one.ids[0] for one in said(still_policy, nucleus)} == {likeliest}
