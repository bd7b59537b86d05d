"""verl's agent loop: one call is one session, the workflow run once on a sample, with all its conversations.

A session whose workflow or verifier fails raises. verl logs it and keeps the sample's other sessions, which are then
compared among themselves; the trainer counts the missing one as failed.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from transformers import AutoConfig, GenerationConfig
from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput, register

from bookwheel.lab.training.verl.reader import Reader
from bookwheel.lab.training.verl.server import ServedPolicy, SessionSampler
from bookwheel.lab.training.verl.translate import NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bookwheel.lab.training.verl.session import RolloutSession


@register(NAME)
class WorkflowLoop(AgentLoopBase):
    """Runs the workflow of `[train]`; the prompts, the reward and the samples are this package's own."""

    async def run(
        self, sampling_params: Mapping[str, Any], *, uid: str, index: int, is_held_out: bool, **_: Any
    ) -> list[AgentLoopOutput]:
        """Return the session's conversations in order, each with the reward of its answer."""
        policy, reader = _open_reader(self.tokenizer, self.config.actor_rollout_ref.model.path, self.config.data[NAME])
        sampler = SessionSampler(self.server_manager, uid, sampling_params, policy.stop_ids)
        session = await reader.read(int(index), sampler, is_held_out=bool(is_held_out))
        return build_outputs(session, sampler.versions)


def build_outputs(session: RolloutSession, versions: list[int]) -> list[AgentLoopOutput]:
    """Return the rows of a session in verl's form; `versions` are those of the weights that sampled them."""
    result = session.result
    extra = {
        "min_global_steps": min(versions, default=0),
        "max_global_steps": max(versions, default=0),
        "reward_extra_info": {"acc": result.answer, **result.parts},
    }
    return [
        AgentLoopOutput(
            prompt_ids=row.prompt,
            response_ids=row.response,
            response_mask=row.mask,
            response_logprobs=row.logprobs,
            reward_score=result.score,
            num_turns=2,
            metrics=AgentLoopMetrics(),
            extra_fields=dict(extra),
        )
        for row in session.rows
    ]


@cache
def _open_reader(tokenizer: Any, path: str, settings: str) -> tuple[ServedPolicy, Reader]:
    """Return the one reader of this process: verl makes a loop for every session."""
    try:
        generation = GenerationConfig.from_pretrained(path)
    except OSError:  # an optional file of a model's folder
        generation = None
    policy = ServedPolicy(tokenizer, AutoConfig.from_pretrained(path), generation)
    return policy, Reader(settings, policy)
