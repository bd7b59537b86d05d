"""A zip archive is read file by file; what of it is not read is named, and nothing is written where it says."""

import io
import tempfile
import zipfile
from email.message import EmailMessage

import pytest
from conversion import convert
from test_texts import epub

from bookwheel.documents import sources
from bookwheel.documents.opening import open_document
from bookwheel.documents.readers import archives
from bookwheel.errors import NotStored, SourceError

STAMP = b"From keeper@example.org Tue Mar  4 09:00:00 2025\n"


def pack(files, **settings):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(name, content, **settings)
    return held.getvalue()


def read(folder, data):
    (folder / "a.zip").write_bytes(data)
    parts, notes = convert(folder / "a.zip")
    return "".join(part.text for part in parts), " / ".join(notes), {part.source for part in parts}


def test_each_file_is_read_under_its_path_as_what_it_is(tmp_path):
    epub(tmp_path / "book.epub")
    files = [
        ("a.txt", "first leaf"),
        ("deep/a.txt", "second leaf"),
        ("list.csv", "name;oil\nAda;3\n"),
        ("inner.jpg", pack([("note.txt", "third leaf")])),
        ("book", (tmp_path / "book.epub").read_bytes()),
    ]
    text, _, sources = read(tmp_path, pack(files))
    assert "===== a.txt =====\nfirst leaf\n===== deep/a.txt =====\nsecond leaf\n" in text
    assert "| Ada | 3 |" in text
    assert "third leaf" in text
    assert {"a.zip#deep/a.txt", "a.zip#inner.jpg#note.txt", "a.zip#book"} <= sources


def test_whatever_is_not_read_is_named_and_costs_none_of_the_others(tmp_path):
    link = zipfile.ZipInfo("passwords.txt")
    link.external_attr = 0o120777 << 16
    broken = bytearray(pack([("broken.txt", "seventy five " * 9)]))
    broken[46] ^= 4
    files = [
        ("app.exe", b"MZ\x90\0\x03"),
        ("empty.txt", ""),
        ("__MACOSX/._a.txt", "x"),
        (link, "/etc/passwd"),
        ("cut.zip", pack([("x.txt", "y")])[:40]),
        ("broken.zip", bytes(broken)),
        ("bomb.zip", pack([("zeros", bytes(70 << 20))])),
        ("good.txt", "a good leaf"),
    ]
    text, notes, _ = read(tmp_path, pack(files))
    assert "a good leaf" in text
    assert "seventy" not in text
    assert "passwd" not in text
    for name in ("app.exe", "empty.txt", "__MACOSX/._a.txt", "passwords.txt", "cut.zip", "broken.txt", "bomb.zip"):
        assert f"a.zip#{name}" in notes or f"#{name}" in notes


def test_a_locked_file_is_named_and_the_open_ones_are_read(tmp_path):
    data = bytearray(pack([("locked.txt", "x"), ("open.txt", "an open leaf")]))
    for sign, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(sign) + at] |= 1
    text, notes, _ = read(tmp_path, bytes(data))
    assert "an open leaf" in text
    assert "locked with a password: a.zip#locked.txt" in notes


def test_nothing_is_written_where_an_archive_says(tmp_path):
    text, _, _ = read(tmp_path, pack([("../up.txt", "going up"), (str(tmp_path / "here.txt"), "going in")]))
    assert "going up" in text
    assert "going in" in text
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_files_of_one_name_are_both_read(tmp_path):
    text, _, sources = read(tmp_path, pack([("a.txt", "north"), ("a.txt", "south")]))
    assert "north" in text
    assert "south" in text
    assert {"a.zip#a.txt", "a.zip#a.txt (2)"} <= sources


def test_depth_and_number_are_bounded(tmp_path, monkeypatch):
    data = pack([("deepest.txt", "x")])
    for level in range(20):
        data = pack([(f"{level}.zip", data), (f"{level}.txt", f"level {level} ")])
    text, notes, _ = read(tmp_path, data)
    assert "level 19 " in text
    assert "level 0 " not in text
    assert "nested too deeply" in notes
    monkeypatch.setattr(archives, "_MOST_FILES", 2)
    text, notes, _ = read(tmp_path, pack([(f"{number}.txt", f"leaf {number}") for number in range(3)]))
    assert "leaf 1" in text
    assert "leaf 2" not in text
    assert "after the first 2: a.zip" in notes


def test_files_are_counted_over_all_levels(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "_MOST_FILES", 10)
    data = pack([(f"{number}.txt", f"leaf {number} ") for number in range(4)])
    text, notes, _ = read(tmp_path, pack([(f"{number}.zip", data) for number in range(4)]))
    assert text.count("leaf ") == 8
    assert "after the first 10: a.zip (2)" in notes


