"""Samples for evaluation and training, by task, length, seed and language."""

from bookwheel.lab.tasks.assembly import SourcePassage, assemble
from bookwheel.lab.tasks.base import GoldEvidence, InfeasibleSample, MemoryRule, MissingSample, Sample, SampleDocument
from bookwheel.lab.tasks.catalogue import TASKS, list_tasks, load_task, load_tokenizer, make_samples, sample_series
from bookwheel.lab.tasks.contamination import FilterOutcome, FilterResult, filter_samples
from bookwheel.lab.tasks.definition import SampleDraft, SampleRequest, SampleSeries, Task, make_sample
from bookwheel.lab.tasks.files import read_samples, write_samples
from bookwheel.lab.tasks.material import Fact, hide_in_essays
from bookwheel.lab.tasks.memories import ideal_memories
from bookwheel.lab.tasks.questions import describe_left_out

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
