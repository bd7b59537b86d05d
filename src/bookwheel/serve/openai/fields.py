"""The fields of a chat completion beside its messages: those a reading follows, accepts, names or refuses. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bookwheel.serve.engine.errors import ApiError

if TYPE_CHECKING:
    from bookwheel.serve.openai.schemas import ChatShape

# They change nothing about the text of an answer.
_ACCEPTED: Final = frozenset(
    {
        "metadata",
        "parallel_tool_calls",
        "prompt_cache_key",
        "prompt_cache_retention",
        "response_format",
        "safety_identifier",
        "service_tier",
        "store",
        "tool_choice",
        "tools",
        "user",
    }
)
# Values that ask for nothing.
_NEUTRAL: Final[tuple[Any, ...]] = (None, False, 0, 0.0, "", [], {})


def check_supported(chat: ChatShape, *, has_tools: bool = True) -> None:
    """Raise ApiError for settings whose answer a client could not use without them.

    `has_tools`: tools and formats are possible here; they are in the answer step of a reading.
    """
    more: dict[str, Any] = chat.model_extra or {}
    unsupported = {
        "n": (chat.n or 1) != 1,
        "functions": bool(more.get("functions")),
        "logprobs": bool(more.get("logprobs")),
        "audio": bool(more.get("audio")),
        "modalities": more.get("modalities") not in (None, [], ["text"]),
        "tools": bool(more.get("tools")) and not has_tools,
        "response_format": more.get("response_format") not in (None, {"type": "text"}) and not has_tools,
    }
    for name, is_set in unsupported.items():
        if is_set:
            advice = "give the functions as tools" if name == "functions" else "leave it out"
            raise ApiError(
                400,
                f"a reading does not support {name}: {advice}, or send less than the model's window",
                kind="unsupported_parameter",
                param=name,
            )


def name_unused(chat: ChatShape) -> tuple[str, ...]:
    """Return the fields of the request that a reading does not use."""
    more: dict[str, Any] = chat.model_extra or {}
    return tuple(sorted(name for name, value in more.items() if name not in _ACCEPTED and value not in _NEUTRAL))
