"""What is read to measure and to train: samples by task, length, seed and language."""

from bookwheel.tasks.base import Evidence, MemoryRule, Sample, SampleDocument
from bookwheel.tasks.catalogue import TASKS, find, make
from bookwheel.tasks.contamination import Outcome, Sifted, filter_samples
from bookwheel.tasks.files import read_samples, write_samples
from bookwheel.tasks.memories import ideal_memories
from bookwheel.tasks.orders import Task
from bookwheel.tasks.tokenizing import tokenizer_named

__all__ = [
    "TASKS",
    "Evidence",
    "MemoryRule",
    "Outcome",
    "Sample",
    "SampleDocument",
    "Sifted",
    "Task",
    "filter_samples",
    "find",
    "ideal_memories",
    "make",
    "read_samples",
    "tokenizer_named",
    "write_samples",
]
