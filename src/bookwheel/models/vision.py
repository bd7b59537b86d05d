"""What a picture costs in tokens, by the rule of the model that sees it.

    gpt        85, and 170 for each tile of 512 pixels after scaling to 2,048 and 768
    gpt-small  2.46 for each 32 x 32 pixels, of which 1,536 are seen (GPT-4.1 and later, mini and nano)
    qwen       a token for each 28 x 28 pixels, and 2 (later ones: for 32 x 32)
    gemma      256 whatever its size, and 2
    llava      up to 2,880 (LLaVA-NeXT: five views of 576)
    pixtral    a token for each 16 x 16 pixels, and one for each row, after scaling to 1,024
    internvl   up to 3,330 (thirteen views of 256, and 2)
    any        the most of all of these: of a model whose rule nobody told

GPT-4o mini bills pictures at 33 times what they take of its window; they are counted as they take.

A model that can see has its rule as `vision`; without one it is sent text alone. Servers do not say whether a model
sees, so the user does (`--vision`), or `bookwheel models` tries it with a small picture.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import ceil, sqrt
from typing import Final

from bookwheel.errors import InputError, ModelError, Rejected, ServerFault
from bookwheel.models.base import Model, unwrap
from bookwheel.patterns import compile_late

# Pixels of a side of a Qwen-VL token, of a tile of GPT, and of what GPT scales to.
_PATCH: Final = 28
_SMALL_PATCH: Final = 32
_MOST_PATCHES: Final = 1536
_PIXTRAL_PATCH: Final = 16
_PIXTRAL_LONG: Final = 1024
_TILE: Final = 512
_LONG: Final = 2048
_SHORT: Final = 768
# Halvings of a picture's size until it costs little enough.
_STEPS: Final = 24
_OF_PICTURES: Final = compile_late(r"\b(?:image|picture|vision|multi-?modal|mmproj)", re.IGNORECASE)


def refuses_pictures(error: ModelError) -> bool:
    """Tell if a server may have failed for a request's pictures: llama.cpp answers 500 where no projector is loaded."""
    return isinstance(error, Rejected) or (isinstance(error, ServerFault) and bool(_OF_PICTURES.search(str(error))))


def _count_gpt(width: int, height: int) -> int:
    scale = min(1.0, _LONG / max(width, height))
    scale *= min(1.0, _SHORT / (min(width, height) * scale))
    return 85 + 170 * (ceil(width * scale / _TILE) * ceil(height * scale / _TILE))


def _count_patches(width: int, height: int, side: int) -> int:
    return ceil(width / side) * ceil(height / side)


def _count_pixtral(width: int, height: int) -> int:
    scale = min(1.0, _PIXTRAL_LONG / max(width, height))
    rows = ceil(height * scale / _PIXTRAL_PATCH)
    return rows * (ceil(width * scale / _PIXTRAL_PATCH) + 1)


_RULES: Final[dict[str, Callable[[int, int], int]]] = {
    "gpt": _count_gpt,
    "gpt-small": lambda width, height: ceil(2.46 * min(_count_patches(width, height, _SMALL_PATCH), _MOST_PATCHES)),
    "qwen": lambda width, height: max(4, _count_patches(width, height, _PATCH)) + 2,
    "gemma": lambda _width, _height: 258,
    "llava": lambda _width, _height: 2880,
    "pixtral": _count_pixtral,
    "internvl": lambda _width, _height: 3330,
}
_SMALL_GPT: Final = compile_late(r"\b(?:gpt-(?!4o)[\w.]+-(?:mini|nano)|o4-mini)\b")
RULES: Final = ("auto", "off", *_RULES, "any")
"""What `--vision` takes. `auto` goes by the model's name."""


class PictureRule:
    """The rule by which a model's pictures are counted."""

    def __init__(self, name: str) -> None:
        self.name = name

    @classmethod
    def find(cls, wanted: str | None, model: str) -> PictureRule | None:
        """Return the rule that the user named, or the one of the model's name; None without vision."""
        if wanted in {None, "", "off"}:
            return None
        if wanted not in RULES:
            raise InputError(f"unknown vision {wanted!r}; there are {', '.join(RULES)}")
        if wanted != "auto":
            return cls(str(wanted))
        if _SMALL_GPT.search(model.casefold()):
            return cls("gpt-small")
        return cls(next((name for name in _RULES if name in model.casefold()), "any"))

    def count(self, width: int, height: int) -> int:
        """Return the tokens of a picture of so many pixels."""
        if self.name == "any":
            return max(rule(width, height) for rule in _RULES.values())
        return _RULES[self.name](width, height)

    def fit(self, width: int, height: int, limit: int) -> tuple[int, int] | None:
        """Return the largest size, of the same shape, that costs so many tokens at most; None where none does."""
        scale = 1.0
        for _ in range(_STEPS):
            size = max(1, round(width * scale)), max(1, round(height * scale))
            tokens = self.count(*size)
            if tokens <= limit:
                return size
            scale *= max(0.5, min(0.95, sqrt(limit / tokens)))
        return None


def find_vision(model: Model) -> PictureRule | None:
    """Return the rule of a model that can see; None where it reads text alone."""
    found = getattr(unwrap(model), "vision", None)
    return found if isinstance(found, PictureRule) else None
