"""Samples for evaluation and training, by task, length, seed and language."""

from bookwheel.tasks.assembly import SourcePassage, assemble
from bookwheel.tasks.base import GoldEvidence, MemoryRule, MissingSample, Sample, SampleDocument
from bookwheel.tasks.catalogue import TASKS, list_tasks, load_task, make_samples, sample_series
from bookwheel.tasks.contamination import FilterOutcome, FilterResult, filter_samples
from bookwheel.tasks.definition import SampleDraft, SampleRequest, Task
from bookwheel.tasks.errors import InfeasibleSample
from bookwheel.tasks.facts import Fact, hide_in_essays
from bookwheel.tasks.files import read_samples, write_samples
from bookwheel.tasks.memories import ideal_memories
from bookwheel.tasks.questions import describe_left_out
from bookwheel.tasks.series import SampleSeries, make_sample
from bookwheel.tasks.tokenizing import load_tokenizer

__all__ = [
    "TASKS",
    "Fact",
    "FilterOutcome",
    "FilterResult",
    "GoldEvidence",
    "InfeasibleSample",
    "MemoryRule",
    "MissingSample",
    "Sample",
    "SampleDocument",
    "SampleDraft",
    "SampleRequest",
    "SampleSeries",
    "SourcePassage",
    "Task",
    "assemble",
    "describe_left_out",
    "filter_samples",
    "hide_in_essays",
    "ideal_memories",
    "list_tasks",
    "load_task",
    "load_tokenizer",
    "make_sample",
    "make_samples",
    "read_samples",
    "sample_series",
    "write_samples",
]
