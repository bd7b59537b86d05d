"""The routes of the server itself: its models, signing in, its state."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Literal

from starlette.responses import Response
from typing_extensions import TypedDict  # pydantic cannot read that of typing before Python 3.12

from bookwheel.errors import ModelError
from bookwheel.models.base import find_abilities
from bookwheel.models.companions import find_companions
from bookwheel.models.embeddings import check_embeddings
from bookwheel.reading.choice import find_default_way
from bookwheel.reading.ways.registry import sort_ways
from bookwheel.record import PlanJson
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.http.answers import JsonResponse
from bookwheel.serve.http.guard import COOKIE
from bookwheel.serve.http.operations import operation
from bookwheel.serve.http.requests import SessionShape, parse_body

if TYPE_CHECKING:
    from starlette.requests import Request

    from bookwheel.models.base import Ability
    from bookwheel.serve.engine.access import Key, KeyRing
    from bookwheel.serve.engine.service import Service

_SESSION_SECONDS: Final = 30 * 24 * 3600


class ModelJson(TypedDict):
    """A model that reads here, with the plan it reads by."""

    name: str
    window: int | None
    plan: PlanJson
    abilities: list[str] | None
    """What it can do besides replying; null where its server does not say."""
    ways: list[str]
    """The ways of reading that it can read by as it is."""
    way: str
    """The one that is taken where a request names none."""


class HealthJson(TypedDict):
    """The state of the server."""

    status: Literal["ok"]
    readings: int
    """Under way."""


class ServerRoutes:
    """One method for each operation."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._embeds: dict[str, bool | None] = {}

    @operation("GET", "/models", "List the models that read here", list[ModelJson])
    async def list_models(self, _request: Request) -> Response:
        """List the models, each with the plan that it reads by."""
        return JsonResponse([await self._describe_model(name) for name in self._service.models])

    async def _describe_model(self, name: str) -> ModelJson:
        model, plan = self._service.models[name], self._service.plans[name]
        abilities: frozenset[Ability] | None
        try:
            abilities = await find_abilities(model)
        except ModelError:  # its server is away, which a reading would wait for
            abilities = None
        # A server is asked whether it embeds until it has answered once.
        if self._embeds.get(name) is None:
            self._embeds[name] = await check_embeddings(model)
        ways = await asyncio.to_thread(
            sort_ways,
            abilities or frozenset(),
            plan.gate,
            embeds=self._embeds[name],
            has_judge=find_companions(model).has_judge(),
        )
        return {
            "name": name,
            "window": model.window,
            "plan": plan.to_json(),
            "abilities": None if abilities is None else sorted(abilities),
            "ways": list(ways.open),
            "way": find_default_way(model),
        }

    @operation("POST", "/session", "Sign a browser in", status=204, body=SessionShape)
    async def create_session(self, request: Request) -> Response:
        """Sign a browser in: a cookie stands for the key from now on."""
        body = await parse_body(SessionShape, request)
        key = self._service.keys.find_by_secret(body.key)
        if key is None:
            raise ApiError(401, "that is not a key of this server", kind="invalid_api_key")
        response = Response(status_code=204)
        start_session(response, self._service.keys, key, request)
        return response

    @operation("GET", "/healthz", "The state of the server", HealthJson)
    async def check_health(self, _request: Request) -> Response:
        """Answer that the server is up, and how many readings are under way."""
        health: HealthJson = {"status": "ok", "readings": len(self._service.readings)}
        return JsonResponse(health)

    @operation("GET", "/metrics", "Metrics for Prometheus", str, kind="text/plain")
    async def render_metrics(self, _request: Request) -> Response:
        """Return the metrics for Prometheus."""
        return Response(self._service.metrics.render(), media_type="text/plain; version=0.0.4; charset=utf-8")


def start_session(response: Response, keys: KeyRing, key: Key, request: Request) -> None:
    """Set the cookie that stands for the key from now on."""
    response.set_cookie(
        COOKIE,
        keys.create_session(key),
        max_age=_SESSION_SECONDS,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
