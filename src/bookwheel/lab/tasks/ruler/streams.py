"""Random numbers as RULER's scripts draw them: Python's generator, and the older one of numpy for some values."""

from __future__ import annotations

from random import Random
from typing import Final

_SIZE: Final = 624
_MULTIPLIER: Final = 1812433253
_WORD: Final = 0xFFFFFFFF


class LegacyNumpy:
    """numpy's `random.seed` and `random.randint`: Python's generator is the same but for how a seed fills its state."""

    def __init__(self, seed: int) -> None:
        state = [seed & _WORD]
        for at in range(1, _SIZE):
            state.append((_MULTIPLIER * (state[-1] ^ (state[-1] >> 30)) + at) & _WORD)
        self._random = Random()  # noqa: S311 - not for secrets
        self._random.setstate((3, (*state, _SIZE), None))

    def randint(self, low: int, high: int) -> int:
        """Return a number from `low` to one below `high`: 32 bits are masked until they fit."""
        span = high - 1 - low
        mask = (1 << span.bit_length()) - 1
        while (value := self._random.getrandbits(32) & mask) > span:
            pass
        return low + value

    def get_state(self) -> object:
        """Return the state, for `set_state`."""
        return self._random.getstate()

    def set_state(self, state: object) -> None:
        """Go on from a state."""
        self._random.setstate(state)  # type: ignore[arg-type]


class Streams:
    """The generators of one run of a script."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = Random(seed)  # noqa: S311 - not for secrets
        self.numpy = LegacyNumpy(seed)

    def fresh(self) -> Random:
        """Return a generator for a shuffle: the scripts seed one for each, so every sample is shuffled alike."""
        return Random(self.seed)  # noqa: S311 - not for secrets

    def get_state(self) -> tuple[object, object]:
        """Return the state of both generators."""
        return self.random.getstate(), self.numpy.get_state()

    def set_state(self, state: tuple[object, object]) -> None:
        """Go on from a state."""
        self.random.setstate(state[0])  # type: ignore[arg-type]
        self.numpy.set_state(state[1])