def test_files_of_one_archive_count_for_no_other_beside_it(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "_MOST_FILES", 5)
    message = EmailMessage()
    message.set_content("Three archives.\n")
    for number in range(3):
        data = pack([(f"{one}.txt", f"leaf {one} ") for one in range(4)])
        message.add_attachment(data, maintype="application", subtype="zip", filename=f"{number}.zip")
    (tmp_path / "a.eml").write_bytes(bytes(message))
    parts, notes = convert(tmp_path / "a.eml")
    assert "".join(part.text for part in parts).count("leaf ") == 12
    assert notes == ()


@pytest.mark.parametrize("name", ["a.zip", "a.eml", "a.mbox"])
def test_a_disk_without_room_is_an_error_and_never_a_file_that_is_left_out(tmp_path, monkeypatch, name):
    message = EmailMessage()
    message["Subject"] = "Rent"
    message.set_content("The rent is attached.\n")
    message.add_attachment("£64,000 a year", filename="rent.txt")
    letter = bytes(message)
    held = {"a.zip": pack([("rent.txt", "£64,000 a year")]), "a.eml": letter, "a.mbox": STAMP + letter}
    (tmp_path / name).write_bytes(held[name])
    assert "£64,000" in "".join(part.text for part in convert(tmp_path / name)[0])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(NotStored, match=r"rent\.txt cannot be stored"):
        convert(tmp_path / name)


def test_a_name_with_many_signs_is_no_depth(tmp_path):
    (tmp_path / "C# ####### notes.zip").write_bytes(pack([("a.txt", "leaf")]))
    assert "leaf" in convert(tmp_path / "C# ####### notes.zip")[0][1].text


def test_entries_of_the_same_bytes_are_a_bomb(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "_FREE", 1 << 16)
    data = pack([("a.txt", "the same words " * 20_000)])
    at = data.index(b"PK\x01\x02")
    entry, end = data[at : (over := data.index(b"PK\x05\x06"))], data[over:]
    count = (300).to_bytes(2, "little")
    size = (300 * len(entry)).to_bytes(4, "little")
    (tmp_path / "a.zip").write_bytes(data[:at] + entry * 300 + end[:8] + count * 2 + size + end[16:])
    with pytest.raises(SourceError, match="zip bomb"):
        convert(tmp_path / "a.zip")


def test_an_archive_in_a_folder_or_a_mail_is_read_there(tmp_path):
    import base64

    (tmp_path / "a.zip").write_bytes(pack([("note.txt", "a packed leaf")]))
    (tmp_path / "b.eml").write_text(
        "From: a@b.example\nSubject: x\nMIME-Version: 1.0\nContent-Type: application/zip; name=c.zip\n"
        "Content-Transfer-Encoding: base64\n\n" + base64.encodebytes(pack([("n.txt", "a posted leaf")])).decode()
    )
    text = "".join(part.text for part in open_document([tmp_path]).parts())
    assert "a packed leaf" in text
    assert "a posted leaf" in text


def test_one_without_anything_to_read_says_why(tmp_path):
    (tmp_path / "a.zip").write_bytes(pack([("app.exe", b"MZ\x90\0\x03")]))
    with pytest.raises(SourceError, match=r"a program: a\.zip#app\.exe"):
        open_document([tmp_path / "a.zip"]).check()


def test_names_that_a_chinese_windows_packed_are_read(tmp_path):
    data = pack([("AAAA/BBBB.txt", "rent"), ("Mxller.txt", "mill"), ("UUUUUU.txt", "deposit")])
    for plain, name in ((b"AAAA", "合同".encode("gbk")), (b"BBBB", "租赁".encode("gbk")), (b"Mxller", b"M\x81ller")):
        data = data.replace(plain, name)
    _, _, sources = read(tmp_path, data.replace(b"UUUUUU", "说明".encode()))
    assert sources == {"a.zip#合同/租赁.txt", "a.zip#Müller.txt", "a.zip#说明.txt"}


def test_hidden_files_and_what_a_gitignore_names_are_left_out_as_in_a_folder(tmp_path):
    files = {
        "a/.env": "SECRET=7f3a",
        "a/.gitignore": "build/\n*.log",
        "a/README.md": "Read me.",
        "a/build/out.txt": "built",
        "a/src/run.log": "logged",
        "a/src/.git/config": "url",
        "b/run.log": "of another folder",
    }
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    document = open_document([str(tmp_path / "a.zip")])
    text = "".join(part.text for part in document.parts())
    assert [found for found in files.values() if found in text] == ["Read me.", "of another folder"]
    notes = " ".join(document.notes)
    assert "hidden: a.zip#a/.env" in notes
    assert "named in .gitignore: a.zip#a/build/out.txt" in notes
