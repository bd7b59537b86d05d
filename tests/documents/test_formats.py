import bz2
import gzip
import io
import lzma
import tarfile
import zipfile

import pytest
from conversion import convert

from bookwheel.documents import sources
from bookwheel.documents.dispatch import detect_format
from bookwheel.documents.formats import Format, describe_binary
from bookwheel.documents.opening import open_document
from bookwheel.documents.sources import SourceFile, take_fingerprint
from bookwheel.errors import SourceError


def volume(tmp_path, name, data, media=""):
    path = tmp_path / name
    path.write_bytes(data)
    return SourceFile(name=name, path=path, fingerprint=take_fingerprint(path.stat()), suffix=path.suffix, media=media)


@pytest.mark.parametrize(
    ("name", "data", "media", "found"),
    [
        ("a.txt", b"plain", "", Format.TEXT),
        ("a.txt", b"<html><body>about HTML</body></html>", "", Format.TEXT),
        ("a.html", b"no tags at all", "", Format.HTML),
        ("page", b"<!-- x --><!-- y -->\n<!DOCTYPE html><p>Hi", "", Format.HTML),
        ("page", b"\xef\xbb\xbf<html>", "", Format.HTML),
        ("page", b"plain", "text/html", Format.HTML),
        ("a.html", b"<html>", "text/plain", Format.TEXT),
        ("a.py", b"<html>", "", Format.TEXT),
        ("report", b"%PDF-1.4\n\xe2\xe3", "", Format.PDF),
        ("notes.txt", b"the %PDF- mark comes later", "", Format.TEXT),
        ("log", b"\x1f\x8b\x08\0", "", Format.GZIP),
        ("empty", b"", "", Format.TEXT),
        ("a.doc", b"{\\rtf1 text}", "", Format.RTF),
        ("scan", b"\x89PNG\r\n\x1a\n", "", Format.PICTURE),
        ("scan", b"\xff\xd8\xff\xe0", "", Format.PICTURE),
        ("a.csv", b"a,b", "", Format.CSV),
        ("a.tsv", b"a\tb", "", Format.CSV),
        ("a.csv", b"a,b", "text/plain", Format.TEXT),
        ("table", b"a,b", "text/csv", Format.CSV),
        ("a.ipynb", b"{}", "", Format.NOTEBOOK),
        ("a.eml", b"Subject: x\n\ny", "", Format.EMAIL),
        ("mail", b"From: a\nTo: b\nSubject: c\n d\n\ntext", "", Format.EMAIL),
        ("mail.txt", b"From: a\nTo: b\nSubject: c\n\ntext", "", Format.TEXT),
        ("old.xls", b"\xd0\xcf\x11\xe0", "", Format.SHEETS),
    ],
)
def test_a_file_is_told_by_its_bytes_before_its_name(tmp_path, name, data, media, found):
    assert detect_format(volume(tmp_path, name, data, media)) is found


@pytest.mark.parametrize(
    ("data", "looks"),
    [
        (b"\x7fELF\x02\x01\x01" + bytes(50), "a program"),
        (b"SQLite format 3\0" + bytes(50), "an SQLite database"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(50), "an old Office file"),
        (b"name.txt" + bytes(249) + b"ustar\0", "a tar archive"),
        (bytes(range(256)) * 8, "binary data"),
        (bytes(500), "binary data"),
    ],
)
def test_a_binary_file_is_refused_with_what_it_looks_like(tmp_path, data, looks):
    with pytest.raises(SourceError, match=looks):
        detect_format(volume(tmp_path, "thing.txt", data))


@pytest.mark.parametrize(
    "text", ["MZ is how some programs begin", "BZ", "ftyp", "a\0b", "\x1b[31mred\x1b[0m log\n" * 9, "中文\0中文"]
)
def test_a_text_is_not_taken_for_binary(text):
    assert describe_binary(text.encode()) == ""


def test_wide_encodings_full_of_nuls_are_texts():
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"):
        assert describe_binary("A line of the log, and another one.\r\n".encode(encoding) * 5) == ""


@pytest.mark.parametrize(
    ("inside", "found"),
    [
        ({"word/document.xml": "x"}, Format.DOCX),
        ({"xl/workbook.xml": "x"}, Format.SHEETS),
        ({"xl/workbook.bin": "x"}, Format.SHEETS),
        ({"ppt/presentation.xml": "x"}, Format.PPTX),
        ({"META-INF/container.xml": "x"}, Format.EPUB),
        ({"content.xml": "x", "mimetype": "application/vnd.oasis.opendocument.text"}, Format.OPENDOCUMENT),
        ({"content.xml": "x", "mimetype": "application/vnd.oasis.opendocument.spreadsheet"}, Format.SHEETS),
    ],
)
def test_an_office_file_is_told_by_what_it_holds(tmp_path, inside, found):
    with zipfile.ZipFile(tmp_path / "z", "w") as archive:
        for name, content in inside.items():
            archive.writestr(name, content)
    assert detect_format(volume(tmp_path, "z", (tmp_path / "z").read_bytes())) is found


