"""What requests bring: who sends them, their JSON bodies, the numbers of their queries, uploaded documents."""

import asyncio
import hashlib
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar
from urllib.parse import unquote

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    TypeAdapter,
    ValidationError,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema
from starlette.datastructures import UploadFile
from starlette.requests import Request

from bookwheel.errors import InputError, SourceError
from bookwheel.journal import StoredDocument
from bookwheel.plan import Budget, Plan
from bookwheel.serve.engine.documents import DocumentStore, safe_name
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.engine.running_reading import Caller

_LONGEST_QUESTION: Final = 200_000
Question = Annotated[str, Field(min_length=1, max_length=_LONGEST_QUESTION)]
TokenLimit = Annotated[int, Field(ge=1, le=10_000_000)]
_MOST_QUESTIONS: Final = 100
_LONGEST_URL: Final = 4000
_LONGEST_NAME: Final = 1000
_LONGEST_KEY: Final = 1000
_LONGEST_LABEL: Final = 300
# A body of this size is parsed in less than a millisecond; a longer one in a thread, so that it holds up nobody.
_SHORT_BODY: Final = 1 << 16
_MOST_DIGITS: Final = 15  # larger numbers do not fit into SQLite's integers
_BLOCK: Final = 1 << 20
_MOST_FIELDS: Final = 8
# Files that are read as one document.
_MOST_FILES: Final = 200


def _drop_nulls(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _drop_nulls(value) if isinstance(value, dict) else value
        for name, value in values.items()
        if value is not None
    }


