"""The model protocol: reply to messages, and count tokens. `ModelWrapper` is the base of everything that wraps one.

Some models can also judge without writing, or embed texts. Those are protocols of their own, because not every server
offers them; a way of reading that needs one calls `require_ability` before its first call.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from math import exp, fsum
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar, runtime_checkable

from bookwheel.errors import InputError, MissingAbility
from bookwheel.types import Message, Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bookwheel.models.copying import CopiedSpan
    from bookwheel.plan import Plan, Sampling
    from bookwheel.text.tokens import Tokenizer

REPLY_WATCHER: Final[ContextVar[Callable[[str], None] | None]] = ContextVar("reply_watcher", default=None)
"""Called with the text of a reply so far, by a model that can stream it. Every call made below inherits it."""
EMBEDDINGS_VARIABLE: Final = "BOOKWHEEL_EMBEDDINGS"
"""Names an endpoint for embeddings; the session reads it."""


class Ability(StrEnum):
    """A thing that a model can do besides replying."""

    JUDGE = "judge"
    LIKELIHOOD = "likelihood"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The model's choice among a few answers of one token, without a reply being written."""

    options: tuple[str, ...]
    logprobs: tuple[float, ...]
    """One for each option, in natural logarithms: of all that the model could reply, not of the options alone."""
    usage: Usage = field(default_factory=Usage)

    def probability(self, option: str) -> float:
        """Return the share of this option among the options."""
        best = max(self.logprobs)
        weights = [exp(logprob - best) for logprob in self.logprobs]
        return weights[self.options.index(option)] / sum(weights)


@dataclass(frozen=True, slots=True, kw_only=True)
class Likelihood:
    """The log-probabilities that a model gives to the tokens of a text which it did not write."""

    logprobs: tuple[float, ...]
    usage: Usage = field(default_factory=Usage)

    @property
    def mean(self) -> float:
        """The mean log-probability of a token, so that texts of different lengths compare."""
        return fsum(self.logprobs) / len(self.logprobs)


Vector: TypeAlias = tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Embeddings:
    """One vector for each text, of length 1."""

    vectors: tuple[Vector, ...]
    usage: Usage = field(default_factory=Usage)


class Model(Protocol):
    """One small protocol, met by the `openai`, `local` and `scripted` models and by a policy in training."""

    @property
    def name(self) -> str: ...

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's own, or an estimate that says so."""
        ...

    @property
    def window(self) -> int | None:
        """The most tokens of prompt and reply together; None if the server does not report it."""
        ...

    @property
    def plan(self) -> Plan:
        """The plan this model reads best with; users' settings go on top."""
        ...

    @property
    def template_tokens(self) -> int:
        """An upper bound of the tokens that the chat template adds around the messages."""
        ...

    async def reply(self, messages: Sequence[Message], *, limit: int, sampling: Sampling) -> Reply:
        """Hold one independent conversation. Raise a ModelError on failure; never return an empty text for one."""
        ...

    async def aclose(self) -> None:
        """Release connections and weights."""
        ...


@runtime_checkable
class JudgingModel(Model, Protocol):
    """A model that may offer more than replies; `abilities` says which of the two methods really work."""

    async def abilities(self) -> frozenset[Ability]:
        """Ask what the model offers. A server is asked once."""
        ...

    async def judge(self, messages: Sequence[Message], options: Sequence[str]) -> Judgement:
        """Return the log-probability of each option as the reply. The options must begin with different tokens."""
        ...

    async def likelihood(self, messages: Sequence[Message], continuation: str) -> Likelihood:
        """Return the log-probabilities of the tokens of `continuation` as the reply."""
        ...


@runtime_checkable
class EmbeddingModel(Protocol):
    """Whoever turns texts into vectors."""

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return a vector for each text. Raise MissingAbility where there are none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """Spans of a passage as the reply, the likeliest first."""

    spans: tuple[CopiedSpan, ...] = ()
    usage: Usage = field(default_factory=Usage)


@runtime_checkable
class CopyingModel(Protocol):
    """Whoever knows which words of a passage are the reply, without writing one."""

    async def copy(self, messages: Sequence[Message], passage: str, gap: str = "") -> Copies:
        """Return the likeliest spans, none of them over a gap; none where the weights offer no such thing."""
        ...


async def copy_spans(model: Model, messages: Sequence[Message], passage: str, gap: str = "") -> Copies:
    """Return the spans of a passage that are likeliest as the reply; none where the model cannot tell."""
    return await model.copy(messages, passage, gap) if isinstance(model, CopyingModel) else Copies()


@runtime_checkable
class TriedModel(Protocol):
    """A model that may have to be tried before it is known what it can do."""

    async def try_abilities(self, by: JudgingModel) -> frozenset[Ability]:
        """Return what it can do, trying it through the wrappers around it, which count and limit the calls."""
        ...


