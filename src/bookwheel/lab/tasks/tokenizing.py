"""The tokenizer that counts a sample's length, by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bookwheel.errors import TokenizerError
from bookwheel.text.tokens import EstimatingTokenizer, FileTokenizer, WordTokenizer

if TYPE_CHECKING:
    from bookwheel.text.tokens import Tokenizer


def load_tokenizer(name: str) -> Tokenizer:
    """Load `words` (the scripted model's), `estimate`, or the path of a tokenizer.json or of its folder."""
    if name == WordTokenizer.name:
        return WordTokenizer()
    if name == EstimatingTokenizer.name:
        return EstimatingTokenizer()
    path = Path(name)
    if path.is_dir():
        path /= "tokenizer.json"
    if not path.is_file():
        raise TokenizerError(f"no tokenizer {name!r}: give `words`, `estimate`, or the path of a tokenizer.json")
    return FileTokenizer(path)
