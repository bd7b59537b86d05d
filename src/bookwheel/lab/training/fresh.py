"""A small new model: a Llama of a few hundred thousand to a few million weights over a vocabulary of words.

With it a whole training run takes minutes on any machine. Its vocabulary is the words of the texts it is given, so it
can write no others.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from bookwheel.lab.training.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bookwheel.lab.training.config import FreshSettings

# Splits like the Whitespace pre-tokenizer.
_WORD: Final = re.compile(r"\w+|[^\w\s]+")
_UNKNOWN, _PAD, _USER, _REPLY, _END = "<|unknown|>", "<|pad|>", "<|user|>", "<|reply|>", "<|end|>"
_TEMPLATE: Final = (
    "{% for message in messages %}"
    f"{{% if message.role == 'assistant' %}}{_REPLY} {{{{ message.content }}}} {_END}"
    f"{{% else %}}{_USER} {{{{ message.content }}}} {{% endif %}}{{% endfor %}}"
    f"{{% if add_generation_prompt %}}{_REPLY}{{% endif %}}"
)


def build_word_tokenizer(texts: Iterable[str]) -> Any:
    """Return a tokenizer with one id for every word of the texts, in alphabetical order."""
    words = sorted({word for text in texts for word in _WORD.findall(text)})
    vocabulary = {word: i for i, word in enumerate((_PAD, _UNKNOWN, _USER, _REPLY, _END, *words))}
    fast = Tokenizer(models.WordLevel(vocabulary, unk_token=_UNKNOWN))
    fast.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer_type: Any = PreTrainedTokenizerFast
    tokenizer = tokenizer_type(
        tokenizer_object=fast,
        unk_token=_UNKNOWN,
        pad_token=_PAD,
        eos_token=_END,
        additional_special_tokens=[_USER, _REPLY],
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = _TEMPLATE
    return tokenizer


def build_fresh_policy(texts: Iterable[str], shape: FreshSettings, seed: int, *, share_prefixes: bool = True) -> Policy:
    """Return a policy with random weights; the same seed gives the same weights."""
    tokenizer = build_word_tokenizer(texts)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=shape.hidden,
        intermediate_size=2 * shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        max_position_embeddings=shape.window,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    return Policy(model, tokenizer, share_prefixes=share_prefixes)
