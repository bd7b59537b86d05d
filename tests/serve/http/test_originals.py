"""Documents as they look, over HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[2] / "fixtures" / "pictures"

DOCX_LIKE = b"# Ledger\n\nAda paid.\n\n## June\n\nBo paid.\n"


@pytest.fixture
def log(tmp_path) -> bytes:
    canvas = pytest.importorskip("reportlab.pdfgen.canvas").Canvas(str(tmp_path / "log.pdf"))
    canvas.drawString(72, 720, "Eleven barrels of lamp oil came with the ferry.")
    canvas.showPage()
    canvas.drawString(72, 720, "The lamp burned all winter.")
    canvas.save()
    return (tmp_path / "log.pdf").read_bytes()


@pytest.fixture
def client(up):
    with up.client() as client:
        yield client


def upload(client, content: bytes, name: str) -> str:
    answer = client.post("/documents", content=content, headers={"X-Filename": name})
    return answer.json()["document"]


def test_a_pdf_is_shown_page_by_page_with_its_passages(client, log) -> None:
    sha = upload(client, log, "log.pdf")
    outline = client.get(f"/documents/{sha}/outline").json()
    assert [one["page"] for one in outline["places"]] == [1, 2]
    (original,) = outline["originals"]
    assert (original["source"], len(original["pages"])) == ("log.pdf", 2)
    picture = client.get(f"/documents/{sha}/pages/2?width=120")
    assert picture.content.startswith(b"\x89PNG")
    assert picture.headers["content-type"] == "image/png"
    start = outline["places"][1]["start"]
    (found,) = client.get(f"/documents/{sha}/places?start={start + 4}&end={start + 15}").json()
    assert (found["page"], len(found["boxes"])) == (2, 1)
    both = client.get(f"/documents/{sha}/places?start=0&end={start + 15}").json()
    assert [one["page"] for one in both] == [1, 2]
    file = client.get(f"/documents/{sha}/original")
    assert file.content == log
    assert file.headers["content-disposition"].startswith("attachment")


def test_a_text_has_its_headings_and_no_pages(client) -> None:
    sha = upload(client, DOCX_LIKE, "ledger.md")
    outline = client.get(f"/documents/{sha}/outline").json()
    assert [(one["level"], one["title"]) for one in outline["headings"]] == [(1, "Ledger"), (2, "June")]
    assert DOCX_LIKE.decode()[outline["headings"][1]["start"] :].startswith("## June")
    assert outline["originals"] == []
    assert client.get(f"/documents/{sha}/original").status_code == 404
    assert client.get(f"/documents/{sha}/pages/1").status_code == 404
    assert client.get(f"/documents/{sha}/places?start=0&end=9").json() == []


def test_of_a_deleted_document_no_page_is_left(client, log) -> None:
    sha = upload(client, log, "log.pdf")
    assert client.get(f"/documents/{sha}/pages/1").status_code == 200
    assert client.delete(f"/documents/{sha}").status_code == 204
    assert client.get(f"/documents/{sha}/pages/1").status_code == 404
    # Its row may have the same number as the next one's.
    other = upload(client, log.replace(b"/Count 2", b"/Count 2 "), "other.pdf")
    assert client.get(f"/documents/{other}/pages/9").status_code == 404


@pytest.mark.parametrize("path", ["pages/0", "pages/3", "pages/1?source=other.pdf", "original?source=../log.pdf"])
def test_what_is_not_there_is_not_found(client, log, path) -> None:
    assert client.get(f"/documents/{upload(client, log, 'log.pdf')}/{path}").status_code == 404


@pytest.mark.parametrize("path", ["pages/one", "pages/-1", "places?start=5&end=2", "places?start=0&end=99999"])
def test_what_makes_no_sense_is_declined(client, log, path) -> None:
    assert client.get(f"/documents/{upload(client, log, 'log.pdf')}/{path}").status_code == 400


def test_a_file_that_only_begins_as_a_pdf_is_kept_and_shows_nothing_wrong(client) -> None:
    answer = client.post("/documents", content=b"%PDF-1.4 broken", headers={"X-Filename": "x.pdf"})
    assert answer.status_code < 500


@pytest.mark.slow
def test_words_in_a_picture_are_marked_on_its_page(client, tmp_path) -> None:
    drawing = pytest.importorskip("PIL.Image")
    from PIL import ImageDraw, ImageFont

    picture = drawing.new("RGB", (600, 200), "white")
    ImageDraw.Draw(picture).text((40, 80), "Eleven barrels of lamp oil", font=ImageFont.load_default(28), fill="black")
    picture.save(tmp_path / "scan.png")
    sha = upload(client, (tmp_path / "scan.png").read_bytes(), "scan.png")
    text = client.get(f"/documents/{sha}/text?start=0&end=99").json()["text"]
    start = text.index("barrels")
    (original,) = client.get(f"/documents/{sha}/outline").json()["originals"]
    assert original["pages"] == [[600.0, 200.0]]
    (found,) = client.get(f"/documents/{sha}/places?start={start}&end={start + 7}").json()
    ((left, top, right, bottom),) = found["boxes"]
    assert 0.15 < left < right < 0.45
    assert 0.35 < top < 0.5 < bottom < 0.6
    assert client.get(f"/documents/{sha}/pages/1").content.startswith(b"\x89PNG")


def test_a_picture_is_loaded_by_its_mark_and_nothing_else_is(up, client) -> None:
    drawn = pytest.importorskip("drawn")
    picture = drawn.make_picture(1, "red")
    sha = up.journal.keep(drawn.Log(picture)).id
    for label in (picture.label, f"{picture.label}, box 0 0.5 1 1"):
        shown = client.get(f"/documents/{sha}/pictures", params={"label": label})
        assert (shown.content, shown.headers["content-type"]) == (picture.content, "image/png")
    long = f"{picture.label}, box 0 0 1 0.{'9' * 300}"
    for label in ("page 9, figure 9", "", "../log.pdf", long):
        assert client.get(f"/documents/{sha}/pictures", params={"label": label}).status_code == 404


@pytest.mark.slow  # the real recogniser
def test_a_photo_of_a_phone_is_drawn_as_its_page(client) -> None:
    pytest.importorskip("rapidocr")
    pytest.importorskip("pi_heif")
    sha = upload(client, (FIXTURES / "dues.heic").read_bytes(), "dues.heic")
    assert client.get(f"/documents/{sha}/pages/1?width=120").content.startswith(b"\x89PNG")


def test_an_upload_without_a_name_keeps_the_one_that_its_text_has(client) -> None:
    sha = upload(client, DOCX_LIKE, "ledger.md")
    again = client.post("/documents", content=DOCX_LIKE).json()
    assert (again["document"], again["name"]) == (sha, "ledger.md")
    assert client.post("/documents", content=DOCX_LIKE, headers={"X-Filename": "june.md"}).json()["name"] == "june.md"
