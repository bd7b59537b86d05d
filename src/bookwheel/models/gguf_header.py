"""The header of a GGUF file: single values by name, without the vocabulary and the tensors.

"GGUF" · version u32 · tensors u64 · fields u64 · then each field: name · kind u32 · value
a string is its length (u64) and its bytes; a list is its kind, its count (u64) and its values
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, BinaryIO, Final

from bookwheel.errors import NoWeights, PlanError
from bookwheel.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PLAN_FIELD: Final = "bookwheel.plan"
"""The field that holds the plan a policy was trained with, as JSON."""
WAY_FIELD: Final = "bookwheel.way"
"""The field that holds the way of reading a policy was trained with."""
TYPE_FIELD: Final = "general.type"
ADAPTER_TYPE: Final = "adapter"

Value = str | int | float | bool

_MAGIC: Final = b"GGUF"
NUMBERS: Final = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING: Final = 8
LIST: Final = 9
# Bytes of a string; a larger length means a damaged file.
_LONGEST: Final = 1 << 24


def read_header(path: Path) -> dict[str, Value]:
    """Return the fields before the first list. Raise NoWeights if the file is not a GGUF, or truncated."""
    try:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise NoWeights(f"{path} is not a GGUF file: the local model needs weights in llama.cpp's .gguf format")
            _, _, count = _read_numbers(file, "IQQ")
            fields: dict[str, Value] = {}
            for _ in range(count):
                name, (kind,) = _read_string(file), _read_numbers(file, "I")
                if kind == LIST:
                    break
                fields[name] = _read_string(file) if kind == STRING else _read_numbers(file, NUMBERS[kind])[0]
            return fields
    except OSError as error:
        raise NoWeights(f"{path} cannot be read ({error.strerror}): name an existing .gguf file") from error
    except (struct.error, ValueError, KeyError) as error:
        raise NoWeights(f"{path} has a damaged header: copy or download the file again") from error


def load_header_plan(fields: Mapping[str, Value], path: Path) -> Plan | None:
    """Return the plan stored with a trained policy, or None."""
    if PLAN_FIELD not in fields:
        return None
    try:
        return Plan.from_json(json.loads(str(fields[PLAN_FIELD])))
    except (ValueError, TypeError, AttributeError, PlanError) as error:
        raise NoWeights(f"{path} holds a plan that cannot be used ({error}): export the policy again") from error


def _read_string(file: BinaryIO) -> str:
    (length,) = _read_numbers(file, "Q")
    if length > _LONGEST or len(content := file.read(length)) < length:
        raise ValueError(f"a string of {length} bytes")
    return content.decode("utf-8")


def _read_numbers(file: BinaryIO, kinds: str) -> tuple[int, ...]:
    return struct.unpack("<" + kinds, file.read(struct.calcsize("<" + kinds)))
