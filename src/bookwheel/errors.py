"""The exceptions of bookwheel: one tree, one type for each boundary.

    BookwheelError                 exit code
    ├── InputError        2        the input cannot be read or used
    │   ├── SourceError            a file, folder, URL or stream that is not a readable document
    │   │   ├── ConversionLimit    its conversion takes more time, memory or text than it may
    │   │   ├── ConverterCrash     its converter broke
    │   │   └── NotStored          there is no room to store it while it is read
    │   ├── QuestionError          an empty question, or one over its token limit
    │   ├── PlanError              token budgets that do not fit the model's window
    │   │   └── DocumentTooLong    the way needs the whole document in the window, and it does not fit
    │   ├── PromptError            a prompt set that cannot be loaded or lacks a part
    │   ├── TokenizerError         a tokenizer that cannot be loaded
    │   ├── MissingExtra           an optional dependency that is not installed
    │   └── MissingAbility         a way of reading needs what the model does not offer
    ├── BudgetReached     4        a hard limit of tokens, seconds or cost; finished steps are kept
    ├── JournalError      2        the journal cannot be opened or written, or lacks the reading
    │   ├── NotKept                the journal has no such reading, document or text, or no longer
    │   ├── JournalFull            the journal would grow beyond the size that it may have
    │   └── LostWrites             the journal lacks writes that were on disk
    ├── WorkCancelled     130      work in a thread was cancelled; async code sees CancelledError instead
    └── ModelError        3        the model did not give a usable reply                        tries
        ├── Unreachable            no server at that address, or the connection broke          any
        ├── Overloaded             the server is busy (429, 529)                               any
        ├── TimedOut               no byte, or no whole reply, within the limit                any
        ├── BadReply               a reply without choices, or with broken JSON                any
        │   └── EmptyReply         a reply without text                                        4
        ├── ServerFault            any other error of the server                               any
        ├── Rejected               the server rejected this very request                       3
        ├── BrokenModel            the model's own code failed in a way that nobody foresaw    3
        ├── Refused                the server rejected the key                                 1
        ├── QuotaUsedUp            the account has no credit left                              1
        ├── UnknownModel           no model of that name                                       1
        ├── UnfitAnswer            an answer that does not fit its JSON Schema                 1
        ├── WindowExceeded         the prompt is longer than the model's window                1
        └── NoWeights              the local model's weights cannot be downloaded or loaded    1

The last column is `ModelError.most_tries`: `bookwheel.models.patience` asks again as often as that makes sense.
Every message says how to fix the problem.
"""

from __future__ import annotations

from contextlib import contextmanager
from math import inf
from typing import TYPE_CHECKING, ClassVar, Final

from bookwheel.patterns import compile_late

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ERROR_NUMBER: Final = compile_late(r"\[(?:Errno|WinError) -?\d+\] ?")
_CODEC: Final = compile_late(r"'([\w-]+)' codec can't (?:de|en)code [^:]*: [\w ()]+")
_DEPTH: Final = compile_late(r"maximum recursion depth exceeded[\w ]*")
_DIGITS: Final = compile_late(r"Exceeds the limit \(\d+ digits\)[\w ]*(?:: [\w ]*(?:; [\w .]*(?:\(\)[\w ]*)?)?)?")


class BookwheelError(Exception):
    """The base class of every exception that bookwheel raises."""

    exit_code: ClassVar[int] = 1

    def __str__(self) -> str:
        # Messages quote the system's and Python's, whose numbers and names of functions say nothing to a reader.
        told = _ERROR_NUMBER.sub("", super().__str__())
        told = _DEPTH.sub("it is nested too deeply", _CODEC.sub(r"it is not \1", told))
        return _DIGITS.sub("a number is too long", told)


class InputError(BookwheelError):
    """The input cannot be read or used."""

    exit_code = 2


@contextmanager
def explain_failure(path: Path, doing: str) -> Iterator[None]:
    """Say in an InputError which file could not be `read` or `written`, and why."""
    try:
        yield
    except (OSError, UnicodeError) as error:
        raise InputError(f"{path} cannot be {doing}: {getattr(error, 'strerror', '') or error}") from error


class SourceError(InputError):
    """A file, folder, URL or stream that is not a readable document."""


class ConversionLimit(SourceError):
    """The conversion of a document takes more time, memory or text than it may."""


class ConverterCrash(SourceError):
    """The converter of a document broke."""


