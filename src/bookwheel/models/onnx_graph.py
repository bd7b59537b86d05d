"""Graphs of operations for onnxruntime, written here node by node: products of eight-bit integers above all.

    x · Wᵀ = (x H) · (W H)ᵀ ≈ a b · round(x H / a) · round(W H / b)ᵀ     a, b: the largest of each row, over 127

Integers are multiplied exactly, so every processor gives the same sums, and a row of x has the same result whatever
rows are beside it. A few numbers of a row are many times the others, which would be rounded away beside them: H, a
rotation, spreads each over 64 places.

A file of ONNX is a protocol buffer, whose fields have numbers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.
Writing these few needs no package.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bookwheel.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Callable

    from bookwheel.models.gguf import Floats

    Run = Callable[..., Floats]
    Field = tuple[int, int | float | str | bytes]

_FORMAT: Final = 10
_OPERATIONS: Final = (("", 23), ("com.microsoft", 1))
"""Sets of operations, and their versions."""
_KINDS: Final = {"f4": 1, "u1": 2, "i1": 3, "i8": 7}
"""ONNX's numbers of kinds of numbers."""
_LARGEST: Final = 127
_MIDDLE: Final = 128
"""The byte that stands for 0 where bytes have no sign."""
_TURN: Final = 64
"""Places over which a number is spread."""
_TINY: Final = 1e-30
_ROWS: Final = 128
_SEVEN_BITS: Final = 127


class OnnxGraph:
    """A graph in the making. Each operation returns the name of its result."""

    def __init__(self, *inputs: str) -> None:
        self._inputs = inputs
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._rounded: dict[str, tuple[str, str]] = {}

    def add(self, operation: str, *inputs: str, domain: str = "", **attributes: float) -> str:
        name = f"{operation}{len(self._nodes)}"
        fields = [*((1, one) for one in inputs), (2, name), (4, operation), (7, domain)]
        self._nodes.append(_encode(*fields, *((5, _encode_attribute(*one)) for one in attributes.items())))
        return name

    def constant(self, values: Any, kind: str = "f4") -> str:
        array, name = np.asarray(values, kind), f"constant{len(self._constants)}"
        sizes = ((1, size) for size in array.shape)
        self._constants.append(_encode(*sizes, (2, _KINDS[kind]), (8, name), (9, array.tobytes())))
        return name

    def norm(self, x: str, weight: Floats, epsilon: float) -> str:
        return self.add("RMSNormalization", x, self.constant(weight), axis=-1, epsilon=epsilon)

    def multiply(self, x: str, matrix: Floats) -> str:
        """Multiply each row of x by a matrix, in integers."""
        rotation = _make_rotation(matrix.shape[1])
        weights, scales = _round_matrix(matrix, rotation)
        zero = 0
        if overflows():
            # Unsigned weights take twice the time, where signed ones are right.
            weights, zero = weights.view("u1") ^ _MIDDLE, _MIDDLE
        rounded, largest = self._round(x, rotation)
        unit = self.constant(1 / _LARGEST)
        kind = weights.dtype.str[1:]
        factors = (rounded, self.constant(weights.T, kind), unit, self.constant(scales))
        zeros = (self.constant(_MIDDLE, "u1"), self.constant(zero, kind))
        return self.add("Mul", self.add("MatMulIntegerToFloat", *factors, *zeros, domain="com.microsoft"), largest)

    def _round(self, x: str, rotation: Floats) -> tuple[str, str]:
        """Return the rotated rows of x as bytes, and the largest number of each row."""
        if x not in self._rounded:
            pieces = self.add("Reshape", x, self.constant([0, -1, len(rotation)], "i8"))
            rows = self.add(
                "Reshape", self.add("MatMul", pieces, self.constant(rotation)), self.constant([0, -1], "i8")
            )
            largest = self.add("ReduceMax", self.add("Abs", rows), self.constant([-1], "i8"))
            largest = self.add("Max", largest, self.constant(_TINY))
            unit, middle = self.constant(1 / _LARGEST), self.constant(_MIDDLE, "u1")
            self._rounded[x] = self.add("QuantizeLinear", self.add("Div", rows, largest), unit, middle), largest
        return self._rounded[x]

    def compile(self, output: str) -> Run:
        """Return a function from the values of the inputs to those of the output, on one core."""
        try:
            from onnxruntime import InferenceSession, SessionOptions
        except ImportError as error:
            raise MissingExtra("the local model", "local") from error
        graph = _encode(
            *((1, node) for node in self._nodes),
            (2, "graph"),
            *((5, constant) for constant in self._constants),
            *((11, _encode_value(name)) for name in self._inputs),
            (12, _encode_value(output)),
        )
        sets = ((8, _encode((1, domain), (2, version))) for domain, version in _OPERATIONS)
        options = SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        # Each session would keep the memory of its largest run.
        options.enable_cpu_mem_arena = False
        session = InferenceSession(_encode((1, _FORMAT), (7, graph), *sets), options, ["CPUExecutionProvider"])
        # It keeps the file in case another kind of processor fails.
        session._model_bytes = None  # noqa: SLF001
        inputs = self._inputs
        return lambda *values: session.run([output], dict(zip(inputs, values, strict=True)))[0]


