"""The OpenAPI document, generated from the operations, the bodies that they parse and the types of their answers."""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import version
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from bookwheel.plan import Budget, GatePlan, Plan, Sampling
from bookwheel.plugins import list_plugins, load_plugin
from bookwheel.serve.http.answers import ErrorJson
from bookwheel.serve.http.documents import DocumentRoutes
from bookwheel.serve.http.operations import JSON, list_operations
from bookwheel.serve.http.readings import ReadingRoutes
from bookwheel.serve.http.server import ServerRoutes
from bookwheel.serve.openai.chat import OpenAIRoutes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import core_schema

    from bookwheel.serve.http.operations import Operation

EXTENSIONS: Final = "bookwheel.routes"
"""The entry points of classes with operations that other packages add; each is made with the `Service`."""
_GROUPS: Final = (DocumentRoutes, ReadingRoutes, ServerRoutes, OpenAIRoutes)
_OPENAI_ERROR: Final = "bookwheel.serve.openai.answers:OpenAIErrorJson"
_PARTS_OF_PLANS: Final = (Plan, Sampling, Budget, GatePlan)
_TEXT: Final = {"type": "string"}
_FILE: Final = {"type": "string", "format": "binary"}
_UPLOADS: Final = {
    "application/octet-stream": {"schema": _FILE},
    "multipart/form-data": {"schema": {"type": "object", "required": ["file"], "properties": {"file": _FILE}}},
}
_PATH_PARAMETERS: Final = {
    "id": "Its id.",
    "sha": "The SHA-256 of a document's text.",
    "number": "A step, or the number of steps for the answer.",
    "name": "A model.",
    "run": "A run.",
}


def load_extensions() -> list[Any]:
    """Return the classes of operations that installed packages add, in the order of their names."""
    return [load_plugin(EXTENSIONS, name) for name in list_plugins(EXTENSIONS)]


@cache
def build_openapi() -> dict[str, Any]:
    """Build the OpenAPI document."""
    groups = (*_GROUPS, *load_extensions())
    operations = [one for group in groups for one in list_operations(group).values()]
    types = [type_ for one in operations for type_ in _list_types(one)]
    adapters: Any = [(type_, "validation", TypeAdapter(type_)) for type_ in types]
    generated, definitions = TypeAdapter.json_schemas(
        adapters, ref_template="#/components/schemas/{model}", schema_generator=_AnswerSchemas
    )
    schemas = {type_: schema for (type_, _), schema in generated.items()}
    paths: dict[str, Any] = {}
    for one in operations:
        path = re.sub(r":\w+}", "}", one.path)
        paths.setdefault(path, {})[one.method.lower()] = _describe(one, path, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "bookwheel", "version": version("bookwheel")},
        "paths": paths,
        "components": {
            "schemas": definitions["$defs"],
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"key": []}],
    }


class _AnswerSchemas(GenerateJsonSchema):
    """Dataclasses of answers have all of their fields; of a plan, a request gives some.

    A client generated from the document must not send our defaults: what it leaves out is as in the model's own plan.
    """

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """Return the schema without defaults."""
        found = super().dataclass_schema(schema)
        for field in found["properties"].values():
            field.pop("default", None)
        if schema["cls"] not in _PARTS_OF_PLANS:
            found["required"] = list(found["properties"])
        return found


def _list_types(one: Operation) -> Iterator[Any]:
    yield _find_error(one)
    if one.body:
        yield one.body
    if one.answer:
        yield _resolve(one.answer)


def _find_error(one: Operation) -> Any:
    return _resolve(_OPENAI_ERROR) if one.path.startswith("/v1") else ErrorJson


def _resolve(type_: Any) -> Any:
    return resolve_name(type_) if isinstance(type_, str) else type_


def _describe(one: Operation, path: str, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": one.summary}
    if one.answer:
        answer["content"] = {one.kind: {"schema": schemas[_resolve(one.answer)]}}
    error = {"description": "Declined, with the reason", "content": {JSON: {"schema": schemas[_find_error(one)]}}}
    names = re.findall(r"{(\w+)}", path)
    described: dict[str, Any] = {
        "summary": one.summary,
        "parameters": [
            *(_parameter(name, "path", _TEXT, _PATH_PARAMETERS.get(name, ""), required=True) for name in names),
            *(_parameter(name, "query", _query_schema(type_)) for name, type_ in one.query.items()),
            *(_parameter(name, "header", _TEXT, about) for name, about in one.headers.items()),
        ],
        "responses": {**{str(code): answer for code in (one.status, one.also) if code}, "default": error},
    }
    if one.body:
        described["requestBody"] = {"required": one.needs_body, "content": {JSON: {"schema": schemas[one.body]}}}
    elif one.uploads:
        described["requestBody"] = {"required": True, "content": {kind: _UPLOADS[kind] for kind in one.uploads}}
    return described


def _parameter(name: str, place: str, schema: dict[str, Any], about: str = "", **more: Any) -> dict[str, Any]:
    return {"name": name, "in": place, "schema": schema, **({"description": about} if about else {}), **more}


def _query_schema(type_: Any) -> dict[str, Any]:
    if get_origin(type_) is Literal:
        return {**_TEXT, "enum": list(get_args(type_))}
    return _TEXT if type_ is str else {"type": "integer", "minimum": 0}