class NotStored(SourceError):
    """A document, or a file in it, cannot be stored while it is read: the machine's fault, not damage."""


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
        super().__init__(f"{purpose} needs optional packages: {find_install_command(extra)}")


def find_install_command(extra: str) -> str:
    """Return the command that adds an extra to this very installation: a checkout, a wheel, or the package index."""
    import json
    import sys
    from importlib.metadata import PackageNotFoundError, distribution
    from pathlib import Path
    from shlex import quote
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        origin = json.loads(distribution("bookwheel").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:  # run from its sources
        origin = {}
    place = url2pathname(urlsplit(origin.get("url", "")).path)
    name = place if place and Path(place).exists() else "bookwheel"
    editable = "-e " if origin.get("dir_info", {}).get("editable") and name == place else ""
    return f"{quote(sys.executable)} -m pip install {editable}{quote(f'{name}[{extra}]')}"


class MissingAbility(InputError):
    """A way of reading needs something of the model that it does not offer, such as log-probabilities."""


class JournalError(BookwheelError):
    """The journal cannot be opened or written, or lacks the reading."""

    exit_code = 2


class NotKept(JournalError):
    """The journal has no such reading, document or text, or no longer."""


class JournalFull(JournalError):
    """The journal would grow beyond the size that it may have."""


class LostWrites(JournalError):
    """The journal lacks writes that were on disk."""


class WorkCancelled(BookwheelError):
    """Work in a thread was cancelled; async code sees `asyncio.CancelledError` instead."""

    exit_code = 130


class BudgetReached(BookwheelError):
    """A hard limit of tokens, seconds or cost was reached; finished steps are kept."""

    exit_code = 4


class BrokenReading(BookwheelError):
    """Code of ours, or of a plug-in, failed in a way that nobody foresaw; finished steps are kept."""


class ModelError(BookwheelError):
    """The model did not give a usable reply."""

    exit_code = 3
    most_tries: ClassVar[float] = 1
    """Tries of one call that make sense: 1 where a second gets the same answer, inf where time can mend it."""

    def __init__(
        self,
        *message: str,
        retry_after: float | None = None,
        is_charged: bool = False,
        received: str | None = None,
        tries: int = 0,
    ) -> None:
        super().__init__(*message)
        self.retry_after = retry_after
        """Seconds that the server asks to wait."""
        self.is_charged = is_charged
        """The server may have worked on the request, and may charge for it."""
        self.received = received
        """The text that had arrived when the reply broke; None where that is unknown."""
        self.tries = tries
        """Tries that this call has had; 0 where nobody has tried again yet."""

    @property
    def is_passing(self) -> bool:
        """True where waiting can mend it."""
        return self.most_tries == inf


class Unreachable(ModelError):
    """No server at that address, or the connection broke during the reply."""

    most_tries = inf


class Overloaded(ModelError):
    """The server is busy."""

    most_tries = inf


class TimedOut(ModelError):
    """No byte within the timeout, or no whole reply within the deadline."""

    most_tries = inf


class BadReply(ModelError):
    """A reply without choices, or with broken JSON."""

    most_tries = inf


class EmptyReply(BadReply):
    """A reply without text."""

    # More would cost much where a model has nothing to say, and its step is flagged in the end.
    most_tries = 4


class UnfitAnswer(ModelError):
    """An answer that does not fit its JSON Schema, however often the model was shown why."""


class ServerFault(ModelError):
    """Any other error of the server."""

    most_tries = inf


class Rejected(ModelError):
    """The server rejected this very request."""

    # Proxies have bad moments, but a request that is wrong stays wrong.
    most_tries = 3


class BrokenModel(ModelError):
    """The model's own code failed in a way that nobody foresaw."""

    most_tries = 3


class Refused(ModelError):
    """The server rejected the key."""


class QuotaUsedUp(ModelError):
    """The account has no credit left."""


class UnknownModel(ModelError):
    """No built-in or served model has that name."""


class WindowExceeded(ModelError):
    """The prompt is longer than the model's window."""


class NoWeights(ModelError):
    """The local model's weights cannot be downloaded, stored or loaded."""


def find_error(kind: str) -> type[BookwheelError]:
    """Return the error of this name: a stored reading has the name alone."""
    found = globals().get(kind)
    return found if isinstance(found, type) and issubclass(found, BookwheelError) else BookwheelError


def is_passing_kind(kind: str) -> bool:
    """Return True if waiting can mend an error of this kind."""
    found = find_error(kind)
    return issubclass(found, JournalError) or (issubclass(found, ModelError) and found.most_tries == inf)
