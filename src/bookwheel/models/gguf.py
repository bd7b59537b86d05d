"""GGUF files: what one says of itself, its tensors as float32 arrays, its tokenizer, and copies with other tensors.

Reading takes a fifth of a second here, where the gguf package takes several; writing is left to the package.

"GGUF" · version u32 · tensors u64 · fields u64
each field:   name · kind u32 · value; a string is its length (u64) and bytes, a list its kind, count (u64) and values
each tensor:  name · dimensions u32 · sizes u64, the fastest first · kind u32 · offset u64
then the tensors' data, aligned. Q8_0 is blocks of 32 weights: a scale (f16) and 32 signed bytes.
"""

from __future__ import annotations

import json
import mmap
import struct
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import MissingExtra, NoWeights, PlanError
from bookwheel.plan import Plan
from bookwheel.text.tokens import FastTokenizer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    Floats = NDArray[Any]

PLAN_FIELD: Final = "bookwheel.plan"
"""The field that holds the plan a policy was trained with, as JSON."""
WAY_FIELD: Final = "bookwheel.way"
"""The field that holds the way of reading a policy was trained with."""
TURNS_FIELD: Final = "bookwheel.turns"
"""The field that names the turns, besides `answers`, that an adapter of the reader was taught, with spaces between."""
TYPE_FIELD: Final = "general.type"
ADAPTER_TYPE: Final = "adapter"

Value = str | int | float | bool

# Fields that the writer sets itself, and those that describe how tensors are packed.
_OWN: Final = ("GGUF.", "general.architecture", "general.quantization_version", "general.file_type")
_MAGIC: Final = b"GGUF"
_HEADER_FAULT: Final = "has a damaged header: copy or download the file again"
_LOAD_FAULT: Final = (
    "cannot be loaded: {reason}; "
    "`bookwheel models --fetch` downloads the built-in weights, which are used if BOOKWHEEL_WEIGHTS is unset"
)
# What a header of wrong numbers raises: a size, an alignment of 0, lists in lists.
_DAMAGE_ERRORS: Final = (struct.error, ValueError, KeyError, ArithmeticError, RecursionError, IndexError)
_NUMBERS: Final = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING: Final = 8
_LIST: Final = 9
_ALIGNMENT: Final = 32
_F32: Final = 0
_F16: Final = 1
_Q8_0: Final = 8
_BLOCK: Final = 32
_VOCABULARY: Final = "tokenizer.ggml.tokens"
_MERGES: Final = "tokenizer.ggml.merges"
_KINDS: Final = "tokenizer.ggml.token_type"
# Ordinary tokens, and control tokens, which no text becomes.
_KNOWN_KINDS: Final = frozenset({1, 3})