@cache
def overflows() -> bool:
    """Return True if this processor adds two products of a byte and a signed byte in 16 bits, where they do not fit."""
    graph = OnnxGraph("x")
    one, zero = graph.constant(1.0), graph.constant(0, "u1")
    x, weights = graph.add("QuantizeLinear", "x", one, zero), graph.constant(np.full((64, 64), _LARGEST), "i1")
    run = graph.compile(graph.add("MatMulIntegerToFloat", x, weights, one, one, zero, domain="com.microsoft"))
    return bool(np.any(run(np.full((8, 64), 255, "f4")) != 64 * 255 * _LARGEST))


def _round_matrix(matrix: Floats, rotation: Floats) -> tuple[Floats, Floats]:
    """Return the rotated rows as signed bytes, and their scales. A few rows at a time stay in the processor's cache."""
    rounded, scales = np.empty(matrix.shape, "i1"), np.empty(len(matrix), "f4")
    for begin in range(0, len(matrix), _ROWS):
        some = slice(begin, begin + _ROWS)
        rows = (matrix[some].reshape(-1, len(rotation)) @ rotation).reshape(-1, matrix.shape[1])
        scales[some] = np.maximum(rows.max(axis=1), -rows.min(axis=1)) / _LARGEST
        rows /= np.maximum(scales[some], _TINY)[:, None]
        rounded[some] = np.rint(rows, out=rows)
    return rounded, scales


@cache
def _make_rotation(size: int) -> Floats:
    """Return Hadamard's matrix of the largest power of two that divides a size, of 64 at most."""
    rotation = np.ones((1, 1), "f4")
    while len(rotation) < _TURN and size % (2 * len(rotation)) == 0:
        rotation = np.block([[rotation, rotation], [rotation, -rotation]])
    return np.asarray(rotation / np.sqrt(len(rotation)), "f4")


def _encode(*fields: Field) -> bytes:
    """Return a message of a protocol buffer."""
    parts: list[bytes] = []
    for number, value in fields:
        if isinstance(value, float):
            parts += _encode_number(number << 3 | 5), struct.pack("<f", value)
        elif isinstance(value, int):
            parts += _encode_number(number << 3), _encode_number(value)
        else:
            content = value.encode() if isinstance(value, str) else value
            parts += _encode_number(number << 3 | 2), _encode_number(len(content)), content
    return b"".join(parts)


def _encode_number(value: int) -> bytes:
    """Return seven bits a byte, the lowest first; a negative number is one of 64 bits."""
    value &= (1 << 64) - 1
    encoded = bytearray()
    while value > _SEVEN_BITS:
        encoded.append(value & _SEVEN_BITS | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _encode_attribute(name: str, value: float) -> bytes:
    is_float = isinstance(value, float)
    return _encode((1, name), (2 if is_float else 3, value), (20, 1 if is_float else 2))


def _encode_value(name: str) -> bytes:
    """Return that a tensor of this name holds floats."""
    return _encode((1, name), (2, _encode((1, _encode((1, _KINDS["f4"]))))))
