import gzip
import ipaddress
import socket
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2
import pytest

from bookwheel.documents import web
from bookwheel.documents.cancellation import CancelScope
from bookwheel.documents.opening import open_document
from bookwheel.documents.web import REACHABLE, SPECIAL, fetch, is_public, resolve_public_addresses
from bookwheel.errors import SourceError, WorkCancelled

CHINESE = "渡口的老人说，磨坊去年秋天就停了。\r\n" * 30
PAGE = "<html><body><p>Gate code: 4471</p></body></html>"


@contextmanager
def site(pages):
    """A server of `{path: (status, headers, body)}`; yields its address and the paths that were asked for."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            status, headers, body = pages.get(self.path, (404, {}, b""))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def text_of(url):
    return "".join(part.text for part in open_document([url]).parts())


@pytest.mark.parametrize(
    ("headers", "body", "text"),
    [
        ({"Content-Type": "text/plain; charset=utf-8"}, CHINESE.encode(), CHINESE),
        ({"Content-Type": "text/plain; charset=GBK"}, CHINESE.encode("gbk"), CHINESE),
        ({"Content-Type": 'text/plain; charset="utf-16-le"'}, CHINESE.encode("utf-16-le"), CHINESE),
        ({"Content-Type": "text/plain; charset=iso-8859-1"}, b"caf\xe9", "café"),
        ({"Content-Type": "application/json"}, b'{"a": 1}', '{"a": 1}'),
        ({"Content-Type": "text/plain"}, PAGE.encode(), PAGE),
        ({"Content-Type": "text/html"}, PAGE.encode(), "Gate code: 4471\n"),
        ({"Content-Type": "application/octet-stream"}, PAGE.encode(), "Gate code: 4471\n"),
        ({}, PAGE.encode(), "Gate code: 4471\n"),
        ({}, b"plain words", "plain words"),
        (
            {"Content-Type": "text/plain", "Content-Encoding": "gzip"},
            gzip.compress(b"packed words", mtime=0),
            "packed words",
        ),
        ({"Content-Type": "application/gzip"}, gzip.compress(b"packed words", mtime=0), "packed words"),
    ],
)
def test_the_content_type_decides_how_a_page_is_read(headers, body, text):
    with site({"/doc": (200, headers, body)}) as (address, _):
        assert text_of(f"{address}/doc") == text


def test_an_address_is_fetched_once_and_named_without_its_password():
    with site({"/a.txt?x=1": (200, {"Content-Type": "text/plain"}, b"words " * 5000)}) as (address, asked):
        document = open_document([address.replace("//", "//ada:secret@") + "/a.txt?x=1#end"])
        for start in (0, 20_000):
            assert "".join(part.text for part in document.parts(start)) == ("words " * 5000)[start:]
    assert asked == ["/a.txt?x=1"]
    assert {part.source for part in document.parts()} == {f"{address}/a.txt?x=1"}
    assert "secret" not in document.name


def test_redirects_are_followed_to_their_end_but_not_in_circles():
    pages = {
        "/a": (302, {"Location": "/b"}, b""),
        "/b": (301, {"Location": "/c"}, b""),
        "/c": (200, {"Content-Type": "text/plain"}, b"arrived"),
        "/loop": (302, {"Location": "/loop"}, b""),
        "/file": (302, {"Location": "file:///etc/passwd"}, b""),
    }
    with site(pages) as (address, _):
        assert text_of(f"{address}/a") == "arrived"
        with pytest.raises(SourceError, match="redirects more than"):
            open_document([f"{address}/loop"])
        with pytest.raises(SourceError, match="http or https"):
            open_document([f"{address}/file"])


@pytest.mark.parametrize(("status", "advice"), [(404, "check the address"), (403, "give the file"), (500, "try again")])
def test_a_refusal_says_what_to_do(status, advice):
    with (
        site({"/a": (status, {}, b"no")}) as (address, _),
        pytest.raises(SourceError, match=f"status {status}.*{advice}"),
    ):
        open_document([f"{address}/a"])


def test_a_server_that_is_not_there_is_told():
    with site({}) as (address, _):
        pass
    with pytest.raises(SourceError, match="cannot be fetched"):
        open_document([f"{address}/a"])


@pytest.mark.parametrize("url", ["http://", "http://a b/", "https://[::1", "http://\0/"])
def test_an_address_that_is_none_is_told(url):
    with pytest.raises(SourceError, match="address"):
        open_document([url])


def test_a_page_beyond_the_size_limit_is_refused_also_when_it_came_packed():
    packed = gzip.compress(bytes(3 << 20))
    pages = {"/big": (200, {}, bytes(3 << 20)), "/packed": (200, {"Content-Encoding": "gzip"}, packed)}
    with site(pages) as (address, _):
        for page in pages:
            with pytest.raises(SourceError, match="larger than 2 MiB"):
                fetch(address + page, most_bytes=2 << 20)


@contextmanager
def dripping(begin=b""):
    """A server that sends a byte now and then, for ever."""
    listener, ended = socket.create_server(("127.0.0.1", 0)), threading.Event()

    def serve():
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.sendall(begin)
            while not ended.wait(0.01):
                connection.sendall(b"x")

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/a.txt"
    finally:
        ended.set()
        thread.join()
        listener.close()


@pytest.mark.parametrize("begin", [b"HTTP/1.1 200 OK\r\nX-A: ", b"HTTP/1.1 200 OK\r\n\r\n"])
@pytest.mark.slow
def test_a_page_that_drips_is_given_up_in_its_headers_and_in_its_body(begin):
    with dripping(begin) as url, pytest.raises(SourceError, match="loads too slowly"):
        fetch(url, most_seconds=0.3)


def test_a_fetch_ends_at_once_when_it_is_cancelled():
    with dripping(b"HTTP/1.1 200 OK\r\n\r\n") as url, CancelScope() as scope:
        threading.Timer(0.1, scope.cancel).start()
        with pytest.raises(WorkCancelled):
            fetch(url)


def test_a_fetch_is_cancelled_in_its_own_loop_which_is_not_closed_before_that_is_done(monkeypatch):
    threads = []

    class Watched(web.LoopThread):
        def submit(self, work):
            outcome = super().submit(work)
            outcome.add_done_callback(lambda done: done.cancelled() and threads.append(threading.current_thread().name))
            return outcome

    monkeypatch.setattr(web, "LoopThread", Watched)
    with dripping(b"HTTP/1.1 200 OK\r\n\r\n") as url, CancelScope() as scope:
        threading.Timer(0.1, scope.cancel).start()
        with pytest.raises(WorkCancelled):
            fetch(url)
    assert threads == ["bookwheel fetch"]


def test_a_broken_picture_is_refused():
    with (
        site({"/a.png": (200, {"Content-Type": "image/png"}, b"\x89PNG\r\n\x1a\n" + bytes(99))}) as (address, _),
        pytest.raises(SourceError, match="a picture"),
    ):
        open_document([f"{address}/a.png"])


def test_private_addresses_are_refused_before_anything_is_sent():
    with site({"/a": (200, {}, b"inside")}) as (address, asked):
        for url in (
            address,
            address.replace("127.0.0.1", "localhost"),
            address.replace("127.0.0.1", "[::ffff:127.0.0.1]"),
        ):
            with pytest.raises(SourceError, match="not a public address"):
                open_document([f"{url}/a"], allow_private=False)
    assert asked == []


def test_a_redirect_into_the_own_network_is_refused(monkeypatch):
    def seems_public(host, port):
        return ["127.0.0.1"] if host == "outside.example" else resolve_public_addresses(host, port)

    pages = {
        "/ok": (200, {"Content-Type": "text/plain"}, b"public words"),
        "/in": (302, {"Location": "http://169.254.169.254/latest/meta-data"}, b""),
    }
    monkeypatch.setattr(web, "resolve_public_addresses", seems_public)
    with site(pages) as (address, asked):
        pages["/again"] = (302, {"Location": f"{address}/ok"}, b"")
        outside = address.replace("127.0.0.1", "outside.example")
        assert fetch(f"{outside}/ok", allow_private=False).path.read_bytes() == b"public words"
        for path in ("/in", "/again"):
            with pytest.raises(SourceError, match="not a public address"):
                fetch(outside + path, allow_private=False)
    assert asked == ["/ok", "/in", "/again"]


def test_the_host_is_still_called_by_its_name_when_its_address_is_pinned(monkeypatch):
    monkeypatch.setattr(web, "resolve_public_addresses", lambda host, port: ["192.0.2.1", "127.0.0.1"])
    sent = []

    async def answer(self, request):
        if request.url.host == "192.0.2.1":
            raise httpx2.ConnectError("no way there")
        sent.append((request.url.host, request.headers["host"], request.extensions["sni_hostname"]))
        return httpx2.Response(200, content=b"words")

    monkeypatch.setattr(httpx2.AsyncHTTPTransport, "handle_async_request", answer)
    fetch("https://library.example/book", allow_private=False)
    assert sent == [("127.0.0.1", "library.example", "library.example")]


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        *((a, False) for a in ("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0")),
        *((a, False) for a in ("100.64.0.1", "224.0.0.1", "255.255.255.255", "240.0.0.1", "192.0.2.1")),
        *((a, False) for a in ("::1", "::", "fe80::1%eth0", "fc00::1", "ff02::1", "::ffff:10.0.0.1", "::ffff:7f00:1")),
        *((a, False) for a in ("64:ff9b::7f00:1", "2002:7f00:1::", "2001:db8::1")),
        ("::ffff:8.8.8.8", True),
        ("64:ff9b::808:808", True),
    ],
)
def test_only_addresses_of_the_public_internet_are_public(address, public):
    assert is_public(address) is public


@pytest.mark.parametrize("network", sorted(SPECIAL | REACHABLE))
def test_every_row_of_the_registries_decides_about_its_addresses(network):
    block, is_reachable = ipaddress.ip_network(network), network in REACHABLE
    own = [one for one in SPECIAL | REACHABLE if one != network and ipaddress.ip_network(one).version == block.version]
    inner = [one for one in map(ipaddress.ip_network, own) if one.subnet_of(block)]
    for address in (block[0], block[-1], block[block.num_addresses // 3]):
        if not any(address in one for one in inner):
            # What is translated is decided by the IPv4 address within.
            assert is_public(str(address)) is is_reachable or network in {"64:ff9b::/96", "::ffff:0:0/96"}


@pytest.mark.parametrize("network", sorted(one for one in SPECIAL if "." in one))
def test_no_special_ipv4_address_hides_in_an_ipv6_one(network):
    inner = ipaddress.ip_network(network)[0]
    bits = int(inner)
    hidden = (
        f"::ffff:{inner}",
        f"::{inner}",
        f"::ffff:0:{inner}",
        f"64:ff9b::{inner}",
        f"64:ff9b:1::{inner}",
        str(ipaddress.IPv6Address((0x2002 << 112) | (bits << 80))),
        str(ipaddress.IPv6Address((0x20010000 << 96) | (bits ^ 0xFFFFFFFF))),
    )
    assert [one for one in hidden if is_public(one)] == []


def test_space_that_nobody_has_is_not_public():
    assert not any(map(is_public, ["4000::1", "8000::1", "1::1", "e000::1", "fe00::1"]))
    assert is_public("2606:4700::1111")
    assert is_public("64:ff9b::808:808")