@pytest.mark.slow
def test_an_archive_that_unfolds_without_measure_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "bomb.docx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", bytes(70 << 20))
    with pytest.raises(SourceError, match="zip bomb"):
        detect_format(volume(tmp_path, "b.docx", (tmp_path / "bomb.docx").read_bytes()))


def test_a_damaged_archive_is_told_so(tmp_path):
    with pytest.raises(SourceError, match=r"b\.docx is a damaged archive"):
        detect_format(volume(tmp_path, "b.docx", b"PK\x03\x04 and nothing else"))


def test_hostile_comments_are_looked_through_in_no_time(tmp_path):
    data = b"<!---->" * 9000 + b"<p>"
    assert detect_format(volume(tmp_path, "page", data)) is Format.TEXT


CHINESE = "渡口的老人说，磨坊去年秋天就停了。\r\n" * 30


def test_a_packed_text_is_read_as_what_was_packed(tmp_path):
    path = tmp_path / "log.txt.gz"
    for data in (CHINESE.encode(), CHINESE.encode("gb18030"), CHINESE.encode("utf-16")):
        path.write_bytes(gzip.compress(data))
        assert "".join(part.text for part in open_document([path]).parts()) == CHINESE


def test_a_packed_bomb_stops_at_its_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "_FREE", 1 << 20)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"a" * (30 << 20)))
    with pytest.raises(SourceError, match=r"bomb\.gz unpacks to more than 5 MiB"):
        convert(path)


def test_a_packed_archive_is_refused(tmp_path):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("a.txt"))
    (tmp_path / "a.tar.gz").write_bytes(packed.getvalue())
    with pytest.raises(SourceError, match="a tar archive; unpack it first"):
        open_document([tmp_path / "a.tar.gz"])


@pytest.mark.parametrize("spoil", [lambda data: data[:-9], lambda data: data[:20] + b"\0\0\0" + data[23:]])
def test_a_damaged_packed_file_is_told_so(tmp_path, spoil):
    (tmp_path / "a.gz").write_bytes(spoil(gzip.compress(CHINESE.encode())))
    with pytest.raises(SourceError, match=r"a\.gz is a damaged gzip file"):
        list(open_document([tmp_path / "a.gz"]).parts())


def test_lines_before_a_pdf_do_not_make_it_a_text(tmp_path):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n"
    assert detect_format(volume(tmp_path, "a.pdf", head + b"%PDF-1.3\n1 0 obj\n")) is Format.PDF
    assert detect_format(volume(tmp_path, "a.txt", b"A file begins with\n%PDF-1.3\n")) is Format.TEXT
    assert detect_format(volume(tmp_path, "a.pdf", b"x " * 2000 + b"\n%PDF-1.3\n")) is Format.TEXT


@pytest.mark.parametrize(
    ("data", "said", "text"),
    [
        (b"<!DOCTYPE html><p>Your session has <b>expired</b>.</p>", "a web page", "Your session has expired."),
        (b"Asset\tCost\nVan\t22,150\n", "plain text", "Van\t22,150"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_read_and_said(tmp_path, data, said, text):
    (tmp_path / "report.pdf").write_bytes(data)
    document = open_document([tmp_path / "report.pdf"])
    assert text in "".join(part.text for part in document.parts())
    assert document.notes == (f"not what the name says, but {said}, and read as such: report.pdf",)


@pytest.mark.parametrize(("name", "pack"), [("log.txt.bz2", bz2.compress), ("log.txt.xz", lzma.compress)])
def test_what_other_programs_pack_is_read_as_what_it_is(tmp_path, name, pack):
    (tmp_path / name).write_bytes(pack(CHINESE.encode()))
    assert "".join(part.text for part in open_document([tmp_path / name]).parts()) == CHINESE
    (tmp_path / name).write_bytes(pack(CHINESE.encode())[:-9])
    with pytest.raises(SourceError, match=r"is a damaged (?:xz|bzip2) file"):
        open_document([tmp_path / name])
    (tmp_path / name).write_bytes(pack(bytes(70 << 20)))
    with pytest.raises(SourceError, match="unpacks to more than 64 MiB"):
        open_document([tmp_path / name])


def test_an_office_file_with_a_password_is_named_as_one(tmp_path):
    data = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500) + "EncryptedPackage".encode("utf-16-le") + bytes(500)
    with pytest.raises(SourceError, match="needs a password"):
        detect_format(volume(tmp_path, "a.docx", data))


def test_a_word_document_in_the_strict_format_is_named_as_one(tmp_path):
    strict = '<w:document xmlns:w="http://purl.oclc.org/ooxml/wordprocessingml/main"><w:body/></w:document>'
    with zipfile.ZipFile(tmp_path / "a.docx", "w") as archive:
        archive.writestr("word/document.xml", strict)
    with pytest.raises(SourceError, match="in Word's strict format"):
        open_document([tmp_path / "a.docx"])
