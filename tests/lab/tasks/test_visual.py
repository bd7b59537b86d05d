"""Files that ask about pictures or PDFs beside them: records of our own in the shapes of four benchmarks."""

import io
import json
from collections import Counter

import pytest
from PIL import Image, ImageDraw
from reportlab.pdfgen.canvas import Canvas

from bookwheel.errors import InputError
from bookwheel.lab.tasks import read_samples

DOCVQA = {
    "questionId": 7,
    "question": "Who signed?",
    "image": "documents/ffbb_1.png",
    "answers": ["Ada Quill", "Quill"],
}
MMLONG = {
    "doc_id": "log.pdf",
    "doc_type": "Guidebook",
    "question": "How many ships?",
    "answer": "12",
    "evidence_pages": "[1]",
    "evidence_sources": "['Chart']",
    "answer_format": "Int",
}
SLIDES = {
    "deck_name": "tides_95",
    "image_urls": ["https://a.example/95/tides-1-1024.jpg", "https://a.example/95/tides-2-1024.jpg"],
    "qa_id": 3,
    "question": "Say how many piers there are.",
    "answer": "two piers",
    "evidence_pages": [2],
}
CHART = {"imgname": "41699.png", "query": "Which bar is the highest?", "label": "Rope"}


def draw(path, number=1, form="PNG"):
    picture = Image.new("RGB", (300, 200), "navy")
    ImageDraw.Draw(picture).ellipse((20, 20, 90 + 60 * number, 150), fill="gold")
    content = io.BytesIO()
    picture.save(content, form)
    if path is None:
        return content.getvalue()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.getvalue())
    return content.getvalue()


def read(path, records, pool=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "\n".join(map(json.dumps, records)) if path.suffix == ".jsonl" else json.dumps(records)
    path.write_text(lines)
    return list(read_samples(path, pool))


def test_a_page_of_docvqa_stands_beside_its_file_and_keeps_its_picture(tmp_path):
    draw(tmp_path / "spdocvqa_images" / "ffbb_1.png")
    (sample,) = read(tmp_path / "val_v1.0_withQT.json", {"dataset_name": "SP-DocVQA", "data": [DOCVQA]})
    assert (sample.id, sample.task, sample.metric) == ("7", "docvqa", "anls")
    assert sample.golds == ("Ada Quill", "Quill")
    (picture,) = sample.document.list_pictures()
    assert picture.mark in sample.text
    assert sample.document.load_picture(picture.sha256).startswith(b"\x89PNG")


def test_questions_of_mmlongbench_share_a_pdf_whose_format_names_the_measure(tmp_path):
    (tmp_path / "documents").mkdir()
    canvas = Canvas(str(tmp_path / "documents" / "log.pdf"))
    canvas.drawString(60, 700, "Twelve ships lay at the pier.")
    canvas.save()
    absent = MMLONG | {"question": "Whose cat?", "answer": "Not answerable", "answer_format": "None"}
    first, second = read(tmp_path / "samples.json", [MMLONG, absent])
    assert (first.metric, second.metric) == ("mmlongbench_int", "mmlongbench_none")
    assert "Twelve ships" in first.text
    assert second.document is first.document
    assert first.metadata["evidence_sources"] == "['Chart']"
    assert second.score("The document does not say.").score == 1


def test_a_deck_of_slides_is_one_document_in_order(tmp_path):
    for number in (1, 2):
        draw(tmp_path / "images" / "dev" / "tides_95" / f"tides-{number}-1024.jpg", number, "JPEG")
    (sample,) = read(tmp_path / "annotations" / "qa" / "dev.jsonl", [SLIDES])
    assert [picture.source for picture in sample.document.list_pictures()] == ["tides-1-1024.jpg", "tides-2-1024.jpg"]
    assert sample.score("2").score == 1


def test_a_chart_is_found_in_the_folder_of_data(tmp_path):
    draw(tmp_path / "charts" / "png" / "41699.png")
    (sample,) = read(tmp_path / "far" / "test_human.json", [CHART], tmp_path / "charts")
    assert (sample.task, sample.golds, sample.metric) == ("chartqa", ("Rope",), "relaxed")


def test_pictures_in_parquet_are_taken_out_of_it(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    picture = {"bytes": draw(None), "path": "0.png"}
    row = {"image": picture, "query": "Which?", "label": ["Rope"], "human_or_machine": 1}
    parquet.write_table(pyarrow.Table.from_pylist([row]), tmp_path / "test.parquet")
    (sample,) = read_samples(tmp_path / "test.parquet")
    assert len(sample.document.list_pictures()) == 1
    assert sample.metadata == {"human_or_machine": 1}


def test_a_sample_without_its_picture_is_left_out_and_counted(tmp_path):
    draw(tmp_path / "png" / "41699.png")
    path = tmp_path / "test.json"
    path.write_text(json.dumps([CHART, CHART | {"imgname": "gone.png"}, CHART | {"imgname": "../../etc/passwd"}]))
    skipped = Counter()
    assert len(list(read_samples(path, skipped=skipped))) == 1
    assert sum(skipped.values()) == 2
    assert any("gone.png is not there" in reason for reason in skipped)
    with pytest.raises(InputError, match="point --data to them"):
        read(tmp_path / "other.json", [CHART | {"imgname": "gone.png"}])
