"""Exact token ids and log-probabilities of replies, from servers that send them.

Recorded log-probabilities are of the sampling distribution. llama.cpp sends those for any sampling. vLLM sends those of
the unmodified model, which are the same only at temperature 1 and top_p 1; at other settings we record nothing.
Recording switches off sampling limits that the plan does not have (top_k, min_p).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bookwheel.models.sdk_errors import request_errors
from bookwheel.models.server_models import ServerSoftware
from bookwheel.types import TokenRecord

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from openai import AsyncOpenAI

    from bookwheel.models.completion import Completion
    from bookwheel.models.endpoint import Endpoint
    from bookwheel.plan import Sampling

_UNLIMITED_SAMPLING: Final[Mapping[str, Any]] = {"logprobs": True, "top_k": -1, "min_p": 0}
_RECORDING: Final[Mapping[ServerSoftware, Mapping[str, Any]]] = {
    ServerSoftware.VLLM: {**_UNLIMITED_SAMPLING, "return_token_ids": True, "repetition_penalty": 1.0},
    ServerSoftware.LLAMA_CPP: {**_UNLIMITED_SAMPLING, "top_logprobs": 1, "post_sampling_probs": True},
    ServerSoftware.OTHER: {},
}


class TokenRecorder:
    """Requests the exact tokens of a reply, and records them where the server's counts agree."""

    def __init__(
        self, client: AsyncOpenAI, endpoint: Endpoint, find_software: Callable[[], Awaitable[ServerSoftware]]
    ) -> None:
        self._client = client
        self._endpoint = endpoint
        self._find_software = find_software

    async def request_settings(self, sampling: Sampling) -> Mapping[str, Any]:
        """Return the settings that request exact tokens, or none if they would not match the sampling."""
        software = await self._find_software()
        is_unmodified = sampling.temperature == 1 and sampling.top_p == 1 and sampling.repeat_penalty in {None, 1}
        return _RECORDING[software] if is_unmodified or software is ServerSoftware.LLAMA_CPP else {}

    async def build_record(self, messages: list[dict[str, str]], completion: Completion) -> TokenRecord | None:
        """Return the exact tokens if the server sent all of them and its counts agree."""
        prompt = completion.prompt_ids
        if prompt is None and await self._find_software() is ServerSoftware.LLAMA_CPP:
            prompt = await self._fetch_prompt_ids(messages)
        if prompt is None or completion.reply_ids is None or completion.logprobs is None:
            return None
        counts = (completion.prompt_tokens, completion.completion_tokens, len(completion.logprobs))
        if counts != (len(prompt), len(completion.reply_ids), len(completion.reply_ids)):
            return None
        return TokenRecord(prompt=prompt, reply=completion.reply_ids, logprobs=completion.logprobs)

    async def _fetch_prompt_ids(self, messages: list[dict[str, str]]) -> tuple[int, ...] | None:
        """Return the prompt's ids from llama.cpp's template and tokenizer: its chat route does not send them."""
        root = self._endpoint.root
        try:
            rendered: Any = await self._client.post(
                f"{root}/apply-template", cast_to=object, body={"messages": messages}
            )
            body = {"content": rendered["prompt"], "add_special": True, "parse_special": True}
            reply: Any = await self._client.post(f"{root}/tokenize", cast_to=object, body=body)
            return tuple(reply["tokens"])
        except request_errors():
            return None
        except (KeyError, TypeError):
            return None
