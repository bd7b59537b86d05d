"""The samples of a task as a sequence, each made when it is asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

from bookwheel.lab.tasks.base import MissingSample, Sample, SampleDocument
from bookwheel.lab.tasks.errors import InfeasibleSample

if TYPE_CHECKING:
    from collections.abc import Callable

    from bookwheel.lab.tasks.definition import SampleDraft, SampleRequest


class LazySamples(Sequence[Sample]):
    """Samples of which each is made or read when it is asked for. A subclass says how many there are, and loads one."""

    @overload
    def __getitem__(self, place: int) -> Sample: ...

    @overload
    def __getitem__(self, place: slice) -> list[Sample]: ...

    def __getitem__(self, place: int | slice) -> Sample | list[Sample]:
        places = range(len(self))
        if isinstance(place, slice):
            return [self._load_sample(one) for one in places[place]]
        return self._load_sample(places[place])

    @abstractmethod
    def _load_sample(self, place: int) -> Sample:
        """Return the sample at a place from 0 on."""


class SampleSeries(LazySamples):
    """The samples of a task in the order of their indexes."""

    def __init__(self, first: SampleRequest, build: Callable[[SampleRequest], SampleDraft], count: int) -> None:
        self._first = first
        self._build = build
        self._count = count

    def __len__(self) -> int:
        return self._count

    def _load_sample(self, place: int) -> Sample:
        request = self._first.for_index(place)
        try:
            return _finish_sample(request, self._build(request))
        except InfeasibleSample as reason:
            reason.task, reason.sample = request.task, _identify(request, request.tokens)
            reason.length = request.tokens
            raise


def make_sample(series: Sequence[Sample], place: int) -> Sample | MissingSample:
    """Return one sample of a series, or the reason why it cannot be made."""
    try:
        return series[place]
    except InfeasibleSample as reason:
        return MissingSample(task=reason.task, id=reason.sample, reason=str(reason), length=reason.length)


def _identify(request: SampleRequest, length: int) -> str:
    """Return the id of the sample that the request asks for."""
    part = "" if request.split == "dev" else f"{request.split}-"
    return f"{request.task}-{request.language}-{part}{length}-{request.seed}-{request.index}"


def _finish_sample(request: SampleRequest, draft: SampleDraft) -> Sample:
    length = request.tokens if draft.length is None else draft.length
    identity = _identify(request, length)
    return Sample(
        id=identity,
        task=request.task,
        question=draft.question,
        golds=draft.golds,
        document=SampleDocument(identity, draft.body.pieces),
        metric=str(request.options.get("metric", draft.metric)),
        length=length,
        tokens=draft.body.tokens,
        seed=request.seed,
        language=request.language,
        evidence=draft.body.evidence,
        memory=draft.memory,
        metadata={"split": request.split, "tokenizer": request.tokenizer.name, **draft.metadata},
    )
