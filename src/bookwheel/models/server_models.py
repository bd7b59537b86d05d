"""Ask a server which models it has, how long their windows are and which software it runs.

This happens once, before a reading starts, so a wrong address or a rejected key shows before anything is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import UnknownModel
from bookwheel.models.completion import parse_count
from bookwheel.models.endpoint import Endpoint
from bookwheel.models.server_errors import StatusError, is_html, request_errors, translate_error, wrong_address_error

if TYPE_CHECKING:
    from bookwheel.models.client import Client

_WINDOWS: Final = ("max_model_len", "context_length", "context_window", "max_context_length", "n_ctx")
_MOST_NAMES: Final = 20
_LONGEST_NAME: Final = 500
_REFUSALS: Final = frozenset({401, 403})
# Some gateways list no models, and some keys may not list them. Both can still chat.
_NO_LIST: Final = frozenset({403, 404, 405, 501})


# Of silence.
_SECONDS_TO_LIST: Final = 60.0


class ServerSoftware(StrEnum):
    """Server software with routes beyond OpenAI's API; the value is what it sends as `owned_by`."""

    VLLM = "vllm"
    LLAMA_CPP = "llamacpp"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedModel:
    """One model on a server."""

    name: str
    window: int | None = None
    """Tokens of prompt and reply together, where the server says."""
    owner: str = ""
    """The `owned_by` field: a company, or the server's software."""
    aliases: tuple[str, ...] = ()

    @property
    def software(self) -> ServerSoftware:
        return ServerSoftware(self.owner) if self.owner in tuple(ServerSoftware) else ServerSoftware.OTHER


async def list_served_models(endpoint: Endpoint) -> tuple[ServedModel, ...]:
    """Return the server's models, or an empty tuple if it chats but lists none. Raise a ModelError otherwise."""
    # Nobody has been told anything yet, and a list is no work.
    endpoint = replace(endpoint, timeout=min(endpoint.timeout, _SECONDS_TO_LIST))
    async with endpoint.open_client() as client:
        try:
            body = await client.get("/models")
            if isinstance(body, str):
                raise wrong_address_error(
                    endpoint, "it answers with a web page" if is_html(body) else "its answer is not JSON"
                )
        except StatusError as error:
            if error.status_code not in _NO_LIST:
                raise translate_error(error, endpoint) from error
            body = None
        except request_errors() as error:
            raise translate_error(error, endpoint) from error
        entries = body.get("data") if isinstance(body, Mapping) else None
        if not isinstance(entries, list):
            await _check_chat_route(client, endpoint)
            return ()
        return tuple(
            _parse_model(entry) for entry in entries if isinstance(entry, Mapping) and _is_name(entry.get("id"))
        )


async def _check_chat_route(client: Client, endpoint: Endpoint) -> None:
    """Raise a ModelError if the server has no chat route."""
    try:
        # Every server rejects an empty request; only a missing route gives 404.
        await client.post("/chat/completions", {})
    except StatusError as error:
        fault = translate_error(error, endpoint)
        if error.status_code in _NO_LIST | _REFUSALS or is_html(error.response.text):
            raise fault from error
    except request_errors() as error:
        raise translate_error(error, endpoint) from error


def find_model(served: Sequence[ServedModel], name: str, endpoint: Endpoint) -> ServedModel:
    """Return the listed model of this name, or one with nothing but the name.

    A missing entry proves nothing: gateways accept names that they do not list, and llama.cpp accepts any. Only vLLM
    accepts no other than those it lists.
    """
    for model in served:
        if name == model.name or name in model.aliases:
            return replace(model, name=name)
    software = {model.software for model in served}
    if software == {ServerSoftware.VLLM}:
        raise UnknownModel(
            f"{endpoint.display_url} has no model {name!r}; it has {_join_names(served)}. Choose one with --model."
        )
    if software == {ServerSoftware.LLAMA_CPP} and len(served) == 1:
        return replace(served[0], name=name)
    return ServedModel(name=name)


async def find_only_model(endpoint: Endpoint) -> str:
    """Return the name of the server's only model. Raise UnknownModel if it has none or several."""
    served = await list_served_models(endpoint)
    if len(served) == 1:
        return served[0].name
    if not served:
        raise UnknownModel(f"{endpoint.display_url} does not say which models it has: name one with --model.")
    raise UnknownModel(
        f"{endpoint.display_url} has {len(served)} models: {_join_names(served)}. Choose one with --model."
    )


def _join_names(served: Sequence[ServedModel]) -> str:
    names = ", ".join(model.name for model in served[:_MOST_NAMES])
    return f"{names}, …" if len(served) > _MOST_NAMES else names


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_NAME


def _parse_model(entry: Mapping[str, Any]) -> ServedModel:
    meta = entry.get("meta")
    fields = {**meta, **entry} if isinstance(meta, Mapping) else entry
    windows = [fields[name] for name in _WINDOWS if parse_count(fields.get(name))]
    aliases = entry.get("aliases")
    return ServedModel(
        name=entry["id"],
        window=windows[0] if windows else None,
        owner=str(entry.get("owned_by") or ""),
        aliases=tuple(filter(_is_name, aliases)) if isinstance(aliases, list) else (),
    )