async def find_abilities(model: object, by: JudgingModel | None = None) -> frozenset[Ability]:
    """Return what the model can do besides replying; `by` is the outermost wrapper around it."""
    if isinstance(model, TriedModel) and isinstance(model, JudgingModel):
        return await model.try_abilities(by or model)
    return await model.abilities() if isinstance(model, JudgingModel) else frozenset()


async def require_ability(model: Model, ability: Ability, way: str) -> JudgingModel:
    """Return the model; raise MissingAbility, with advice, if it lacks what the way of reading needs."""
    if isinstance(model, JudgingModel) and ability in await find_abilities(model):
        return model
    raise missing_ability(model, ability, way)


def missing_ability(model: Model, ability: str, way: str) -> MissingAbility:
    # What is no way of reading has no other one: "of a teacher".
    other = "" if way.startswith("of ") else "another --way, "
    return MissingAbility(
        f"the way {way} needs log-probabilities ({ability}), which {model.name} does not offer: use {other}"
        f"the local model, or a server such as vLLM or llama.cpp"
    )


async def embed_texts(model: Model, texts: Sequence[str]) -> Embeddings:
    """Return the model's embeddings of texts. Raise MissingAbility, with advice, where it gives none."""
    if isinstance(model, EmbeddingModel):
        return await model.embed(texts)
    raise missing_embeddings(model.name)


def missing_embeddings(name: str) -> MissingAbility:
    return MissingAbility(
        f"{name} gives no embeddings: set {EMBEDDINGS_VARIABLE} to an endpoint that does, or rank by words"
    )


class ModelWrapper:
    """A model that passes everything on to another one; subclasses change what they need to."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def tokenizer(self) -> Tokenizer:
        return self._model.tokenizer

    @property
    def window(self) -> int | None:
        return self._model.window

    @property
    def plan(self) -> Plan:
        return self._model.plan

    @property
    def template_tokens(self) -> int:
        return self._model.template_tokens

    async def reply(self, messages: Sequence[Message], *, limit: int, sampling: Sampling) -> Reply:
        return await self._model.reply(messages, limit=limit, sampling=sampling)

    async def abilities(self) -> frozenset[Ability]:
        return await find_abilities(self)

    async def try_abilities(self, by: JudgingModel) -> frozenset[Ability]:
        return await find_abilities(self._model, by)

    async def judge(self, messages: Sequence[Message], options: Sequence[str]) -> Judgement:
        return await self._as_judging().judge(messages, options)

    async def likelihood(self, messages: Sequence[Message], continuation: str) -> Likelihood:
        return await self._as_judging().likelihood(messages, continuation)

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        return await embed_texts(self._model, texts)

    async def copy(self, messages: Sequence[Message], passage: str, gap: str = "") -> Copies:
        return await copy_spans(self._model, messages, passage, gap)

    async def aclose(self) -> None:
        await self._model.aclose()

    def _as_judging(self) -> JudgingModel:
        if isinstance(self._model, JudgingModel):
            return self._model
        raise MissingAbility(f"{self.name} cannot judge or score a text: it can only reply")


_Wrapper = TypeVar("_Wrapper", bound=ModelWrapper)


def find_wrapper(model: Model, kind: type[_Wrapper]) -> _Wrapper | None:
    """Return the outermost wrapper of this kind around a model."""
    while isinstance(model, ModelWrapper):
        if isinstance(model, kind):
            return model
        model = model._model  # noqa: SLF001 - a wrapper's own
    return None


def unwrap(model: Model) -> Model:
    """Return the model itself, without all that is wrapped around it."""
    while isinstance(model, ModelWrapper):
        model = model._model  # noqa: SLF001 - a wrapper's own
    return model


def find_endpoint(model: Model) -> Any:
    """Return where a model is asked, however it is wrapped; None for one in this process."""
    return getattr(unwrap(model), "endpoint", None)


def count_messages(messages: Iterable[Message], tokenizer: Tokenizer) -> int:
    """Return the tokens of a prompt, without those of the chat template."""
    return sum(tokenizer.count(message.content) for message in messages)


def most_scored_tokens(tokenizer: Tokenizer, continuation: str) -> int:
    """Return the most reply tokens that a likelihood costs, for budgets."""
    # One token more than the text has: vLLM always writes one.
    return tokenizer.count(continuation) + 1


def find_first_tokens(options: Sequence[str], ids: Sequence[Sequence[int]]) -> list[int]:
    """Return each option's first token; InputError if a judgement by one token could not tell them apart."""
    if not options or not all(ids):
        raise InputError("judge() needs options of at least one token each")
    firsts = [option[0] for option in ids]
    if len(set(firsts)) < len(firsts):
        raise InputError(f"the options {', '.join(map(repr, options))} begin with the same token: choose other words")
    return firsts
