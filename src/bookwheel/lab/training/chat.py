"""A policy's tokenizer and chat template, asked once for what the rollouts of a group have in common.

The rollouts of a group read the same sections at about the same time, and many of them write the same memory.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from bookwheel.text.tokens import FileTokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.text.tokens import ScannedText
    from bookwheel.types import Message

# Rollouts of one sample ask one after the other, so few are enough; a long chat takes some 200 KB.
_CHATS_KEPT: Final = 256
# A long piece takes about a megabyte.
_SCANS_KEPT: Final = 16
# A chunk is cut at its first or second try.
_COUNTS_KEPT: Final = 4


class ChatCodec:
    """Turns chats into ids by the model's own template, and ids into text."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._encode = lru_cache(_CHATS_KEPT)(self._encode_anew)
        self._decode = lru_cache(_CHATS_KEPT)(self._decode_anew)

    def encode(self, messages: Sequence[Message], *, closed: bool = False) -> tuple[int, ...]:
        """Return the ids of a chat up to where the reply begins; `closed` leaves out the reply's beginning."""
        return self._encode(tuple(messages), closed)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of a reply, without special tokens."""
        return self._decode(tuple(ids))

    def _encode_anew(self, messages: tuple[Message, ...], closed: bool) -> tuple[int, ...]:
        chat = [{"role": message.role, "content": message.content} for message in messages]
        text = self._tokenizer.apply_chat_template(chat, add_generation_prompt=not closed, tokenize=False)
        # What transformers lays around this call takes longer than the call.
        return tuple(self._tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids)

    def _decode_anew(self, ids: tuple[int, ...]) -> str:
        return str(self._tokenizer.decode(ids, skip_special_tokens=True)).strip()


class _SharedScan:
    """A piece of a document that several rollouts cut at the same place."""

    def __init__(self, scanned: ScannedText) -> None:
        self.is_local = scanned.is_local
        self.fit = scanned.fit
        self.count = lru_cache(_COUNTS_KEPT)(scanned.count)


class GroupTokenizer(FileTokenizer):
    """Tokenizes a piece of a document once for all rollouts that read it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        scan = super().scan
        self._scan = lru_cache(_SCANS_KEPT)(lambda text: _SharedScan(scan(text)))

    def scan(self, text: str) -> ScannedText:
        """Return the text tokenized."""
        return self._scan(text)


def export_tokenizer(tokenizer: Any, name: str) -> GroupTokenizer:
    """Return the policy's tokenizer in the form that the rest of the package counts with."""
    with TemporaryDirectory() as folder:
        path = f"{folder}/tokenizer.json"
        tokenizer.backend_tokenizer.save(path)
        exported = GroupTokenizer(Path(path))
    exported.name = name
    return exported
