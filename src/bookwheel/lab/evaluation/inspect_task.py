"""A task for inspect_ai: our samples, reading loop and metrics with its models, logs and viewer.

    inspect eval bookwheel/reading --model openai/NAME -T task=niah_single_2 -T tokens=32000 -T way=sequential

No other module imports this one, so inspect_ai stays optional.
"""

# Where inspect_ai is not installed its decorators have no types.
# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset
from inspect_ai.dataset import Sample as InspectSample
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, GenerateConfig, get_model
from inspect_ai.scorer import Score, mean, scorer, stderr
from inspect_ai.solver import solver

from bookwheel.companions import accompany
from bookwheel.errors import DocumentTooLong, ServerFault
from bookwheel.lab.tasks import make_samples
from bookwheel.lab.tasks.base import Sample
from bookwheel.models.patience import Patience
from bookwheel.plan import Plan, Sampling
from bookwheel.reading.ways.registry import load_way
from bookwheel.session import Session, WayRequest
from bookwheel.text.tokens import EstimatingTokenizer, FileTokenizer, Tokenizer
from bookwheel.types import Finish, Message, Reply, Usage

if TYPE_CHECKING:
    from inspect_ai.model import Model
    from inspect_ai.scorer import Scorer, Target
    from inspect_ai.solver import Generate, Solver, TaskState


_INSPECT_MESSAGE = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
_FINISH = {"max_tokens": Finish.LENGTH, "model_length": Finish.LENGTH, "content_filter": Finish.FILTER}


class InspectModel:
    """A model of inspect_ai behind our Model interface."""

    def __init__(self, model: Model, *, plan: Plan, tokenizer: Tokenizer, window: int | None = None) -> None:
        self.name = str(model)
        self.plan = plan
        self.tokenizer = tokenizer
        self.window = window
        self.template_tokens = 64
        """An upper bound: no chat template in use adds more to one or two messages."""
        self._model = model

    async def reply(self, messages: Sequence[Message], *, limit: int, sampling: Sampling) -> Reply:
        """Send one conversation through inspect_ai, which retries, limits and logs it."""
        config = GenerateConfig(
            max_tokens=limit, temperature=sampling.temperature, top_p=sampling.top_p, seed=sampling.seed
        )
        output = await self._model.generate(
            [_INSPECT_MESSAGE[m.role](content=m.content) for m in messages], config=config
        )
        if output.error or not output.choices:
            raise ServerFault(output.error or f"{self.name} gave no reply; look into the log")
        usage = Usage(
            calls=1,
            prompt_tokens=output.usage.input_tokens if output.usage else 0,
            completion_tokens=output.usage.output_tokens if output.usage else 0,
            seconds=output.time or 0.0,
        )
        finish = _FINISH.get(output.choices[0].stop_reason, Finish.STOP)
        return Reply(text=output.completion, finish=finish, usage=usage)

    async def aclose(self) -> None:
        """Do nothing: inspect_ai closes its models itself."""


@task
def reading(
    *,
    task: str = "niah_single_2",
    tokens: int = 4000,
    count: int = 50,
    seed: int = 0,
    language: str | None = None,
    data: str | None = None,
    way: str = "sequential",
    tokenizer: str | None = None,
    window: int | None = None,
    plan: dict[str, Any] | None = None,
) -> Task:
    """Return an inspect task with samples of one of our tasks and lengths, read in one of our ways."""
    counts = FileTokenizer(Path(tokenizer)) if tokenizer else EstimatingTokenizer()
    folder = Path(data) if data else None
    samples = make_samples(
        task, tokens=tokens, count=count, seed=seed, tokenizer=counts, language=language, data=folder
    )
    return reading_task(samples, way=way, plan=Plan.from_json(plan or {}), tokenizer=counts, window=window)


def reading_task(
    samples: Iterable[Sample],
    *,
    way: str = "sequential",
    plan: Plan | None = None,
    tokenizer: Tokenizer | None = None,
    window: int | None = None,
) -> Task:
    """Return an inspect task of any samples. Its logs hold questions, golds and answers, but no documents."""
    load_way(way)
    by_name = {f"{sample.task}/{sample.length}/{sample.id}": sample for sample in samples}
    dataset = [
        InspectSample(
            id=name,
            input=sample.question,
            target=list(sample.golds),
            metadata={"task": sample.task, "length": sample.length, "tokens": sample.tokens, "metric": sample.metric},
        )
        for name, sample in by_name.items()
    ]
    return Task(
        dataset=MemoryDataset(dataset, name=f"bookwheel-{way}"),
        solver=_solve_by_reading(by_name, way, plan or Plan(), tokenizer or EstimatingTokenizer(), window),
        scorer=_score_by_metric(by_name),
        metadata={"way": way},
    )


@solver
def _solve_by_reading(
    by_name: Mapping[str, Sample], way: str, plan: Plan, tokenizer: Tokenizer, window: int | None
) -> Solver:
    """Read the sample's document. A reading without an answer leaves an empty one, and the reason in the metadata."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        sample = by_name[str(state.sample_id)]
        model = InspectModel(get_model(), plan=plan, tokenizer=tokenizer, window=window)
        # inspect_ai retries by itself.
        session = Session(model=accompany(model), patience=Patience(seconds=0))
        try:
            (reading,) = await session.run(
                await session.prepare(sample.document, [sample.question], plan, WayRequest(way=way))
            )
        except DocumentTooLong as refusal:
            state.metadata |= {"status": "refused", "error": str(refusal)}
            return state
        state.metadata |= {"status": str(reading.status), "error": reading.error, "steps": len(reading.steps)}
        state.output.completion = reading.answer.text if reading.answer else ""
        return state

    return solve


@scorer(metrics=[mean(), stderr()])
def _score_by_metric(by_name: Mapping[str, Sample]) -> Scorer:
    """Score by the sample's own metric; no answer counts as wrong."""

    async def score_state(state: TaskState, target: Target) -> Score:
        del target
        answered = state.metadata.get("status") == "answered"
        score = by_name[str(state.sample_id)].score(state.output.completion if answered else None)
        reason = f"{score.reason}: {state.metadata.get('error')}" if state.metadata.get("error") else score.reason
        return Score(value=score.score, answer=state.output.completion, explanation=reason)

    return score_state
