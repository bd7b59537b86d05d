"""The tensors of a GGUF file as float32 arrays, in a fifth of a second where the gguf package takes several.

after the header's fields: for each tensor  name · dimensions u32 · sizes u64, the fastest first · kind u32 · offset u64
then their data, aligned. Q8_0 is blocks of 32 weights: a scale (f16) and 32 signed bytes.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import NoWeights
from bookwheel.models.gguf_header import LIST, NUMBERS, STRING, Value

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Floats = NDArray[Any]

_ALIGNMENT: Final = 32
_F32: Final = 0
_F16: Final = 1
_Q8_0: Final = 8
_BLOCK: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufFile:
    """What a file says of itself, lists left out, and its tensors by name."""

    fields: dict[str, Value]
    tensors: dict[str, Floats]


def load_gguf(path: Path) -> GgufFile:
    """Load every tensor. Raise NoWeights for a damaged file, or one in another format than F32, F16 and Q8_0."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return _load(content)
    except OSError as error:
        raise NoWeights(f"{path} cannot be read ({error.strerror}): name an existing .gguf file") from error
    except (struct.error, ValueError, KeyError) as error:
        raise NoWeights(
            f"{path} cannot be loaded ({error}): it is damaged, or quantised in another way than Q8_0; "
            f"`bookwheel models --fetch` downloads the built-in weights, which are used if BOOKWHEEL_WEIGHTS is unset"
        ) from error


class _Cursor:
    """Reads values one after the other."""

    def __init__(self, content: mmap.mmap) -> None:
        self.at = 0
        self._content = content

    def read_numbers(self, kinds: str) -> tuple[Any, ...]:
        numbers = struct.unpack_from("<" + kinds, self._content, self.at)
        self.at += struct.calcsize("<" + kinds)
        return numbers

    def read_string(self) -> str:
        (length,) = self.read_numbers("Q")
        self.at += length
        return self._content[self.at - length : self.at].decode()

    def skip_list(self) -> None:
        kind, count = self.read_numbers("IQ")
        if kind in NUMBERS:
            self.at += count * struct.calcsize("<" + NUMBERS[kind])
            return
        for _ in range(count):
            if kind == LIST:
                self.skip_list()
            else:
                self.at += 8 + struct.unpack_from("<Q", self._content, self.at)[0]


def _load(content: mmap.mmap) -> GgufFile:
    cursor = _Cursor(content)
    _, _, tensor_count, field_count = cursor.read_numbers("4sIQQ")
    fields: dict[str, Value] = {}
    for _ in range(field_count):
        name, (kind,) = cursor.read_string(), cursor.read_numbers("I")
        if kind == LIST:
            cursor.skip_list()
        else:
            fields[name] = cursor.read_string() if kind == STRING else cursor.read_numbers(NUMBERS[kind])[0]
    entries = []
    for _ in range(tensor_count):
        name, (dimensions,) = cursor.read_string(), cursor.read_numbers("I")
        entries.append((name, cursor.read_numbers(f"{dimensions}Q")[::-1], *cursor.read_numbers("IQ")))
    alignment = int(fields.get("general.alignment", _ALIGNMENT))
    begin = -(-cursor.at // alignment) * alignment
    tensors = {name: _dequantize(content, begin + offset, sizes, kind) for name, sizes, kind, offset in entries}
    return GgufFile(fields=fields, tensors=tensors)


def _dequantize(content: mmap.mmap, offset: int, sizes: tuple[int, ...], kind: int) -> Floats:
    import numpy as np

    count = int(np.prod(sizes))
    if kind == _Q8_0:
        blocks = np.frombuffer(content, [("scale", "<f2"), ("weights", "i1", _BLOCK)], count // _BLOCK, offset)
        values = np.multiply(blocks["weights"], blocks["scale"].astype("f4")[:, None], dtype="f4")
    elif kind in (_F32, _F16):
        values = np.frombuffer(content, "<f4" if kind == _F32 else "<f2", count, offset).astype("f4")
    else:
        raise ValueError(f"tensors of kind {kind}")
    return np.asarray(values.reshape(sizes))
