"""Everything that can go wrong on purpose: one tree, one type for each boundary.

    BookwheelError                 exit code
    ├── InputError        2        what the user gave cannot be read or used
    │   ├── SourceError            a file, folder, URL or stream that is not a readable document
    │   ├── QuestionError          an empty or over-long question
    │   ├── PlanError              token budgets that do not fit the model's window
    │   │   └── DocumentTooLong    a way needs the whole document in the window, and it does not fit
    │   ├── PromptError            a prompt set that misses a part
    │   ├── TokenizerError         a tokenizer that cannot be loaded
    │   └── MissingExtra           an optional dependency that is not installed
    ├── BudgetReached     4        a hard limit of tokens, seconds or money; what was read is kept
    ├── JournalError      2        the journal cannot be opened, written or does not hold the reading
    └── ModelError        3        the model did not give a usable reply
        ├── Unreachable            no server at that address, or the connection broke
        ├── Refused                the key was refused
        ├── UnknownModel           nothing by that name
        ├── Overloaded             429 after all retries
        ├── TimedOut               no reply within the timeout
        ├── WindowExceeded         the prompt is longer than the model's window
        ├── BadReply               a reply without choices, broken JSON, no text
        ├── ServerFault            any other status
        └── NoWeights              the local model's weights cannot be had, kept or loaded

Every message says what to do about it.
"""

from __future__ import annotations

from typing import ClassVar


class BookwheelError(Exception):
    """The root: catch it to catch everything that bookwheel raises on purpose."""

    exit_code: ClassVar[int] = 1


class InputError(BookwheelError):
    """What the user gave cannot be used."""

    exit_code = 2


class SourceError(InputError):
    """A file, folder, URL or stream that is not a readable document."""


class QuestionError(InputError):
    """An empty question, or one over its budget."""


class PlanError(InputError):
    """Token budgets that do not fit together or into the model's window."""


class DocumentTooLong(PlanError):
    """A way of reading needs the whole document in the window, and it does not fit."""


class PromptError(InputError):
    """A prompt set that cannot be loaded or misses a part."""


class TokenizerError(InputError):
    """A tokenizer that cannot be loaded."""


class MissingExtra(InputError):
    """An optional dependency that is not installed."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(f"{purpose} needs an optional part: pip install 'bookwheel[{extra}]'")


class JournalError(BookwheelError):
    """The journal cannot be opened or written, or does not hold what was asked for."""

    exit_code = 2


class BudgetReached(BookwheelError):
    """A hard limit of tokens, seconds or money; what was read until then is kept."""

    exit_code = 4


class ModelError(BookwheelError):
    """The model did not give a usable reply."""

    exit_code = 3


class Unreachable(ModelError):
    """No server at that address, or the connection broke in mid-reply."""


class Refused(ModelError):
    """The server refused the key."""


class UnknownModel(ModelError):
    """Neither a model of ours nor one that the server knows."""


class Overloaded(ModelError):
    """The server kept answering 429."""


class TimedOut(ModelError):
    """No reply within the timeout."""


class WindowExceeded(ModelError):
    """The server found the prompt longer than its window."""


class BadReply(ModelError):
    """A reply that cannot be read: no choices, broken JSON, no text."""


class ServerFault(ModelError):
    """Any other failure of the server."""


class NoWeights(ModelError):
    """The local model's weights cannot be had, kept or loaded."""
