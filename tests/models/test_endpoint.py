from __future__ import annotations

import pytest

from bookwheel.errors import InputError, Refused
from bookwheel.models.endpoint import Endpoint


def test_address_and_key_are_trimmed_and_never_taken_from_the_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-server")
    assert Endpoint.resolve("http://one:8000/v1/", " sk-one\n") == Endpoint(url="http://one:8000/v1", key="sk-one")
    assert Endpoint.resolve("http://two/v1") == Endpoint(url="http://two/v1", key=None)


@pytest.mark.parametrize(
    "url", ["localhost:8000/v1", "ftp://host/v1", "http://", "http://host:port/v1", "http://[::1/v1", "host"]
)
def test_what_is_no_address_is_bad_input(url):
    with pytest.raises(InputError, match="is not a web address"):
        Endpoint.resolve(url)


@pytest.mark.parametrize("key", ["sk-\nX: y", "sk-schlüssel"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(key):
    with pytest.raises(Refused) as caught:
        Endpoint.resolve("http://host/v1", key)
    assert key not in str(caught.value)


def test_neither_key_nor_password_is_shown():
    endpoint = Endpoint.resolve("https://ada:quill@host:1/v1?token=t", "sk-secret")
    assert "sk-secret" not in repr(endpoint)
    assert endpoint.display_url == "https://host:1/v1"
    assert endpoint.hide_key("bad key sk-secret") == "bad key ***"


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("http://h/v1", "http://h"),
        ("http://h/v1/", "http://h"),
        ("http://h/proxy/v1", "http://h/proxy"),
        ("http://h", "http://h"),
    ],
)
def test_the_root_is_what_stands_before_v1(url, root):
    assert Endpoint.resolve(url).root == root


def test_retries_and_patience_are_the_sdks_own():
    client = Endpoint.resolve("http://h/v1", timeout=3, retries=2).open_client()
    assert client.max_retries == 2
    assert (client.timeout.read, client.timeout.connect) == (3, 3)
    assert Endpoint.resolve("http://h/v1").open_client().timeout.connect < 60
