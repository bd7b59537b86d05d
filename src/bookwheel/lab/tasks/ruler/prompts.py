"""A prompt of RULER, and the search for the size of its filler that fills the length.

The length counts the whole prompt and the tokens that its answer may have. The size is searched once, on prompts of
their own; each sample then begins with that size and gives up filler until it fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from bookwheel.lab.tasks.errors import InfeasibleSample

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bookwheel.lab.tasks.ruler.wordings import PromptTemplate
    from bookwheel.text.tokens import Tokenizer

# RULER's scripts try forever; a prompt that does not fit with the least filler can only fit by a lucky draw.
_TRIES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt in its parts."""

    lead: str
    """What stands before the template: the examples of `vt` and `cwe`."""
    head: str
    context: str
    tail: str
    """The question, as the template has it."""
    answer_prefix: str
    outputs: tuple[str, ...]
    needles: tuple[str, ...] = ()
    """Passages of the context that the answer rests on; none where all of it counts."""

    @property
    def input(self) -> str:
        """The prompt as RULER writes it, without the beginning of the answer."""
        return f"{self.lead}{self.head}{self.context}{self.tail}"

    @property
    def question(self) -> str:
        """The last line of the prompt."""
        return self.tail.strip().rpartition("\n")[2].removeprefix("Question: ")


def fill_template(
    template: PromptTemplate, context: str, outputs: Sequence[str], *, needles: Sequence[str] = (), **values: Any
) -> Prompt:
    """Return a template with its context, its question and the beginning of its answer."""
    head, _, tail = template.text.partition("{context}")
    return Prompt(
        lead="",
        head=head.format(**values),
        context=context,
        tail=tail.format(**values),
        answer_prefix=template.prefix.format(**values),
        outputs=tuple(outputs),
        needles=tuple(needles),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedPrompt:
    """A prompt that fits, with its length: its own tokens and those of its answer."""

    prompt: Prompt
    length: int


class PromptFamily(Protocol):
    """Prompts of one family, of any size."""

    reply_tokens: int
    increment: int
    """Filler that is given up at once."""

    def search(self) -> int:
        """Return the size that the samples begin with."""
        ...

    def write(self, index: int, size: int) -> Prompt:
        """Return a prompt with so much filler; ValueError where it cannot have so little."""
        ...


def count(prompt: Prompt, tokenizer: Tokenizer) -> int:
    """Return the tokens of a prompt with the beginning of its answer."""
    return tokenizer.count(prompt.input + prompt.answer_prefix)


def estimate_bound(tokens: int, size: int, most: int, increment: int) -> int:
    """Return the upper end of the search, from one prompt of a size and its tokens."""
    return max(int(most / (tokens / size) * 3), increment * 2)


def find_size(low: int, high: int, fits: Callable[[int], bool]) -> int:
    """Return the largest size that a binary search finds to fit; the lowest where none does."""
    best = low
    while low <= high:
        middle = (low + high) // 2
        if fits(middle):
            best, low = middle, middle + 1
        else:
            high = middle - 1
    return best


def fit(family: PromptFamily, index: int, size: int, most: int, tokenizer: Tokenizer, task: str) -> SizedPrompt:
    """Return the first prompt that fits; InfeasibleSample when even the least filler is too much."""
    tries = 0
    length = most
    while tries < _TRIES:
        try:
            prompt = family.write(index, size)
            length = count(prompt, tokenizer) + family.reply_tokens
            if length <= most:
                return SizedPrompt(prompt=prompt, length=length)
        except ValueError:  # fewer places than needles
            pass
        if size > family.increment:
            size -= family.increment
        else:
            tries += 1
    raise InfeasibleSample(
        f"this sample of {task} needs at least {length} tokens with its answer and {most} were asked for; "
        f"ask for longer documents"
    )
