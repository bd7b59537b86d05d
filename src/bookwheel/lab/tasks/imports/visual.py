"""Files whose records ask about pictures or PDFs that lie beside them.

DocVQA            {data: [{questionId, question, image: "documents/x.png", answers}]}; of several pages `page_ids`
MMLongBench-Doc   [{doc_id: "x.pdf", question, answer, answer_format, evidence_pages}]
SlideVQA          JSON Lines {deck_name, image_urls, qa_id, question, answer}; its Parquet has page_1 … page_20
ChartQA           [{imgname, query, label}], pictures in `png`; its Parquet has the picture and `label` or `answer`

Pictures are found beside the file, in the folders where a benchmark's archive puts them, and in the folder of `--data`;
those in a Parquet file are in it. The document of a sample is opened like a user's: text-only models read the words
that are recognised, models that can see are shown the pictures. One that lacks a picture is left out, and says so.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, Final

from bookwheel.documents.opening import SourceDocument, open_document
from bookwheel.errors import SourceError
from bookwheel.lab.tasks.base import write_gold

FILES: Final = "files"
"""The field of an adapted record that names its files: (name, bytes or None) for each."""
_FOLDERS: Final = ("", "documents", "png", "images", "spdocvqa_images", "data/documents")
_UP: Final = 3
_FORMATS: Final = {"Int": "mmlongbench_int", "Float": "mmlongbench_float", "List": "mmlongbench_list"}
_SLIDES: Final = 20

File = tuple[str, bytes | None]


def _record(values: Mapping[str, Any], files: Sequence[File], **rest: Any) -> Iterator[dict[str, Any]]:
    kept = ("split", "data_split", "doc_type", "evidence_pages", "evidence_sources", "question_types", "type")
    metadata = {name: values[name] for name in (*kept, "reasoning_type", "human_or_machine") if values.get(name)}
    yield {"metadata": metadata, **rest, FILES: tuple(files)}


def _take_picture(value: Any, name: str) -> File:
    """Return a picture as a JSON file names it, or as a Parquet file holds it."""
    if isinstance(value, Mapping) and value.get("bytes"):
        return str(value.get("path") or f"{name}.png"), bytes(value["bytes"])
    if not isinstance(value, str) or not value:
        raise ValueError(f"'{name}' holds no picture")
    return value, None


def adapt_docvqa(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a question of DocVQA, on one page or on several."""
    identity = str(values["questionId"])
    pages = values.get("page_ids")
    files = (
        [(f"{page}.jpg", None) for page in pages]
        if pages and "image" not in values
        else [_take_picture(values["image"], identity)]
    )
    golds = [write_gold(one) for one in values["answers"]]
    yield from _record(
        values, files, id=identity, task="docvqa", question=values["question"], golds=golds, metric="anls"
    )


def adapt_mmlongbench(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    kind = str(values["answer_format"])
    metric = _FORMATS.get(kind, "mmlongbench_none" if kind == "None" else "mmlongbench")
    yield from _record(
        values,
        [(str(values["doc_id"]), None)],
        task="mmlongbench-doc",
        question=values["question"],
        golds=[write_gold(values["answer"])],
        metric=metric,
    )


def adapt_slidevqa(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a question of SlideVQA on its deck."""
    deck = str(values["deck_name"])
    if urls := values.get("image_urls"):
        files: list[File] = [(f"{deck}/{PurePosixPath(str(url)).name}", None) for url in urls]
    else:
        names = (f"page_{number}" for number in range(1, _SLIDES + 1))
        files = [_take_picture(values[name], f"{deck}_{name}") for name in names if values.get(name)]
    yield from _record(
        values,
        files,
        id=str(values["qa_id"]),
        task="slidevqa",
        question=values["question"],
        golds=[write_gold(values["answer"])],
        metric="slidevqa_f1",
    )


def adapt_chartqa(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    label = values["label"] if "label" in values else values["answer"]
    yield from _record(
        values,
        [_take_picture(values["imgname"] if "imgname" in values else values["image"], "image")],
        task="chartqa",
        question=values["query"] if "query" in values else values["question"],
        golds=[write_gold(one) for one in (label if isinstance(label, list) else [label])],
        metric="relaxed",
    )


def open_files(record: Mapping[str, Any], path: Path | None, pool: Path | None) -> dict[str, Any]:
    """Return an adapted record with its document opened. Raise ValueError where a file is missing or says nothing."""
    folders = [
        *(pool,) * bool(pool and pool.is_dir()),
        *([path.parent, *path.resolve().parents[1:_UP]] if path else ()),
    ]
    split = path.name.partition(".")[0] if path else ""
    files = tuple(
        (name if content is not None else str(_find_file(name, split, folders)), content)
        for name, content in record[FILES]
    )
    try:
        document = _open(files)
    except SourceError as error:
        raise ValueError(str(error)) from error
    return {**{name: value for name, value in record.items() if name != FILES}, "document": document}


def _find_file(name: str, split: str, folders: Sequence[Path]) -> Path:
    for folder in folders:
        for inner in (*_FOLDERS, f"images/{split}"):
            for one in (name, PurePosixPath(name).name):
                # A name out of a file leads nowhere but down.
                place = folder / inner / one
                if ".." not in PurePosixPath(one).parts and place.is_file():
                    return place
    raise ValueError(f"{name} is not there: put the benchmark's pictures beside the file, or point --data to them")


@lru_cache(maxsize=2)
def _open(files: tuple[File, ...]) -> SourceDocument:
    """Open files as one document. Questions on the same files follow each other, so it is kept for the next."""
    with TemporaryDirectory() as folder:
        paths = []
        for number, (name, content) in enumerate(files, 1):
            if content is None:
                paths.append(Path(name))
                continue
            paths.append(Path(folder) / f"{number:02}-{PurePosixPath(name).name}")
            paths[-1].write_bytes(content)
        return open_document(paths, is_cached=True)
