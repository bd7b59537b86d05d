"""verifiers: an environment as a workflow of ours, and readings as an environment of theirs.

    environment = verifiers.load_environment("gsm8k")
    trainer = Trainer(policy, list_samples(environment), environment_reward, config,
                      workflow=environment_workflow(environment, limit=512))

Every model call of the environment becomes a conversation with its exact token ids; what the environment says between
two calls is never trained on. Environments whose model calls tools by the API are refused: a policy writes text alone.

    vf.load_environment("bookwheel.lab.verifiers", task="whereabouts", tokens=8192, count=512)

is the other way: whatever trains on environments (prime-rl) samples the conversations of a reading. Each is a step of
the trajectory by itself, so a trainer that makes a row of every step that does not continue the one before trains them
as this package does: all with the reading's one reward.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import verifiers as vf
from datasets import Dataset
from verifiers.clients.client import Client
from verifiers.types import Response, ResponseMessage, ResponseTokens
from verifiers.types import Usage as TokenUsage

from bookwheel.errors import InputError
from bookwheel.lab.tasks import sample_series
from bookwheel.lab.tasks.base import Sample, SampleDocument
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.rewards import RewardResult
from bookwheel.lab.training.samples import SampleFile
from bookwheel.lab.training.workflows import Episode, Workflow, reading
from bookwheel.models.base import Model
from bookwheel.plan import Plan, Sampling
from bookwheel.text.tokens import EstimatingTokenizer, FileTokenizer, Tokenizer
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


def load_environment(
    task: str = "",
    *,
    tokens: int = 8192,
    count: int = 512,
    seed: int = 0,
    file: str = "",
    data: str = "",
    tokenizer: str = "",
    plan: Mapping[str, Any] | None = None,
    **options: Any,
) -> ReadingEnvironment:
    """Return readings of a task's samples, or of a file's, as an environment.

    `tokenizer` is the policy's tokenizer.json, by which sections and memories are cut; without it they are estimated.
    `plan` has the keys of `[plan]`, and `options` are the task's.
    """
    counter = FileTokenizer(Path(tokenizer)) if tokenizer else EstimatingTokenizer()
    samples: Sequence[Sample] = (
        SampleFile(Path(file))
        if file
        else sample_series(
            task,
            tokens=tokens,
            count=count,
            seed=seed,
            tokenizer=counter,
            data=Path(data) if data else None,
            split="train",
            **options,
        )
    )
    return ReadingEnvironment(samples, Plan().with_values(dict(plan or {})), counter)


class ReadingEnvironment(vf.MultiTurnEnv):
    """A reading, whose every conversation is sampled by whoever runs the environment."""

    def __init__(self, samples: Sequence[Sample], plan: Plan, tokenizer: Tokenizer) -> None:
        self._samples, self._plan, self._tokenizer = samples, plan, tokenizer
        self._readings: dict[str, _StartedReading] = {}
        # Samples are made when they are read; a row says which it is.
        rows = [{"prompt": [{"role": "user", "content": ""}], "info": {"place": at}} for at in range(len(samples))]
        super().__init__(dataset=Dataset.from_list(rows), rubric=vf.Rubric(funcs=[self.verdict]))

    async def verdict(self, state: Any) -> float:
        """Return the score of the reading's answer by the sample's own verifier."""
        return float(state.get("score", 0.0))

    async def env_response(self, messages: Any, state: Any, **kwargs: Any) -> Any:
        """Raise: no conversation of a reading continues another."""
        raise NotImplementedError

    async def setup_state(self, state: Any) -> Any:
        sample = await asyncio.to_thread(self._samples.__getitem__, state["info"]["place"])
        self._readings[state["trajectory_id"]] = _StartedReading(sample, self._plan, self._tokenizer)
        return state

    async def get_prompt_messages(self, state: Any) -> Any:
        """Give the reading the last reply, and return its next prompt."""
        started = self._readings[state["trajectory_id"]]
        if state["trajectory"]:
            started.take(state["trajectory"][-1]["response"])
        messages = await started.next_prompt()
        if messages is None:
            state["final_env_response"] = []
            state["answer_read"], state["score"] = started.answer, started.score
            return []
        kinds = {"user": vf.UserMessage, "system": vf.SystemMessage, "assistant": vf.AssistantMessage}
        return [kinds[one.role](content=one.content) for one in messages]

    async def get_model_response(self, state: Any, prompt: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the reply, within the limit of a memory or of an answer."""
        started = self._readings[state["trajectory_id"]]
        sampling = {**(state["sampling_args"] or {}), "max_tokens": started.limit}
        return await super().get_model_response(state, prompt, *args, sampling_args=sampling, **kwargs)

    @vf.cleanup
    async def end_reading(self, state: Any) -> None:
        """Stop the reading of a rollout that ended before it."""
        if started := self._readings.pop(state["trajectory_id"], None):
            started.task.cancel()


class _StartedReading:
    """A reading under way: a model for it, whose prompts wait until somebody replies."""

    name = "environment"
    window = None
    template_tokens = 16

    def __init__(self, sample: Sample, plan: Plan, tokenizer: Tokenizer) -> None:
        self.plan, self.tokenizer = plan, tokenizer
        self.limit, self.answer, self.score = 0, "", 0.0
        self._sample = sample
        self._prompts: asyncio.Queue[tuple[Message, ...]] = asyncio.Queue()
        self._replies: asyncio.Queue[Reply] = asyncio.Queue()
        self.task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        episode = await reading(self.plan)(self, self._sample)
        self.answer = episode.answer
        self.score = (await asyncio.to_thread(self._sample.score, episode.answer)).score

    async def next_prompt(self) -> tuple[Message, ...] | None:
        """Return the prompt that the reading waits for; None at its end."""
        prompt = asyncio.create_task(self._prompts.get())
        await asyncio.wait([prompt, self.task], return_when=asyncio.FIRST_COMPLETED)
        if prompt.done():
            return prompt.result()
        prompt.cancel()
        try:
            return await self.task  # type: ignore[func-returns-value] # its error, if it has one
        except Exception as error:
            raise vf.Error(str(error)) from error

    def take(self, response: Any) -> None:
        message = response.message
        finish = Finish.LENGTH if message.is_truncated or message.finish_reason == "length" else Finish.STOP
        self._replies.put_nowait(Reply(text=_text_of(message.content).strip(), finish=finish))

    async def reply(self, messages: Sequence[Message], *, limit: int, sampling: Sampling) -> Reply:
        """Wait until the prompt was answered."""
        del sampling
        self.limit = limit
        await self._prompts.put(tuple(messages))
        return await self._replies.get()

    async def aclose(self) -> None:
        """Do nothing: the model is the environment's user's."""


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
