"""What is read to measure and to train: samples by task, length, seed and language."""

from bookwheel.tasks.base import GoldEvidence, MemoryRule, Sample, SampleDocument
from bookwheel.tasks.catalogue import TASKS, find, make
from bookwheel.tasks.contamination import FilterOutcome, FilterResult, filter_samples
from bookwheel.tasks.files import read_samples, write_samples
from bookwheel.tasks.memories import ideal_memories
from bookwheel.tasks.orders import Task
from bookwheel.tasks.tokenizing import tokenizer_named

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
    "find",
    "ideal_memories",
    "make",
    "read_samples",
    "tokenizer_named",
    "write_samples",
]
