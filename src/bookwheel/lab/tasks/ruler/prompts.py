"""A prompt of RULER, the random numbers of its scripts, and the search for the size of filler that fills the length.

The length counts the whole prompt and the tokens that its answer may have. The size is searched once, on prompts of
their own; each sample then begins with that size and gives up filler until it fits.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from bookwheel.lab.tasks.base import InfeasibleSample
from bookwheel.lab.tasks.ruler.resources import PromptTemplate, Resources
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


_SIZE: Final = 624
_MULTIPLIER: Final = 1812433253
_WORD: Final = 0xFFFFFFFF


class LegacyNumpy:
    """numpy's `random.seed` and `random.randint`: Python's generator is the same but for how a seed fills its state."""

    def __init__(self, seed: int) -> None:
        state = [seed & _WORD]
        for at in range(1, _SIZE):
            state.append((_MULTIPLIER * (state[-1] ^ (state[-1] >> 30)) + at) & _WORD)
        self.random = Random()  # noqa: S311 - not for secrets
        self.random.setstate((3, (*state, _SIZE), None))

    def randint(self, low: int, high: int) -> int:
        """Return a number from `low` to one below `high`: 32 bits are masked until they fit."""
        span = high - 1 - low
        mask = (1 << span.bit_length()) - 1
        while (value := self.random.getrandbits(32) & mask) > span:
            pass
        return low + value


class Streams:
    """The generators of one run of a script."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = Random(seed)  # noqa: S311 - not for secrets
        self.numpy = LegacyNumpy(seed)

    def fresh(self) -> Random:
        """Return a generator for a shuffle: the scripts seed one for each, so every sample is shuffled alike."""
        return Random(self.seed)  # noqa: S311 - not for secrets

    def get_state(self) -> tuple[Any, Any]:
        return self.random.getstate(), self.numpy.random.getstate()

    def set_state(self, state: tuple[Any, Any]) -> None:
        self.random.setstate(state[0])
        self.numpy.random.setstate(state[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What the prompts of one run are made from."""

    resources: Resources
    streams: Streams
    most: int
    """Tokens of a prompt with its answer."""
    tokenizer: Tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedPrompt:
    """A prompt that fits, with its length: its own tokens and those of its answer."""

    prompt: Prompt
    length: int


class PromptFamily(ABC):
    """Prompts of one family, of any size."""

    increment = 10
    """Filler that is given up at once."""

    def __init__(self, inputs: Inputs, template: PromptTemplate) -> None:
        self.inputs = inputs
        self.resources, self.streams = inputs.resources, inputs.streams
        self.most, self.tokenizer = inputs.most, inputs.tokenizer
        self.template = template
        self.reply_tokens = template.reply_tokens

    @abstractmethod
    def write(self, index: int, size: int) -> Prompt:
        """Return a prompt with so much filler; ValueError where it cannot have so little."""

    def count(self, prompt: Prompt) -> int:
        """Return the tokens of a prompt with the beginning of its answer."""
        return self.tokenizer.count(prompt.input + prompt.answer_prefix)

    def measure(self, size: int) -> int:
        """Return the tokens of one prompt with so much filler, drawn for the search."""
        return self.count(self.write(0, size))

    def search(self) -> int:
        """Return the size that the samples begin with: the largest that a binary search finds to fit."""
        per_unit = self.measure(self.increment) / self.increment
        return self.find_size(max(int(self.most / per_unit * 3), self.increment * 2))

    def find_size(self, high: int, overhead: int = 0) -> int:
        """Return the largest size up to `high` that leaves room for the answer; the lowest where none does."""
        best = low = self.increment
        while low <= high:
            middle = (low + high) // 2
            if self.measure(middle) + self.reply_tokens + overhead <= self.most:
                best, low = middle, middle + 1
            else:
                high = middle - 1
        return best

    def fit(self, index: int, size: int, task: str) -> SizedPrompt:
        """Return the first prompt that fits; InfeasibleSample when even the least filler is too much."""
        tries = 0
        length = self.most
        while tries < _TRIES:
            try:
                prompt = self.write(index, size)
                length = self.count(prompt) + self.reply_tokens
                if length <= self.most:
                    return SizedPrompt(prompt=prompt, length=length)
            except ValueError:  # fewer places than needles
                pass
            if size > self.increment:
                size -= self.increment
            else:
                tries += 1
        raise InfeasibleSample(
            f"this sample of {task} needs at least {length} tokens with its answer and {self.most} were asked for; "
            f"ask for longer documents"
        )
