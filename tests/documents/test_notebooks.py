"""Notebooks: cells in their order, the plainest form of an output that has words, and notes on what is not text."""

import json

import pytest
from conversion import convert


def read(tmp_path, *cells, **more):
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": list(cells), **more}))
    parts, notes = convert(tmp_path / "a.ipynb")
    return [part.text for part in parts], notes


def output(**formats):
    return {"cell_type": "code", "source": "", "outputs": [{"output_type": "display_data", "data": formats}]}


def test_code_is_fenced_in_the_notebook_s_language_and_words_are_not(tmp_path):
    code = {"cell_type": "code", "source": ["lamps = 4\n", "lamps"], "outputs": []}
    words = {"cell_type": "markdown", "source": "The keeper counts."}
    texts, notes = read(tmp_path, code, words, metadata={"language_info": {"name": "julia"}})
    assert texts == ["```julia\nlamps = 4\nlamps\n```\n\n", "The keeper counts.\n\n"]
    assert notes == ()


@pytest.mark.parametrize("key", ["text/html", "html"])
def test_markup_is_taken_before_plain_text_by_either_name(tmp_path, key):
    table = "<table><tr><th>oil</th></tr><tr><td>four barrels</td></tr></table>"
    texts, _ = read(tmp_path, output(**{key: table, "text/plain": "<DataFrame>"}))
    assert "four barrels" in texts[0]
    assert "DataFrame" not in texts[0]


def test_markup_without_words_gives_way_to_plain_text(tmp_path):
    texts, _ = read(tmp_path, output(**{"text/html": "<div></div>", "text/plain": "four barrels"}))
    assert texts == ["```\nfour barrels\n```\n\n"]


@pytest.mark.parametrize("key", ["image/png", "png"])
def test_a_picture_of_an_output_is_told(tmp_path, key):
    _, notes = read(tmp_path, output(**{key: "iVBOR"}))
    assert notes == ("pictures that are not read: a.ipynb#cell 1",)


def test_a_picture_in_the_words_is_told(tmp_path):
    cell = {"cell_type": "markdown", "source": "See.", "attachments": {"a.png": {"image/png": "iVBOR"}}}
    assert read(tmp_path, cell)[1] == ("pictures that are not read: a.ipynb#cell 1",)


def test_an_output_that_is_neither_text_nor_picture_is_told(tmp_path):
    _, notes = read(tmp_path, output(**{"application/x-thing": "…"}))
    assert notes == ("outputs of a notebook without text: a.ipynb#cell 1",)


def test_an_error_is_its_name_and_its_words(tmp_path):
    fault = {"output_type": "error", "ename": "ValueError", "evalue": "no oil", "traceback": []}
    texts, _ = read(tmp_path, {"cell_type": "code", "source": "", "outputs": [fault]})
    assert texts == ["ValueError: no oil\n\n"]


def test_cells_of_the_older_format_stand_in_sheets(tmp_path):
    (tmp_path / "a.ipynb").write_text(
        json.dumps({"worksheets": [{"cells": [{"cell_type": "heading", "level": 2, "source": "Stores"}]}]})
    )
    assert [part.text for part in convert(tmp_path / "a.ipynb")[0]] == ["## Stores\n\n"]
