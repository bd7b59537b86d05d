"""verifiers: an environment as a workflow of ours, its data set as samples, its rubric as the reward.

    environment = verifiers.load_environment("gsm8k")
    trainer = Trainer(policy, list_samples(environment), environment_reward, config,
                      workflow=environment_workflow(environment, limit=512))

Every model call of the environment becomes a conversation with its exact token ids; what the environment says between
two calls is never trained on. Environments whose model calls tools by the API are refused: a policy writes text alone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from verifiers.clients.client import Client
from verifiers.types import Response, ResponseMessage, ResponseTokens
from verifiers.types import Usage as TokenUsage

from bookwheel.errors import InputError
from bookwheel.lab.tasks.base import Sample, SampleDocument
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.rewards import RewardResult
from bookwheel.lab.training.workflows import Episode, Workflow
from bookwheel.models.base import Model
from bookwheel.plan import Sampling
from bookwheel.types import Conversation, Finish, Message, Reply

_ROW: Final = "verifiers"
_TASK: Final = "verifiers"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentEpisode(Episode):
    """An episode that its environment has scored."""

    reward: float
    """The rubric's."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Each of the rubric's functions by its name, before its weight."""


def list_samples(environment: Any, count: int = -1) -> list[Sample]:
    """Return the rows of the environment's data set as samples; -1 takes all."""
    samples = []
    for number, row in enumerate(environment.get_dataset(n=count)):
        name = f"{_TASK}-{row.get('example_id', number)}"
        samples.append(
            Sample(
                id=name,
                task=_TASK,
                question=_last_text(row["prompt"]),
                # The rubric judges, and many environments have no single right answer.
                golds=(str(row.get("answer") or "-"),),
                document=SampleDocument(name, [""]),
                metric="exact",
                metadata={_ROW: dict(row)},
            )
        )
    return samples


def environment_workflow(environment: Any, *, limit: int) -> Workflow:
    """Return a workflow that runs one rollout of the environment; a reply may have `limit` tokens."""

    async def run(model: Model, sample: Sample) -> EnvironmentEpisode:
        client = PolicyClient(model, limit)
        state = await environment.rollout(sample.metadata[_ROW], client, model.name, {"max_tokens": limit})
        if error := state.get("error"):
            raise _find_cause(error)
        await environment.rubric.score_rollout(state)
        replies = client.conversations
        return EnvironmentEpisode(
            conversations=tuple(replies),
            answer=replies[-1].reply.text if replies else "",
            limits=(limit,) * len(replies),
            reward=float(state["reward"] or 0.0),
            metrics=dict(state["metrics"] or {}),
        )

    return run


def environment_reward(episode: Episode, sample: Sample) -> RewardResult:
    """Return what the environment's rubric gave; a `Reward` for the trainer."""
    if not isinstance(episode, EnvironmentEpisode):
        raise ConfigError(f"sample {sample.id} was not rolled out by an environment: use environment_workflow")
    return RewardResult(score=episode.reward, answer=episode.reward, parts=episode.metrics)


class PolicyClient(Client):
    """The environment's client: our model answers, and every call is kept as a conversation."""

    def __init__(self, model: Model, limit: int) -> None:
        super().__init__(model)
        self.conversations: list[Conversation] = []
        self._limit = limit

    def setup_client(self, config: Any) -> Model:
        """Raise: a policy has no address."""
        raise ConfigError(f"a policy in training is no endpoint to connect to: {config!r}")

    async def to_native_tool(self, tool: Any) -> Any:
        """Raise: a policy writes text alone."""
        raise ConfigError(f"the environment gives the model the tool {tool.name!r}, and a policy writes text alone")

    async def to_native_prompt(self, messages: Sequence[Any]) -> tuple[tuple[Message, ...], dict[str, Any]]:
        """Return our messages."""
        return tuple(Message(role=one.role, content=_text_of(one.content)) for one in messages), {}

    async def get_native_response(
        self, prompt: tuple[Message, ...], model: str, sampling_args: Any, tools: Any = None, **kwargs: Any
    ) -> Reply:
        """Hold the conversation and keep it."""
        del model, tools, kwargs
        limit = int(sampling_args.get("max_tokens") or self._limit)
        reply: Reply = await self.client.reply(prompt, limit=min(limit, self._limit), sampling=Sampling())
        self.conversations.append(Conversation(messages=prompt, reply=reply))
        return reply

    async def raise_from_native_response(self, response: Reply) -> None:
        """Do nothing: our models raise by themselves."""

    async def from_native_response(self, response: Reply) -> Response:
        """Return the reply as verifiers has it, with its exact tokens."""
        is_cut, usage, record = response.finish is Finish.LENGTH, response.usage, response.tokens
        tokens = record and ResponseTokens(
            prompt_ids=list(record.prompt),
            prompt_mask=[0] * len(record.prompt),
            completion_ids=list(record.reply),
            completion_mask=[1] * len(record.reply),
            completion_logprobs=list(record.logprobs),
        )
        return Response(
            id=f"reply-{len(self.conversations)}",
            created=int(time.time()),
            model=self.client.name,
            usage=TokenUsage(
                prompt_tokens=usage.prompt_tokens,
                reasoning_tokens=0,
                completion_tokens=usage.completion_tokens,
                total_tokens=usage.tokens,
            ),
            message=ResponseMessage(
                content=response.text, finish_reason="length" if is_cut else "stop", is_truncated=is_cut, tokens=tokens
            ),
        )

    async def close(self) -> None:
        """Do nothing: the model belongs to the trainer."""


def _find_cause(error: BaseException) -> BaseException:
    """Return our own error behind one of the environment's: settings that cannot work end the run."""
    cause = error
    while cause.__cause__ is not None and not isinstance(cause, InputError):
        cause = cause.__cause__
    return cause


def _last_text(prompt: Any) -> str:
    if isinstance(prompt, str):
        return prompt
    last = prompt[-1]
    return _text_of(last["content"] if isinstance(last, dict) else last.content)


def _text_of(content: Any) -> str:
    """Return a message's text; images and sounds are refused."""
    if content is None or isinstance(content, str):
        return content or ""
    parts = [part if isinstance(part, dict) else part.model_dump() for part in content]
    if other := next((part["type"] for part in parts if part["type"] != "text"), None):
        raise ConfigError(f"the environment shows the model a part of type {other!r}, and a policy reads text alone")
    return "\n".join(part["text"] for part in parts)
