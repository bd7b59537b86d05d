"""Scores are those of transformers on the same token ids, within the error of eight bits."""

from __future__ import annotations

import asyncio

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("xllamacpp")

from bookwheel.environment import Environment  # noqa: E402
from bookwheel.errors import BookwheelError  # noqa: E402
from bookwheel.lab.training.config import PolicySettings  # noqa: E402
from bookwheel.lab.training.loading import load_policy  # noqa: E402
from bookwheel.models.forward import Llama  # noqa: E402
from bookwheel.models.gguf import load_gguf  # noqa: E402
from bookwheel.models.local import LocalModel  # noqa: E402
from bookwheel.models.weights import find_local_weights  # noqa: E402
from bookwheel.types import Message  # noqa: E402

SECTION = "The ferry Petrel sank off Gull Point in 1911. Nine men were saved by the keeper, Mara Quill."
CONTINUATIONS = ("Who saved nine men?", "When did the ferry Petrel sink?", "Which bank lent the money?")

try:
    FILE = find_local_weights(Environment.load())
except BookwheelError:
    FILE = None
pytestmark = [
    pytest.mark.torch,
    pytest.mark.long,
    pytest.mark.weights,
    pytest.mark.skipif(FILE is None, reason="the local model's weights are not at hand"),
]


@pytest.fixture(scope="module")
def policy():
    """Return the weights as transformers runs them."""
    return load_policy(PolicySettings(path="local"))


def score_by_transformers(policy, prompt: list[int], ids: list[int]) -> list[float]:
    with torch.no_grad():
        logits = policy.model(input_ids=torch.tensor([[*prompt, *ids]])).logits[0]
    logprobs = logits.log_softmax(-1)
    return [float(logprobs[len(prompt) - 1 + at, id_]) for at, id_ in enumerate(ids)]


def test_a_continuation_is_as_likely_for_llama_cpp_as_for_transformers(policy):
    async def run():
        model = await LocalModel.open(FILE, threads=1)
        try:
            messages = (Message(role="user", content=f"{SECTION}\n\nWrite one question that this answers."),)
            prompt = model._prompt(messages)
            for text in CONTINUATIONS:
                likelihood = await model.likelihood(messages, text)
                reference = score_by_transformers(policy, prompt, model._engine.tokenize(text))
                assert likelihood.mean == pytest.approx(sum(reference) / len(reference), abs=0.1)
                # Both compute in their own order and precision; a single unlikely token may differ more than the mean.
                assert list(likelihood.logprobs) == pytest.approx(reference, abs=0.5)
            with torch.no_grad():
                exact = policy.model(input_ids=torch.tensor([prompt])).logits[0, -1].log_softmax(-1)
            likeliest = [int(id_) for id_ in exact.topk(5).indices]
            judged = await model._engine.judge(prompt, likeliest)
            assert list(judged) == pytest.approx([float(exact[id_]) for id_ in likeliest], abs=0.25)
        finally:
            await model.aclose()

    asyncio.run(run())


def test_the_forward_pass_scores_as_transformers(policy):
    prompt, ids = list(range(1000, 1200)), [314, 1592, 6535, 8979]
    scored = Llama(load_gguf(FILE)).score(prompt, ids, lambda: False)
    # A single unlikely token may differ more than the mean.
    reference = score_by_transformers(policy, prompt, ids)
    assert list(scored) == pytest.approx(reference, abs=0.5)
    assert sum(scored) / len(ids) == pytest.approx(sum(reference) / len(ids), abs=0.15)
