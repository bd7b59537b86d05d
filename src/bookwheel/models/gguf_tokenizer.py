"""The tokenizer of a GGUF file in this process: the tokens of llama.cpp, without asking it over a socket.

A file has the vocabulary and the merges of a byte-level BPE, and the name of the rule by which texts are split first.
Only rules whose tokens were compared with llama.cpp's are known here; of other files llama.cpp counts the tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bookwheel.models.gguf import read_lists
from bookwheel.text.tokens import FastTokenizer

if TYPE_CHECKING:
    from pathlib import Path

_VOCABULARY: Final = "tokenizer.ggml.tokens"
_MERGES: Final = "tokenizer.ggml.merges"
_KINDS: Final = "tokenizer.ggml.token_type"
# Ordinary tokens, and control tokens, which no text becomes.
_KNOWN_KINDS: Final = frozenset({1, 3})


def load_tokenizer(path: Path, name: str) -> FastTokenizer | None:
    """Return the tokenizer of these weights, or None where only llama.cpp knows it."""
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
