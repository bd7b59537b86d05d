"""The head of a GGUF file, whole, foreign and damaged."""

import json
import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.errors import NoWeights
from bookwheel.models.gguf import PLAN_FIELD, load_gguf, load_header_plan, read_header
from bookwheel.plan import Plan


def text(value):
    return struct.pack("<Q", len(value.encode())) + value.encode()


def field(name, kind, value):
    return text(name) + struct.pack("<I", kind) + value


def strings(*values):
    return struct.pack("<IQ", 8, len(values)) + b"".join(map(text, values))


FIELDS = {
    "general.type": field("general.type", 8, text("adapter")),
    "alpha": field("alpha", 6, struct.pack("<f", 16)),
    "flag": field("flag", 7, b"\x01"),
    "blocks": field("blocks", 4, struct.pack("<I", 30)),
    "words": field("words", 9, strings("oak", "鯨", "")),
    "late": field("late", 4, struct.pack("<I", 1)),
}
WHOLE = b"GGUF" + struct.pack("<IQQ", 3, 0, len(FIELDS)) + b"".join(FIELDS.values())


def test_single_values_are_told_up_to_the_first_list(tmp_path):
    path = tmp_path / "a.gguf"
    path.write_bytes(WHOLE + b"tensors")
    assert read_header(path) == {"general.type": "adapter", "alpha": 16.0, "flag": True, "blocks": 30}


def test_it_agrees_with_the_format_s_own_library(tmp_path):
    gguf = pytest.importorskip("gguf")
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
    writer.add_context_length(8192)
    writer.add_string(PLAN_FIELD, json.dumps(Plan(chunk_tokens=300).to_json()))
    writer.add_token_list(["a", "b"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    found = read_header(tmp_path / "a.gguf")
    assert (found["general.architecture"], found["llama.context_length"]) == ("llama", 8192)
    assert load_header_plan(found, tmp_path / "a.gguf") == Plan(chunk_tokens=300)


@pytest.mark.parametrize("length", range(4, WHOLE.index(b"words"), 7))
def test_the_beginning_of_a_file_is_told_as_damage(tmp_path, length):
    path = tmp_path / "a.gguf"
    path.write_bytes(WHOLE[:length])
    with pytest.raises(NoWeights, match="damaged"):
        read_header(path)


@given(st.binary(max_size=200), st.integers(0, len(WHOLE)))
def test_whatever_stands_in_it_is_fields_or_a_clear_error(tmp_path_factory, noise, place):
    path = tmp_path_factory.getbasetemp() / "noise.gguf"
    path.write_bytes(WHOLE[:place] + noise)
    with suppress(NoWeights):
        assert isinstance(read_header(path), dict)


@pytest.mark.parametrize(
    "brought", ["no json", "[1]", '"text"', '{"chunks": 3}', '{"layout": "sideways"}', '{"chunk_tokens": "x"}']
)
def test_a_plan_that_cannot_be_used_says_whose_it_is(tmp_path, brought):
    with pytest.raises(NoWeights, match="holds a plan"):
        load_header_plan({PLAN_FIELD: brought}, tmp_path / "policy.gguf")


def test_most_files_bring_no_plan(tmp_path):
    assert load_header_plan({"general.type": "model"}, tmp_path / "model.gguf") is None


@pytest.mark.parametrize(
    "fields",
    [
        [(b"general.alignment", 4, struct.pack("<I", 0))],
        [(b"x", 9, struct.pack("<IQ", 9, 1) * 5000)],
        [(b"x", 9, struct.pack("<IQ", 10, 1 << 63)), (b"y", 4, b"")],
    ],
    ids=["an alignment of 0", "lists in lists", "a list longer than any file"],
)
def test_wrong_numbers_in_a_header_are_a_damaged_file(tmp_path, fields):
    path = tmp_path / "odd.gguf"
    body = b"".join(
        struct.pack("<Q", len(name)) + name + struct.pack("<I", kind) + value for name, kind, value in fields
    )
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(fields)) + body)
    with pytest.raises(NoWeights):
        load_gguf(path)
