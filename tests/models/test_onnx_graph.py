"""Graphs: their products are nearly those of floats, row by row, on every processor."""

from __future__ import annotations

import sys

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("onnxruntime")

from bookwheel.errors import MissingExtra  # noqa: E402
from bookwheel.models import onnx_graph  # noqa: E402
from bookwheel.models.onnx_graph import OnnxGraph  # noqa: E402

RANDOM = np.random.default_rng(5)
MATRIX = RANDOM.normal(size=(96, 192)).astype("f4")
ROWS = RANDOM.normal(size=(70, 192)).astype("f4")


def multiply(rows, matrix=MATRIX):
    graph = OnnxGraph("x")
    return graph.compile(graph.multiply("x", matrix))(rows)


def measure_error(rows, matrix=MATRIX) -> float:
    """Return the error of a product beside its size."""
    exact = rows.astype("f8") @ matrix.T
    return float(np.linalg.norm(multiply(rows, matrix) - exact) / np.linalg.norm(exact))


def test_products_are_nearly_those_of_floats():
    assert measure_error(ROWS) < 0.015


def test_rows_of_any_size_have_scales_of_their_own():
    sizes = np.logspace(-6, 6, len(ROWS), dtype="f4")[:, None]
    assert multiply(ROWS * sizes) / sizes == pytest.approx(multiply(ROWS), abs=1e-3)
    sizes = np.logspace(-6, 6, len(MATRIX), dtype="f4")[:, None]
    assert multiply(ROWS, MATRIX * sizes) / sizes.T == pytest.approx(multiply(ROWS), abs=1e-3)


def test_one_number_far_above_the_others_hides_none_of_them():
    rows = ROWS.copy()
    rows[:, 17] = 60
    without = MATRIX.copy()
    # What stands beside the large number is all that counts.
    without[:, 17] = 0
    assert measure_error(rows, without) < 0.05


def test_a_row_is_the_same_whatever_stands_beside_it():
    one_by_one = [multiply(row[None])[0] for row in ROWS[:9]]
    assert np.array_equal(multiply(ROWS)[:9], one_by_one)


def test_zeros_stay_zeros():
    assert not multiply(np.zeros((2, 192), "f4")).any()
    assert not multiply(ROWS, np.zeros((5, 192), "f4")).any()


@pytest.mark.skipif(onnx_graph.overflows(), reason="this processor has the sums of unsigned weights alone")
def test_where_sums_overflow_unsigned_weights_give_the_same_numbers(monkeypatch):
    signed = multiply(ROWS)
    monkeypatch.setattr(onnx_graph, "overflows", lambda: True)
    assert np.array_equal(multiply(ROWS), signed)


def test_the_largest_numbers_have_exact_sums():
    assert multiply(np.full((70, 64), 3, "f4"), np.ones((9, 64), "f4")) == pytest.approx(192, rel=1e-6)


@pytest.mark.parametrize("size", [8, 9, 96, 576])
def test_rotations_turn_and_keep_lengths(size):
    rotation = onnx_graph._make_rotation(size)
    assert size % len(rotation) == 0
    assert rotation @ rotation.T == pytest.approx(np.eye(len(rotation)), abs=1e-6)


def test_numbers_of_a_message_are_seven_bits_a_byte():
    assert onnx_graph._encode((1, 300), (2, "ab"), (3, -1)) == bytes([8, 0xAC, 2, 18, 2, *b"ab", 24, *[255] * 9, 1])


def test_without_onnxruntime_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra, match="local"):
        multiply(ROWS)
