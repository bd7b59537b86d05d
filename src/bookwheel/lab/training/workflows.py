"""Workflows: async functions `(model, sample) -> episode`. Three stand here; the trainer takes any other.

    reading       K update conversations and an answer, by the same loop as `bookwheel ask`
    calculator    one conversation of several turns; the calculator's output is in the prompt, never trained on
    single        one conversation of one turn

A workflow knows nothing of rewards, groups or gradients, and takes any model that keeps the Model protocol.
"""

import ast
import operator
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from bookwheel.lab.tasks import Sample
from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.errors import ConfigError
from bookwheel.models.base import Model
from bookwheel.plan import Plan
from bookwheel.reading.loop import Way, answer, conclude, converse, read
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.registry import load_way
from bookwheel.types import Answer, Conversation, Message, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """The result of one run of a workflow."""

    conversations: tuple[Conversation, ...]
    """In order; each is a model call with its exact ids."""
    answer: str
    limits: tuple[int, ...]
    """The token limit of each reply."""
    steps: tuple[Step, ...] = ()
    """Of a reading; they hold the memories."""
    final: Answer | None = None
    """Of a reading."""


Workflow: TypeAlias = "Callable[[Model, Sample], Awaitable[Episode]]"


def reading(plan: Plan, way: Way = read, brief: str = "") -> Workflow:
    """Return a workflow that reads the sample's document the given way.

    With a `brief`, memories are kept by it, as lasting ones are: the sample's question comes when all is read.
    """

    async def run(model: Model, sample: Sample) -> Episode:
        steps: list[Step] = []
        final: Answer | None = None
        async with aclosing(way(sample.document, brief or sample.question, model, plan)) as events:
            async for event in events:
                if not isinstance(event, Step):
                    final = event
                    break
                steps.append(event)
                if brief and event.chunk.end == sample.document.length:
                    prompts = prompts_for(plan, sample.question)
                    final = await answer(sample.question, event.after, model, plan, prompts)
                    break
        last = (final.conversation,) if final else ()
        # A step that only judged sampled nothing that could be trained.
        written = [step.conversation for step in steps if step.score is None or step.conversation.reply.tokens]
        return Episode(
            conversations=(*written, *last),
            answer=final.text if final else "",
            limits=(*(plan.memory_tokens for _ in written), *(plan.answer_tokens for _ in last)),
            steps=tuple(steps),
            final=final,
        )

    return run


def single(plan: Plan) -> Workflow:
    """Return a workflow that asks the question, and nothing else, in one turn."""

    async def run(model: Model, sample: Sample) -> Episode:
        messages = (Message(role="user", content=sample.question),)
        said = await converse(messages, model, plan.answer_tokens, plan.sampling)
        return Episode(conversations=(said,), answer=conclude(said).text, limits=(plan.answer_tokens,))

    return run


_CALL: Final = re.compile(r"\bcalc\s*\(([^\n]{1,200})\)")
_RULES: Final = (
    r"To compute, write calc(EXPRESSION) and stop; the result comes back. "
    r"When you know the answer, write it inside \boxed{}."
)


def calculator(plan: Plan, *, turns: int = 6) -> Workflow:
    """Let the model call a calculator, up to `turns` turns; the last reply that calls nothing is the answer."""

    async def run(model: Model, sample: Sample) -> Episode:
        messages: tuple[Message, ...] = (Message(role="user", content=f"{sample.question}\n{_RULES}".strip()),)
        conversations: list[Conversation] = []
        for _ in range(turns):
            conversations.append(await converse(messages, model, plan.answer_tokens, plan.sampling))
            call = _CALL.search(conversations[-1].reply.text)
            if call is None:
                break
            messages = conversations[-1].go_on(compute(call[1]))
        return Episode(
            conversations=tuple(conversations),
            answer=conclude(conversations[-1]).text,
            limits=(plan.answer_tokens,) * len(conversations),
        )

    return run


def build_workflow(config: TrainConfig) -> Workflow:
    match config.workflow:
        case "reading":
            return reading(config.plan, load_way(config.way), config.brief)
        case "single":
            return single(config.plan)
        case "calculator":
            return calculator(config.plan)
        case _:
            raise ConfigError(f"no workflow {config.workflow!r}; there are: reading, calculator, single")


_OPERATIONS: Final[Mapping[type, Callable[..., Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
}


def compute(expression: str) -> str:
    """Return the value of an expression, or an error message that the model can act on.

    >>> compute("12 * (3 + 4)")
    '84'
    >>> compute("print(1)")
    'calc takes numbers, + - * / // % and brackets'
    """
    try:
        value = _evaluate(ast.parse(expression.strip(), mode="eval").body)
        return str(int(value)) if value == int(value) else f"{value:.6g}"
    except ZeroDivisionError:
        return "division by zero"
    except (SyntaxError, TypeError, KeyError, ValueError, OverflowError, RecursionError, MemoryError):
        return "calc takes numbers, + - * / // % and brackets"


def _evaluate(node: ast.AST) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATIONS[type(op)](_evaluate(left), _evaluate(right))
        case ast.UnaryOp(op=op, operand=operand):
            return _OPERATIONS[type(op)](_evaluate(operand))
        case _:
            raise TypeError(type(node).__name__)
