"""The result of one sample, as the results file has it on a line.

A record stands for one content (question, golds, metric and document), in one way, by one model, once.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from bookwheel.errors import InputError

K = TypeVar("K", bound="Hashable")
V = TypeVar("V")


class ResultsError(InputError):
    """A results file that is damaged, in use by another run, or made with other settings."""


class SampleOutcome(StrEnum):
    """The outcome of one sample. FAILED, STOPPED and REFUSED count as wrong; INFEASIBLE counts nowhere."""

    SCORED = "scored"
    FAILED = "failed"
    """The model or the reading failed."""
    STOPPED = "stopped"
    """A budget ended the reading before an answer."""
    REFUSED = "refused"
    """The sample does not fit what this way can read."""
    INFEASIBLE = "infeasible"
    """The sample could not be made at this length, so nothing was read."""


RecordKey = tuple[str, int, str, str, str, str, int]
"""Task, length, sample, file, way, model, repeat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The result of one sample, read in one way by one model."""

    fingerprint: str
    """The hash of all settings that the score depends on."""
    task: str
    length: int
    """The column of the report."""
    sample: str
    way: str
    model: str
    outcome: SampleOutcome
    score: float
    metric: str
    content: str = ""
    """The hash of question, golds, metric and document; empty in files of older versions."""
    document: str = ""
    """The hash of the document; empty in files of older versions."""
    repeat: int = 0
    """The number of the reading of this sample, from 0."""
    place: int = -1
    """The sample's place among those of its task and length, or in its file; -1 in files of older versions."""
    file: str = ""
    """The file of samples that it stands in; empty where the task makes it."""
    reason: str = ""
    """The reason of the score."""
    official: float | None = None
    """The score by the task's published metric; None without an answer, as that metric left such samples out."""
    judge_prompt: tuple[str, ...] = ()
    """What the benchmark's own judge is sent, user and assistant by turns; empty where the words are ours."""
    judge: str = ""
    """The model that judged the answer beside the metric; empty where none did."""
    judged: float | None = None
    """Its verdict, 1 or 0; None where it is unclear."""
    judge_reason: str = ""
    question: str = ""
    answer: str = ""
    golds: tuple[str, ...] = ()
    set_f1: float | None = None
    """Of an answer in parts: the harmonic mean of precision and recall; None for other metrics."""
    error: str = ""
    reading: str = ""
    """The reading's id in the journal."""
    tokens: int = 0
    """Tokens of the document."""
    seed: int = 0
    language: str = "en"
    found_by_search: float | None = None
    """The share of the evidence in the first passages by BM25, 1,024 tokens in all; None without evidence."""
    depth: float | None = None
    """The place of the evidence in the document, from 0 to 1; None where there is none."""
    memory: str = ""
    """What became of the evidence (`MemoryOutcome`); empty where the way keeps no memory."""
    memory_step: int | None = None
    """The step that overwrote the evidence or should have captured it."""
    evidence_captured: float | None = None
    """The share of the evidence that was in the memory at some time."""
    evidence_kept: float | None = None
    """The share of the evidence that was in the last memory."""
    recovered: float | None = None
    """R of the last memory (`bookwheel.reading.worth`); None where it was not measured or nothing could be known."""
    steps: int = 0
    flags: Mapping[str, int] = field(default_factory=dict)
    """The number of steps and answers with each flag."""
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    """Wall-clock time; samples that run at once share the machine."""
    cost: float = 0.0

    @property
    def key(self) -> RecordKey:
        """A newer record with the same key replaces this one."""
        # Older versions wrote the file's name as it was given.
        file = str(Path(self.file).absolute()) if self.file else ""
        return (self.task, self.length, self.sample, file, self.way, self.model, self.repeat)

    @property
    def pair_key(self) -> tuple[str, int]:
        """Equal for the same question about the same document, whichever way or model read it, under whatever name."""
        return (self.content or f"{self.task}\0{self.length}\0{self.sample}\0{self.question}", self.repeat)

    @property
    def clusters(self) -> tuple[tuple[str, ...], ...]:
        """Names of what it belongs to: a question, at every length and in every repeat, and a document.

        Records that share one are not independent.
        """
        asked = (self.task, self.language, self.question, *self.golds) if self.question else (self.task, self.sample)
        return (asked, ("document", self.document)) if self.document else (asked,)

    @property
    def is_counted(self) -> bool:
        """True when the sample exists, so that it counts in scores and pairs."""
        return self.outcome is not SampleOutcome.INFEASIBLE

    @property
    def is_truncated(self) -> bool:
        """True when a reply ran into its token limit."""
        return "truncated" in self.flags

    def to_line(self) -> dict[str, Any]:
        return {"kind": "sample", **asdict(self), "golds": list(self.golds)}


def group_by(values: Iterable[V], key: Callable[[V], K]) -> dict[K, list[V]]:
    """Return the values by their keys, in the order in which each key comes first."""
    groups: dict[K, list[V]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return groups


def flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value with the names that lead to it."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
