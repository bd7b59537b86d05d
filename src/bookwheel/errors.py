"""The exceptions of bookwheel: one tree, one type for each boundary.

    BookwheelError                 exit code
    ├── InputError        2        the input cannot be read or used
    │   ├── SourceError            a file, folder, URL or stream that is not a readable document
    │   │   ├── ConversionLimit    its conversion takes more time, memory or text than it may
    │   │   └── ConverterCrash     its converter broke
    │   ├── QuestionError          an empty question, or one over its token limit
    │   ├── PlanError              token budgets that do not fit the model's window
    │   │   └── DocumentTooLong    the way needs the whole document in the window, and it does not fit
    │   ├── PromptError            a prompt set that cannot be loaded or lacks a part
    │   ├── TokenizerError         a tokenizer that cannot be loaded
    │   ├── MissingExtra           an optional dependency that is not installed
    │   └── MissingAbility         a way of reading needs what the model does not offer
    ├── BudgetReached     4        a hard limit of tokens, seconds or cost; finished steps are kept
    ├── JournalError      2        the journal cannot be opened or written, or lacks the reading
    ├── WorkCancelled     130      work in a thread was cancelled; async code sees CancelledError instead
    └── ModelError        3        the model did not give a usable reply
        ├── Unreachable            no server at that address, or the connection broke
        ├── Refused                the server rejected the key
        ├── UnknownModel           no model of that name
        ├── Overloaded             the server still answered 429 after all retries
        ├── TimedOut               no reply within the timeout
        ├── WindowExceeded         the prompt is longer than the model's window
        ├── BadReply               a reply without choices, broken JSON, no text
        ├── ServerFault            any other error of the server
        └── NoWeights              the local model's weights cannot be downloaded, stored or loaded

Every message says how to fix the problem.
"""

from __future__ import annotations

from typing import ClassVar


class BookwheelError(Exception):
    """The base class of every exception that bookwheel raises."""

    exit_code: ClassVar[int] = 1


class InputError(BookwheelError):
    """The input cannot be read or used."""

    exit_code = 2


class SourceError(InputError):
    """A file, folder, URL or stream that is not a readable document."""


class ConversionLimit(SourceError):
    """The conversion of a document takes more time, memory or text than it may."""


class ConverterCrash(SourceError):
    """The converter of a document broke."""


class QuestionError(InputError):
    """An empty question, or one over its token limit."""


class PlanError(InputError):
    """Token budgets that do not fit together or into the model's window."""


class DocumentTooLong(PlanError):
    """The way of reading needs the whole document in the window, and it does not fit."""


class PromptError(InputError):
    """A prompt set that cannot be loaded or lacks a part."""


class TokenizerError(InputError):
    """A tokenizer that cannot be loaded."""


class MissingExtra(InputError):
    """An optional dependency that is not installed."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(f"{purpose} needs optional packages: pip install 'bookwheel[{extra}]'")


class MissingAbility(InputError):
    """A way of reading needs something of the model that it does not offer, such as log-probabilities."""


class JournalError(BookwheelError):
    """The journal cannot be opened or written, or lacks the reading."""

    exit_code = 2


class WorkCancelled(BookwheelError):
    """Work in a thread was cancelled; async code sees `asyncio.CancelledError` instead."""

    exit_code = 130


class BudgetReached(BookwheelError):
    """A hard limit of tokens, seconds or cost was reached; finished steps are kept."""

    exit_code = 4


class ModelError(BookwheelError):
    """The model did not give a usable reply."""

    exit_code = 3


class Unreachable(ModelError):
    """No server at that address, or the connection broke during the reply."""


class Refused(ModelError):
    """The server rejected the key."""


class UnknownModel(ModelError):
    """No built-in or served model has that name."""


class Overloaded(ModelError):
    """The server still answered 429 after all retries."""


class TimedOut(ModelError):
    """No reply within the timeout."""


class WindowExceeded(ModelError):
    """The prompt is longer than the model's window."""


class BadReply(ModelError):
    """A reply without choices or text, or with broken JSON."""


class ServerFault(ModelError):
    """Any other error of the server."""


class NoWeights(ModelError):
    """The local model's weights cannot be downloaded, stored or loaded."""
