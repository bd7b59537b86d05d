"""What a model offers besides replies, found by trying each thing once.

Server software says little of it, and some servers take a setting and ignore it. So each offer is one or two short
calls, of about 4,000 tokens together, and what a server does not report is unknown and not "no".
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from math import exp
from typing import Any, Final

from bookwheel.errors import BookwheelError, ModelError, TimedOut
from bookwheel.models.base import Ability, JudgingModel, Model, unwrap
from bookwheel.models.completion import as_mapping, parse_count
from bookwheel.models.openai import OpenAIModel
from bookwheel.models.vision import refuses_pictures
from bookwheel.picture import Picture
from bookwheel.plan import Sampling
from bookwheel.types import Message

_QUESTION: Final = (Message(role="user", content="Is water wet? Reply with one word, Yes or No."),)
_SENTENCE: Final = "The lamp burns at night."
_NONSENSE: Final = "Purple sums grow zebras."
_REPEAT: Final = (Message(role="user", content=f"Repeat this:\n<section>\n{_SENTENCE}\n</section>"),)
_OPTIONS: Final = ("Yes", "No")
# A red square of 56 x 56 pixels.
_RED: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAADgAAAA4CAIAAAAn5KxJAAAAQ0lEQVR42u3OQQkAAAgEsItw/dMZxYcphMECLNO+EFFRUVFRUVFR"
    "UVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFR0bNe0kC1wejj0QAAAABJRU5ErkJggg=="
)
# Of both options together. A model that thinks before it replies begins with neither; a small one is not sure.
_LEAST_PROBABILITY: Final = 0.1
# OpenAI caches prompts from 1,024 tokens on; vLLM and llama.cpp much shorter ones.
_CACHED_LINES: Final = 120
# Recorded log-probabilities are those of the model only where sampling changes nothing.
_UNMODIFIED: Final = Sampling(temperature=1.0, top_p=1.0)


class OfferKind(StrEnum):
    """A thing that a model may offer."""

    JUDGE = "judge"
    LIKELIHOOD = "likelihood"
    TOKEN_IDS = "token ids"  # noqa: S105 - no password
    TOKENIZER = "tokenizer"
    WINDOW = "window"
    PREFIX_CACHE = "prefix cache"
    EMBEDDINGS = "embeddings"
    PICTURES = "pictures"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One thing that a model offers or not."""

    kind: OfferKind
    is_offered: bool | None
    """None where it cannot be found out from here."""
    detail: str

    def to_json(self) -> dict[str, str | bool | None]:
        return {"name": str(self.kind), "offered": self.is_offered, "detail": self.detail}


def list_abilities(offers: list[Offer]) -> frozenset[Ability]:
    """Return the offers that ways of reading ask for."""
    return frozenset(Ability(str(one.kind)) for one in offers if one.is_offered and str(one.kind) in set(Ability))


async def find_offers(model: Model) -> list[Offer]:
    """Try what the model offers. Open a server's model with `record_tokens`. Raise a ModelError if it is away."""
    model = unwrap(model)
    is_exact = model.tokenizer.exact
    counts = "counts are exact" if is_exact else "counts are estimates; --tokenizer FILE makes them exact"
    window = "not reported; --window sets it" if model.window is None else f"{model.window:,} tokens"
    offers = [
        await _try(OfferKind.JUDGE, lambda: _try_judgement(model)),
        await _try(OfferKind.LIKELIHOOD, lambda: _try_likelihood(model)),
        await _try(OfferKind.TOKEN_IDS, lambda: _try_token_ids(model)),
        Offer(kind=OfferKind.TOKENIZER, is_offered=is_exact, detail=counts),
        Offer(kind=OfferKind.WINDOW, is_offered=model.window is not None or None, detail=window),
    ]
    if isinstance(model, OpenAIModel):
        offers.append(await _try(OfferKind.PREFIX_CACHE, lambda: _try_prefix_cache(model)))
        offers.append(await _try(OfferKind.EMBEDDINGS, lambda: _try_embeddings(model)))
        offers.append(await _try(OfferKind.PICTURES, lambda: _try_pictures(model)))
    return offers


