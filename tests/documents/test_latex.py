"""The letters of LaTeX are read as letters, and nothing else of it changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.documents.latex import resolve_accents
from bookwheel.documents.opening import open_document


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"Lund\"o, Erd\H{o}s, \'{\i}na, na\"{\i}ve, {\"u}ber, \~n", "Lundö, Erdős, ína, naïve, über, ñ"),
        (r"{\aa}rstal, S\o ren, \O{}sterg\aa rd, Stra\ss e, \c{c}a, \v{S}koda, \l\'od\'z", "årstal, Søren, Østergård, Straße, ça, Škoda, łódź"),
        (r"\textbf{x} \\'a \alpha \omega \item \over \SI{29}{\percent} \= \underline{o}", None),
    ],
)  # fmt: skip
def test_letters_with_accents_are_letters(written, read):
    assert "".join(resolve_accents([written])) == (read or written)


@given(st.text("a\\\"'o{}\n"), st.integers(0, 20))
def test_a_cut_changes_nothing(text, at):
    whole = "".join(resolve_accents([text]))
    assert "".join(resolve_accents([text[:at], text[at:]])) == whole
    assert whole.count("\n") == text.count("\n")


def test_a_name_in_a_file_of_latex_is_found(tmp_path):
    for name in ("a.tex", "a.txt"):
        (tmp_path / name).write_text('The trial at Lund\\"o.\n')
    assert [text.text for text in open_document([tmp_path / "a.tex"]).parts()] == ["The trial at Lundö.\n"]
    assert "".join(text.text for text in open_document([tmp_path / "a.txt"]).parts()) == 'The trial at Lund\\"o.\n'
