import gzip
import io
import tarfile

import pytest

from bookwheel.documents import sources
from bookwheel.documents.opening import open_document
from bookwheel.errors import SourceError

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
    with pytest.raises(SourceError, match=r"bomb\.gz unpacks to more than"):
        open_document([path])


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