async def _try(kind: OfferKind, attempt: Callable[[], Awaitable[tuple[bool | None, str]]]) -> Offer:
    """Return what an attempt shows; an error that time cannot mend shows that there is no such offer."""
    is_offered: bool | None
    try:
        is_offered, detail = await attempt()
    except TimedOut as error:  # a slow processor may still be busy with a long prompt
        is_offered, detail = None, str(error).partition(". ")[0]
    except BookwheelError as error:
        is_refusal = kind is OfferKind.PICTURES and isinstance(error, ModelError) and refuses_pictures(error)
        if isinstance(error, ModelError) and error.is_passing and not is_refusal:
            raise
        is_offered, detail = False, str(error).partition(". ")[0]
    return Offer(kind=kind, is_offered=is_offered, detail=detail)


async def _try_judgement(model: Model) -> tuple[bool, str]:
    if not isinstance(model, JudgingModel):
        return False, "it only replies"
    judgement = await model.judge(_QUESTION, _OPTIONS)
    share = sum(map(exp, judgement.logprobs))
    if share < _LEAST_PROBABILITY:
        return False, f"Yes and No have {share:.0%} of the first word together: does the model think before it replies?"
    return True, f"log-probabilities of one-word answers; Yes and No have {share:.0%} of the first word"


async def _try_likelihood(model: Model) -> tuple[bool, str]:
    if not isinstance(model, JudgingModel):
        return False, "it only replies"
    likely, unlikely = [await model.likelihood(_REPEAT, text) for text in (_SENTENCE, _NONSENSE)]
    if likely.mean <= unlikely.mean:
        return False, "the scores do not tell sense from nonsense"
    return (
        True,
        f"log-probabilities of a given text: {likely.mean:.2f} for sense, {unlikely.mean:.2f} for nonsense",
    )


async def _try_token_ids(model: Model) -> tuple[bool, str]:
    reply = await model.reply(_QUESTION, limit=4, sampling=_UNMODIFIED)
    if reply.tokens is None:
        return False, "no exact ids of prompts and replies, which training needs"
    return True, f"exact ids of prompts and replies ({len(reply.tokens.prompt)} and {len(reply.tokens.reply)})"


async def _try_prefix_cache(model: OpenAIModel) -> tuple[bool | None, str]:
    """Send one long prompt twice and see how much of the second one was cached."""
    # Nobody has sent this text before, so that the first call fills the cache.
    text = "\n".join(f"{line}: {secrets.token_hex(4)}" for line in range(_CACHED_LINES))
    client = model.endpoint.open_client()
    body = {"model": model.name, "messages": [{"role": "user", "content": f"{text}\nReply with OK."}]}
    try:
        for _ in range(2):
            reply = await client.ask("/chat/completions", {**body, "max_tokens": 1}, model.name)
    finally:
        await client.close()
    cached, total = _parse_cached(reply)
    if cached is None:
        return None, "the server does not report it (vLLM does with --enable-prompt-tokens-details)"
    if not cached:
        return False, "a prompt that was sent twice was computed twice"
    return True, f"{cached:,} of {total:,} tokens of a repeated prompt were cached"


def _parse_cached(reply: Any) -> tuple[int | None, int]:
    """Return the cached tokens of a prompt and all of them; None where the server does not say."""
    if not isinstance(reply, dict):
        return None, 0
    usage, timings = as_mapping(reply.get("usage")), as_mapping(reply.get("timings"))
    total = parse_count(usage.get("prompt_tokens")) or 0
    details = as_mapping(usage.get("prompt_tokens_details"))
    for found in (details.get("cached_tokens"), usage.get("prompt_cache_hit_tokens"), timings.get("cache_n")):
        if (cached := parse_count(found)) is not None:
            return cached, total
    return None, total


async def _try_embeddings(model: OpenAIModel) -> tuple[bool, str]:
    found = await model.embed(["Is water wet?"])
    return True, f"vectors of {len(found.vectors[0])} numbers"


async def _try_pictures(model: OpenAIModel) -> tuple[bool, str]:
    content, whole = base64.b64decode(_RED), (0.0, 0.0, 1.0, 1.0)
    square = Picture(label="figure 1", source="", page=None, box=whole, sha256="", width=56, height=56, content=content)
    question = "Which colour is the picture? Reply with one word."
    reply = await model.reply(
        [Message(role="user", content=question, pictures=(square,))], limit=16, sampling=Sampling(temperature=0.0)
    )
    if "red" not in reply.text.casefold():
        return False, "a red picture is taken, and its colour is not told: is it seen?"
    return (
        True,
        f"a red picture is called red; --vision auto sends those of documents ({reply.usage.prompt_tokens} tokens)",
    )
