"""Rates refill and never overflow, quotas hold for a day, key files are never trusted; no path leads out of the roots."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.errors import BudgetReached, InputError, SourceError
from bookwheel.serve.engine import access as module
from bookwheel.serve.engine import usage as usage_module
from bookwheel.serve.engine.access import AccessPolicy, Key, KeyRing, TokenQuota, add_key, hash_secret, read_keys
from bookwheel.serve.engine.usage import UsageStore

PIECES = ["..", ".", "", "a", "b.txt", "out", "up", "/", "~", "secret.txt", ".hidden", "\0", "…", "\ud800", "a" * 300]
SECRET = "bw-a-long-secret-that-nobody-guesses"


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(module.time, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def day(monkeypatch: pytest.MonkeyPatch):
    """Sets the date: `day("2031-05-01")`."""

    def set_day(date: str) -> None:
        for place in (module, usage_module):
            monkeypatch.setattr(place, "today", lambda: date)

    set_day("2031-05-01")
    return set_day


@pytest.fixture
def usage(tmp_path: Path):
    store = UsageStore(tmp_path / "journal.sqlite")
    yield store
    store.close()


def key(name: str = "reader", secret: str = SECRET, **limits: int) -> Key:
    return Key(name=name, sha256=hash_secret(secret), **limits)


def admitted(ring: KeyRing, one: Key, tries: int) -> int:
    return sum(ring.take_request(one) == 0 for _ in range(tries))


def test_a_burst_has_a_minutes_requests_and_no_more(clock: Clock) -> None:
    one = key(requests_per_minute=30)
    ring = KeyRing([one])
    assert admitted(ring, one, 100) == 30


def test_a_long_rest_never_saves_up_more_than_one_minute(clock: Clock) -> None:
    one = key(requests_per_minute=30)
    ring = KeyRing([one])
    for rest in (60.0, 3600.0, 86_400.0):
        clock.now += rest
        assert admitted(ring, one, 100) == 30


def test_a_rate_refills_evenly_and_says_how_long_to_wait(clock: Clock) -> None:
    one = key(requests_per_minute=30)
    ring = KeyRing([one])
    assert admitted(ring, one, 31) == 30
    assert ring.take_request(one) == pytest.approx(2.0)
    clock.now += 1.5
    assert ring.take_request(one) == pytest.approx(0.5)
    clock.now += 0.5
    assert ring.take_request(one) == 0
    assert ring.take_request(one) > 0
    clock.now += 10
    assert admitted(ring, one, 100) == 5


def test_a_declined_request_costs_nothing(clock: Clock) -> None:
    one = key(requests_per_minute=6)
    ring = KeyRing([one])
    admitted(ring, one, 50)
    clock.now += 10
    assert admitted(ring, one, 50) == 1


def test_rates_are_each_keys_own_and_a_key_without_one_is_not_limited(clock: Clock) -> None:
    first, second, free = key("a", requests_per_minute=2), key("b", requests_per_minute=2), key("c")
    ring = KeyRing([first, second, free])
    assert admitted(ring, first, 5) == 2
    assert admitted(ring, second, 5) == 2
    assert admitted(ring, free, 500) == 500


@given(rests=st.lists(st.floats(0, 200), max_size=40), per_minute=st.integers(1, 60))
def test_no_pattern_of_requests_beats_the_rate(rests: list[float], per_minute: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        clock = Clock(patch)
        one = key(requests_per_minute=per_minute)
        ring, count = KeyRing([one]), 0
        for rest in rests:
            clock.now += rest
            count += admitted(ring, one, 2 * per_minute)
        assert count <= per_minute + sum(rests) * per_minute / 60 + 1e-6


def test_a_quota_is_full_again_on_the_next_day(usage: UsageStore, day) -> None:
    quota = TokenQuota(key(tokens_per_day=100), usage)
    asyncio.run(quota.settle(100))
    with pytest.raises(BudgetReached, match="continue tomorrow"):
        quota.check()
    day("2031-05-02")
    quota.check(100)
    asyncio.run(quota.settle(60))
    with pytest.raises(BudgetReached):
        quota.check(41)
    quota.check(40)


def test_the_whole_quota_can_be_used_and_not_one_token_more(usage: UsageStore, day) -> None:
    quota = TokenQuota(key(tokens_per_day=100), usage)
    quota.check(100)
    with pytest.raises(BudgetReached):
        quota.check(101)
    with quota.reserve(100), pytest.raises(BudgetReached):
        quota.check(1)
    asyncio.run(quota.settle(99))
    quota.check()
    asyncio.run(quota.settle(1))
    with pytest.raises(BudgetReached):
        quota.check()


def test_reserved_tokens_come_back_when_the_call_ends_or_fails(usage: UsageStore, day) -> None:
    quota = TokenQuota(key(tokens_per_day=100), usage)
    with pytest.raises(RuntimeError), quota.reserve(80):
        raise RuntimeError
    with quota.reserve(60), quota.reserve(40), pytest.raises(BudgetReached), quota.reserve(1):
        pass
    quota.check(100)


def test_a_reservation_that_is_declined_reserves_nothing(usage: UsageStore, day) -> None:
    quota = TokenQuota(key(tokens_per_day=100), usage)
    with pytest.raises(BudgetReached), quota.reserve(101):
        raise AssertionError("it was reserved")
    quota.check(100)


def test_what_a_key_used_today_counts_after_a_restart(usage: UsageStore, day) -> None:
    first = TokenQuota(key(tokens_per_day=100), usage)
    asyncio.run(first.settle(30))
    asyncio.run(first.settle(40))
    again = TokenQuota(key(tokens_per_day=100), usage)
    again.check(30)
    with pytest.raises(BudgetReached, match="used 70 of its 100"):
        again.check(31)
    TokenQuota(key("other", tokens_per_day=100), usage).check(100)


def test_a_key_is_found_by_its_own_secret_only_wherever_it_stands() -> None:
    ring = KeyRing([key("a", "secret-a"), key("b", "secret-b"), key("c", "secret-c")])
    for name in "abc":
        assert ring.find_by_secret(f"secret-{name}").name == name
        assert ring.find_by_name(name).name == name
    for wrong in ("", "secret-", "secret-d", hash_secret("secret-a"), "secret-a\ud800"):
        assert ring.find_by_secret(wrong) is None
    assert ring.find_by_name("d") is None


def test_a_session_stands_for_its_key_and_the_keys_own_oldest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_SESSIONS", 3)
    one, other = key("a", "secret-a"), key("b", "secret-b")
    ring = KeyRing([one, other])
    tokens = [ring.create_session(holder) for holder in (one, other, one)]
    assert [ring.find_by_session(token) for token in tokens] == [one, other, one]
    for _ in range(2):
        newest = ring.create_session(one)
    assert ring.find_by_session(tokens[0]) is None
    assert [ring.find_by_session(token) for token in (*tokens[1:], newest)] == [other, one, one]
    assert ring.find_by_session(hash_secret(newest)) is None
    assert len(newest) >= 43


def test_a_ring_without_keys_is_false() -> None:
    assert not KeyRing()
    assert KeyRing([key()])


def test_a_key_that_was_added_is_read_with_its_limits(tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    file.write_text("# ours\n")
    first, second = add_key(file, "first"), add_key(file, "second_2-B")
    text = file.read_text().replace("[keys.first]\n", "[keys.first]\nrequests_per_minute = 1\ntokens_per_day = 7\n")
    file.write_text(text)
    ring = read_keys(file)
    assert text.startswith("# ours\n")
    found = ring.find_by_secret(first)
    assert (found.name, found.requests_per_minute, found.tokens_per_day) == ("first", 1, 7)
    assert ring.find_by_secret(second).tokens_per_day is None
    assert first != second


@pytest.mark.parametrize("name", ["", "a b", "a.b", "ä", "a" * 65, "a]\n[keys.b"])
def test_a_name_that_would_break_the_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="1 to 64 letters"):
        add_key(tmp_path / "keys.toml", name)
    assert not (tmp_path / "keys.toml").exists()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("sha256 = '{hash}'\nrate = 3", "unknown setting 'rate'"),
        ("requests_per_minute = 3", "needs sha256"),
        ("sha256 = '{hash}0'", "needs sha256"),
        ("sha256 = '{HASH}'", "needs sha256"),
        ("sha256 = '{hash}'\ntokens_per_day = 0", "tokens_per_day"),
        ("sha256 = '{hash}'\ntokens_per_day = true", "tokens_per_day"),
        ("sha256 = '{hash}'\nrequests_per_minute = 1.5", "requests_per_minute"),
        ("sha256 = '{hash}'\nrequests_per_minute = '3'", "requests_per_minute"),
    ],
)
def test_a_key_file_that_means_something_else_is_refused(tmp_path: Path, table: str, message: str) -> None:
    file = tmp_path / "keys.toml"
    file.write_text("[keys.a]\n" + table.format(hash="a" * 64, HASH="A" * 64))
    with pytest.raises(InputError, match=message):
        read_keys(file)


@pytest.mark.parametrize("text", ["", "[keys]", "keys = 5", "keys = []", "[key.a]\nsha256 = 'x'"])
def test_a_key_file_without_keys_never_opens_the_server(tmp_path: Path, text: str) -> None:
    (tmp_path / "keys.toml").write_text(text)
    with pytest.raises(InputError, match="has no keys"):
        read_keys(tmp_path / "keys.toml")


def test_a_key_file_that_cannot_be_read_or_written_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_keys(tmp_path / "nothing.toml")
    with pytest.raises(InputError, match="cannot be written"):
        add_key(tmp_path / "no" / "folder.toml", "a")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="cannot be read"):
        read_keys(tmp_path / "bytes.toml")


def test_a_name_can_have_one_key_only(tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    add_key(file, "first")
    before = file.read_text()
    with pytest.raises(InputError, match="already has a key first"):
        add_key(file, "first")
    assert file.read_text() == before


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    house = tmp_path_factory.mktemp("house")
    (house / "secret.txt").write_text("secret")
    root = house / "root"
    (root / "a").mkdir(parents=True)
    (root / ".hidden").mkdir()
    (root / ".hidden" / "secret.txt").write_text("secret")
    (root / "b.txt").write_text("open")
    (root / "a" / "b.txt").write_text("open")
    (root / "a" / "out").symlink_to(house / "secret.txt")
    (root / "up").symlink_to("..")
    (root / "a" / "up").symlink_to(root / ".hidden")
    return house


@given(pieces=st.lists(st.sampled_from(PIECES), max_size=7), absolute=st.booleans())
@pytest.mark.slow
def test_a_path_is_either_refused_or_leads_into_the_root(house: Path, pieces: list[str], absolute: bool) -> None:
    root = house / "root"
    path = "/".join(pieces)
    try:
        found = AccessPolicy.from_roots([root]).resolve(f"{root}/{path}" if absolute else path)
    except SourceError:
        return
    assert found == found.resolve()
    assert found == root or root in found.parents
    assert "secret" not in found.name
    assert ".hidden" not in found.parts


def test_a_relative_path_is_looked_for_in_every_root(house: Path, tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("open")
    reach = AccessPolicy.from_roots([house / "root", tmp_path])
    assert reach.resolve("c.txt") == tmp_path / "c.txt"
    assert reach.resolve("b.txt") == house / "root" / "b.txt"
    with pytest.raises(SourceError, match="does not exist"):
        reach.resolve("d.txt")


def test_a_root_that_is_a_link_is_what_it_leads_to(house: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(house / "root")
    assert AccessPolicy.from_roots([tmp_path / "link"]).resolve("b.txt") == house / "root" / "b.txt"
    with pytest.raises(SourceError, match="Give a folder"):
        AccessPolicy.from_roots([tmp_path / "nothing"])
