"""What is read to measure and to train: samples by task, length, seed and language."""

from bookwheel.tasks.base import GoldEvidence, MemoryRule, Sample, SampleDocument
from bookwheel.tasks.catalogue import TASKS, load_task, make_samples
from bookwheel.tasks.contamination import FilterOutcome, FilterResult, filter_samples
from bookwheel.tasks.definition import Task
from bookwheel.tasks.files import read_samples, write_samples
from bookwheel.tasks.memories import ideal_memories
from bookwheel.tasks.tokenizing import load_tokenizer

__all__ = [
    "TASKS",
    "FilterOutcome",
    "FilterResult",
    "GoldEvidence",
    "MemoryRule",
    "Sample",
    "SampleDocument",
    "Task",
    "filter_samples",
    "ideal_memories",
    "load_task",
    "load_tokenizer",
    "make_samples",
    "read_samples",
    "write_samples",
]