class _OtherKind(ValueError):
    """Tensors are quantised in a way that is not read here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufFile:
    """What a file says of itself, lists left out, and its tensors by name."""

    fields: dict[str, Value]
    tensors: Mapping[str, Floats]


class _Tensors(Mapping[str, "Floats"]):
    """Tensors as the file has them; each is dequantised when it is asked for, as all together would fill the memory."""

    def __init__(self, stored: Mapping[str, tuple[Floats, tuple[int, ...]]]) -> None:
        self._stored = stored
        """Blocks or numbers, and the shape."""

    def __getitem__(self, name: str) -> Floats:
        import numpy as np

        stored, sizes = self._stored[name]
        if stored.dtype.names is None:
            return stored.astype("f4").reshape(sizes)
        values = np.multiply(stored["weights"], stored["scale"].astype("f4")[:, None], dtype="f4")
        return np.asarray(values.reshape(sizes))

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)


def read_header(path: Path) -> dict[str, Value]:
    """Return the fields before the first list. Raise NoWeights if the file is not a GGUF, or truncated."""
    with _open(path) as cursor:
        return cursor.read_fields(until_list=True)[0]


def read_lists(path: Path, names: Collection[str]) -> tuple[dict[str, Value], dict[str, list[Value]]]:
    """Return all fields that are no lists, and the lists of these names that the file has."""
    with _open(path) as cursor:
        return cursor.read_fields(names)


def load_gguf(path: Path) -> GgufFile:
    """Load every tensor. Raise NoWeights for a damaged file, or one in another format than F32, F16 and Q8_0."""
    with _open(path, _LOAD_FAULT) as cursor:
        fields, _ = cursor.read_fields()
        entries = []
        for _ in range(cursor.tensors):
            name, (dimensions,) = cursor.read_string(), cursor.read_numbers("I")
            entries.append((name, cursor.read_numbers(f"{dimensions}Q")[::-1], *cursor.read_numbers("IQ")))
        alignment = int(fields.get("general.alignment", _ALIGNMENT))
        begin = -(-cursor.at // alignment) * alignment
        with path.open("rb") as file:
            # The tensors keep it open as long as anyone has them.
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        tensors = {name: (_view(content, begin + offset, sizes, kind), sizes) for name, sizes, kind, offset in entries}
        return GgufFile(fields=fields, tensors=_Tensors(tensors))


def load_header_plan(fields: Mapping[str, Value], path: Path) -> Plan | None:
    """Return the plan stored with a trained policy, or None."""
    if PLAN_FIELD not in fields:
        return None
    try:
        return Plan.from_json(json.loads(str(fields[PLAN_FIELD])))
    except (ValueError, TypeError, AttributeError, PlanError) as error:
        raise NoWeights(f"{path} holds a plan that cannot be used: export the policy again") from error


@contextmanager
def _open(path: Path, fault: str = _HEADER_FAULT) -> Iterator[_Cursor]:
    """Open the file behind its magic word and version. `fault` is what is said of one that is damaged."""
    try:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise NoWeights(f"{path} is not a GGUF file: the local model needs weights in llama.cpp's .gguf format")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                yield _Cursor(content, at=len(_MAGIC) + struct.calcsize("<I"))
    except OSError as error:
        raise NoWeights(f"{path} cannot be read ({error.strerror}): name an existing .gguf file") from error
    except _DAMAGE_ERRORS as error:
        reason = str(error) if isinstance(error, _OtherKind) else "it is damaged"
        raise NoWeights(f"{path} {fault.format(reason=reason)}") from error


class _Cursor:
    """Reads values one after the other."""

    def __init__(self, content: mmap.mmap, *, at: int) -> None:
        self.content = content
        self.at = at
        self.tensors, self._fields = self.read_numbers("QQ")
        """How many there are."""

    def read_numbers(self, kinds: str) -> tuple[Any, ...]:
        numbers = struct.unpack_from("<" + kinds, self.content, self.at)
        self.at += struct.calcsize("<" + kinds)
        return numbers

    def read_string(self) -> str:
        (length,) = self.read_numbers("Q")
        if length > len(self.content) - self.at:
            raise ValueError(f"a string of {length} bytes")
        self.at += length
        return self.content[self.at - length : self.at].decode()

    def read_value(self, kind: int) -> Value:
        value: Value = self.read_string() if kind == _STRING else self.read_numbers(_NUMBERS[kind])[0]
        return value

    def read_fields(
        self, names: Collection[str] = (), *, until_list: bool = False
    ) -> tuple[dict[str, Value], dict[str, list[Value]]]:
        """Return all fields that are no lists, or those before the first one, and the lists of these names."""
        fields: dict[str, Value] = {}
        lists: dict[str, list[Value]] = {}
        for _ in range(self._fields):
            name, (kind,) = self.read_string(), self.read_numbers("I")
            if kind != _LIST:
                fields[name] = self.read_value(kind)
            elif until_list:
                break
            elif name in names:
                kind, length = self.read_numbers("IQ")
                lists[name] = [self.read_value(kind) for _ in range(length)]
            else:
                self.skip_list()
        return fields, lists

    def skip_list(self) -> None:
        kind, count = self.read_numbers("IQ")
        if kind in _NUMBERS:
            self.at += count * struct.calcsize("<" + _NUMBERS[kind])
            return
        for _ in range(count):
            if kind == _LIST:
                self.skip_list()
            else:
                self.at += 8 + struct.unpack_from("<Q", self.content, self.at)[0]


def _view(content: mmap.mmap, offset: int, sizes: tuple[int, ...], kind: int) -> Floats:
    """Return the blocks or numbers of a tensor."""
    import numpy as np

    kinds: dict[int, Any] = {_F32: "<f4", _F16: "<f2", _Q8_0: [("scale", "<f2"), ("weights", "i1", _BLOCK)]}
    if kind not in kinds:
        raise _OtherKind(f"it has tensors of type {kind}, and F32 (0), F16 (1) and Q8_0 (8) can be read")
    count = int(np.prod(sizes)) // (_BLOCK if kind == _Q8_0 else 1)
    return np.frombuffer(content, np.dtype(kinds[kind]), count, offset)


def requantize(source: Path, target: Path) -> None:
    """Copy `source` to `target` with every quantised tensor in Q8_0. Unquantised tensors stay as they are.

    llama.cpp has fast kernels for 8-bit blocks and none for Q4_1, the format of our download. A prompt takes 1.7 times
    less time and 1.5 times the memory. Nothing is lost: four bits fit into eight.
    """
    reader = open_gguf(source)
    writer = copy_fields(reader, target)
    from gguf import GGML_QUANT_VERSION, LlamaFileType, dequantize, quantize
    from gguf import GGMLQuantizationType as Kind

    writer.add_file_type(LlamaFileType.MOSTLY_Q8_0)
    writer.add_quantization_version(GGML_QUANT_VERSION)
    unchanged = {Kind.F32, Kind.F16, Kind.BF16, Kind.Q8_0}
    for tensor in reader.tensors:
        if tensor.tensor_type in unchanged:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
        else:
            values = quantize(dequantize(tensor.data, tensor.tensor_type), Kind.Q8_0)
            writer.add_tensor(tensor.name, values, raw_dtype=Kind.Q8_0)
    write_gguf(writer)


def open_gguf(path: Path) -> Any:
    try:
        from gguf import GGUFReader
    except ImportError as error:
        raise MissingExtra("reading a GGUF file", "local") from error
    return GGUFReader(path)


def copy_fields(reader: Any, target: Path, **own: str) -> Any:
    """Return a writer to `target` with all fields of an open GGUF: tokenizer, template, settings, but no tensors.

    The `own` fields replace those of the source. They come first, so a reader finds them before the vocabulary.
    """
    from gguf import GGUFWriter

    writer = GGUFWriter(target, str(reader.fields["general.architecture"].contents()))
    for name, text in own.items():
        writer.add_string(name, text)
    for field in reader.fields.values():
        if not field.name.startswith(_OWN) and field.name not in own:
            inner = field.types[-1] if len(field.types) > 1 else None
            writer.add_key_value(field.name, field.contents(), field.types[0], sub_type=inner)
    return writer


def write_gguf(writer: Any) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def load_tokenizer(path: Path, name: str) -> FastTokenizer | None:
    """Return the tokenizer of these weights in this process, or None where only llama.cpp knows it.

    A file has the vocabulary and the merges of a byte-level BPE, and names the rule by which texts are split first.
    Only rules whose tokens were compared with llama.cpp's are known here.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers

    fields, lists = read_lists(path, (_VOCABULARY, _MERGES, _KINDS))
    if (fields.get("tokenizer.ggml.model"), fields.get("tokenizer.ggml.pre")) != ("gpt2", "smollm"):
        return None
    # A token that the user defined is found in a text before it is split.
    if len(lists) < 3 or not _KNOWN_KINDS.issuperset(lists[_KINDS]):  # noqa: PLR2004 - the three above
        return None
    vocabulary = {str(token): at for at, token in enumerate(lists[_VOCABULARY])}
    pairs = [(first, second) for first, _, second in (str(merge).partition(" ") for merge in lists[_MERGES])]
    fast = Tokenizer(models.BPE(vocab=vocabulary, merges=pairs))
    split_digits = pre_tokenizers.Digits(individual_digits=True)
    split_words = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    fast.pre_tokenizer = pre_tokenizers.Sequence([split_digits, split_words])
    return FastTokenizer(fast, name)