class _PartOf:
    """Marks plain values that replace some fields of a dataclass; null is the same as leaving a field out.

    The OpenAPI document shows the dataclass. The values themselves are checked by `Plan.with_values` later, on top of
    the model's own plan, because some bounds depend on it.
    """

    def __init__(self, type_: type) -> None:
        self._type = type_

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        values = core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema())
        return core_schema.no_info_after_validator_function(_drop_nulls, values)

    def __get_pydantic_json_schema__(
        self, _schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler.resolve_ref_schema(handler(TypeAdapter(self._type).core_schema))


PlanValues = Annotated[dict[str, Any], _PartOf(Plan)]
BudgetValues = Annotated[dict[str, Any], _PartOf(Budget)]


class Body(BaseModel):
    """A body whose keys are all known."""

    model_config = ConfigDict(extra="forbid")


class SourceShape(Body):
    """A document to read, one of document, text and url, and how."""

    document: str | None = None
    """The SHA-256 of a document that was uploaded before."""
    text: str | None = None
    url: Annotated[str, Field(max_length=_LONGEST_URL)] | None = None
    name: Annotated[str, Field(max_length=_LONGEST_NAME)] | None = None
    """A name for the text."""
    model: str | None = None
    plan: PlanValues = {}


class ReadingShape(SourceShape):
    """A reading to start: one of question and questions, and one of document, text, url and reading."""

    question: Question | None = None
    questions: Annotated[list[Question], Field(min_length=1, max_length=_MOST_QUESTIONS)] | None = None
    """Several questions about one document: a reading for each, in lockstep."""
    way: str = ""
    """The way of reading; by default, the one that suits the model, or that of the earlier reading."""
    reading: str | None = None
    """An earlier reading, whose document is asked again: by its plan, and from its memory first if that can answer."""
    from_memory: bool = True
    """False: the document of the earlier reading is read again at once."""


class BudgetOnly(Body):
    """The only part of a plan that may change when a reading continues, or is judged."""

    budget: BudgetValues = {}


class ResumeShape(Body):
    """The new budget of a reading that continues."""

    plan: BudgetOnly = BudgetOnly()


class JudgeShape(Body):
    """Who judges an answer, and the budget of that."""

    model: str | None = None
    """By default the one that read, if it can judge; else the first one that can."""
    plan: BudgetOnly = BudgetOnly()


class ForkShape(Body):
    """A memory changed by hand."""

    step: Annotated[int, Field(ge=0)]
    memory: str


class LabelShape(Body):
    """A name or a star, or both; what is left out stays."""

    name: Annotated[str, Field(max_length=_LONGEST_LABEL)] | None = None
    """Empty: its own again."""
    starred: bool | None = None


class SessionShape(Body):
    """A key to sign in with."""

    key: Annotated[str, Field(min_length=1, max_length=_LONGEST_KEY)]


_Shape = TypeVar("_Shape", bound=BaseModel)


async def parse_body(shape: type[_Shape], request: Request) -> _Shape:
    """Parse a request's JSON body. Raise an ApiError that names the first wrong key."""
    body = await request.body()
    # Only JSON is taken: a form on a foreign page cannot send this type without the browser asking this server first.
    content_type = request.headers.get("content-type", "application/json" if not body else "")
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise ApiError(415, "send JSON, with Content-Type: application/json", kind="unsupported_media_type")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise ApiError(415, "send the body as it is, without Content-Encoding", kind="unsupported_media_type")
    if len(body) <= _SHORT_BODY:
        return _validate(shape, body)
    return await asyncio.to_thread(_validate, shape, body)


def _validate(shape: type[_Shape], body: bytes) -> _Shape:
    return _name_first_error(lambda: shape.model_validate_json(body or b"{}"))


def build_shape(shape: type[_Shape], values: Mapping[str, Any]) -> _Shape:
    """Return the body of another operation, made of a request's values. Raise an ApiError that names a wrong key."""
    return _name_first_error(lambda: shape.model_validate(values))


def _name_first_error(parse: Callable[[], _Shape]) -> _Shape:
    try:
        return parse()
    except ValidationError as error:
        # The value is left out of the message: it may be a secret or a whole document.
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the body"
        raise ApiError(400, f"{place}: {first['msg']}", param=place) from None
    except RecursionError:
        raise ApiError(400, "the JSON is nested too deeply") from None


async def identify_caller(request: Request) -> Caller:
    """Return the caller of a request that passed the guard."""
    return Caller(
        key=request.state.key,
        idempotency_key=request.headers.get("Idempotency-Key"),
        fingerprint=hashlib.sha256(await request.body()).hexdigest(),
    )


def parse_number(request: Request, name: str, default: int) -> int:
    value = request.query_params.get(name, "")
    number = read_digits(value) if value else default
    if number is None:
        raise ApiError(400, f"{name} must be a whole number from 0 on", param=name)
    return number


def read_digits(text: str, most: int = _MOST_DIGITS) -> int | None:
    """Return the whole number of a client's text; None where it is none, or has more digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= most else None


def parse_flag(request: Request, name: str) -> bool:
    """Return whether a request's query has this name with a value other than 0."""
    return request.query_params.get(name, "0") not in {"0", ""}


def parse_format(request: Request, kinds: Mapping[str, str]) -> str:
    """Return the format that a request's query asks for: JSON by default, or one of these."""
    kind = request.query_params.get("format", "json")
    if kind not in {"json", *kinds}:
        raise InputError(f"format is json, {', '.join(kinds)}, not {kind!r}")
    return kind


async def store_upload(request: Request, documents: DocumentStore) -> tuple[StoredDocument, int]:
    """Store the uploaded document, of several files one; return it and its size in bytes."""
    client = Caller(key=request.state.key).key_name
    try:
        # A folder of its own, which only this user may enter; mkdtemp makes it so.
        made = tempfile.TemporaryDirectory(prefix="bookwheel-")
    except OSError as error:
        raise _disk_error(error) from error
    with made as folder:
        async with documents.receive_upload(client):
            paths, size = await _receive(request, Path(folder))
        is_named = any(path.name != safe_name("") for path in paths)
        return await documents.store_paths(paths, client, renames=is_named), size


async def _receive(request: Request, folder: Path) -> tuple[list[Path], int]:
    """Write the uploaded files to the folder, in their order; return their paths and their size."""
    paths, total = list[Path](), 0
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        path, total = await _write(request.stream(), folder / safe_name(unquote(request.headers.get("x-filename", ""))))
        return [path], total
    async with request.form(max_files=_MOST_FILES, max_fields=_MOST_FIELDS) as form:
        for file in form.getlist("file"):
            if isinstance(file, UploadFile):
                name = safe_name(file.filename or "")
                # Of two files of one name, the second is in a folder of its own.
                home = folder / str(len(paths)) if (folder / name).exists() else folder
                home.mkdir(exist_ok=True)
                path, size = await _write(_iterate_blocks(file), home / name)
                paths, total = [*paths, path], total + size
    if not paths:
        raise ApiError(400, "the form needs a field 'file' with the document", param="file")
    return paths, total


async def _iterate_blocks(file: UploadFile) -> AsyncIterator[bytes]:
    while block := await file.read(_BLOCK):
        yield block


async def _write(blocks: AsyncIterator[bytes], path: Path) -> tuple[Path, int]:
    # The converters read files, and tell a document's format by its name as well.
    size = 0
    try:
        with path.open("wb") as out:
            async for block in blocks:
                size += len(block)
                await asyncio.to_thread(out.write, block)
    except OSError as error:
        raise _disk_error(error) from error
    if not size:
        raise SourceError(f"{path.name} is empty: give a document with text in it")
    return path, size


def _disk_error(error: OSError) -> ApiError:
    return ApiError(
        507, f"the server cannot store the upload ({error.strerror or error}); try again later", kind="disk_full"
    )
