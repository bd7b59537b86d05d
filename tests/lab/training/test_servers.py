"""Rollouts from servers, against one of ours that speaks the documented shape of vLLM's and SGLang's routes."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import killed_run  # noqa: E402

from bookwheel.errors import BadReply, Overloaded, TimedOut, Unreachable  # noqa: E402
from bookwheel.lab.training import servers as module  # noqa: E402
from bookwheel.lab.training.config import RolloutServerSettings  # noqa: E402
from bookwheel.lab.training.errors import ConfigError  # noqa: E402
from bookwheel.lab.training.generation import GenerationRequest, generate  # noqa: E402
from bookwheel.lab.training.servers import open_server  # noqa: E402

REQUEST = GenerationRequest(prompt=(5, 6, 7), limit=6, seed=3)


class Server:
    """Samples from weights that it loads from folders, and remembers every request."""

    def __init__(self, model, stop):
        self.model, self.stop = model, stop
        self.base = model
        self.calls, self.busy, self.loaded, self.version = [], 0, [], "default"
        self.lock = threading.Lock()

    def answer(self, route, body):
        with self.lock:
            self.calls.append((route, body))
            if self.busy:
                self.busy -= 1
                return 503, {}
            return self.respond(route, body)

    def restart(self):
        """Begin anew with the weights it was started with, as after a crash."""
        self.model, self.version = self.base, "default"

    def load(self, folder):
        from transformers import AutoModelForCausalLM

        self.model = AutoModelForCausalLM.from_pretrained(folder).eval()
        self.loaded.append(folder)

    def sample(self, ids, limit, settings, seed):
        assert (settings["top_k"], settings["min_p"], settings["repetition_penalty"]) == (-1, 0.0, 1.0)
        assert set(settings["stop_token_ids"]) == set(self.stop)
        request = GenerationRequest(
            prompt=tuple(ids), limit=limit, temperature=settings["temperature"], top_p=settings["top_p"], seed=seed
        )
        return generate(self.model, [request], stop=self.stop)[0]


class Vllm(Server):
    is_developer, is_prepared = True, False

    def restart(self):
        super().restart()
        self.is_prepared = False

    def respond(self, route, body):
        if route == "/v1/completions":
            assert (body["logprobs"], body["return_token_ids"]) == (1, True)
            found = self.sample(body["prompt"], body["max_tokens"], body, body["seed"])
            choice = {"text": "", "token_ids": found.ids, "logprobs": {"token_logprobs": found.logprobs}}
            return 200, {"choices": [choice]}
        if not self.is_developer:
            return 404, {"detail": "Not Found"}
        if route == "/weight_info":
            return 200, {"weight_version": self.version}
        if route == "/init_weight_transfer_engine":
            self.is_prepared = True
        elif "weight" in route and not self.is_prepared:
            return 500, {"error": "no weight transfer engine"}
        if route == "/finish_weight_update":
            self.version = body["weight_version"]
        if route == "/update_weights":
            self.load(body["update_info"]["path"])
        return 200, {"message": "done"}


class Sglang(Server):
    def respond(self, route, body):
        if route == "/generate":
            settings = body["sampling_params"]
            found = self.sample(body["input_ids"], settings["max_new_tokens"], settings, len(self.calls))
            triples = [[logprob, token, None] for logprob, token in zip(found.logprobs, found.ids, strict=True)]
            meta = {"finish_reason": {"type": "stop" if found.stopped else "length"}, "output_token_logprobs": triples}
            return 200, {"text": "", "output_ids": found.ids, "meta_info": meta}
        if route == "/update_weights_from_disk":
            self.load(body["model_path"])
            self.version = body["weight_version"]
            return 200, {"success": True, "message": "Succeeded."}
        if route == "/get_model_info":
            return 200, {"model_path": "m", "weight_version": self.version}
        return 200, {}


@contextmanager
def serving(server):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            raw = self.rfile.read(int(self.headers.get("content-length", 0)))
            try:
                status, answer = server.answer(self.path, json.loads(raw) if raw else None)
            except ConnectionResetError:
                self.close_connection = True
                return
            payload = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        do_GET = do_POST  # noqa: N815

        def log_message(self, *args):
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_address[1]}"
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


@pytest.fixture(params=["vllm", "sglang"])
def engine(request):
    return request.param


@pytest.fixture
def server(engine, make_policy):
    policy = make_policy()
    return (Vllm if engine == "vllm" else Sglang)(policy.model, policy.stop_ids)


def ask(settings, stop, request=REQUEST):
    async def submit():
        client = open_server(settings, stop)
        try:
            return await client.submit(request)
        finally:
            await client.aclose()

    return asyncio.run(submit())


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(module, "_LONGEST_WAIT", 0.001)


def test_a_reply_has_the_servers_own_ids_and_log_probabilities(server, engine, make_policy):
    with serving(server) as address:
        result = ask(RolloutServerSettings(address=address, engine=engine), server.stop)
    from bookwheel.lab.training.rows import Row

    row = Row(
        ids=(*REQUEST.prompt, *result.ids),
        trained=(False,) * 3 + (True,) * len(result.ids),
        logprobs=tuple(result.logprobs),
        advantage=0.0,
        rollout="r",
    )
    own = make_policy().score([row]).logprobs.detach()
    assert torch.allclose(torch.tensor(result.logprobs), own, atol=1e-4)
    assert result.stopped == (result.ids[-1] in server.stop)


def test_a_server_that_is_away_for_a_moment_is_asked_again(server, engine):
    server.busy = 3
    with serving(server) as address:
        assert ask(RolloutServerSettings(address=address, engine=engine), server.stop).ids
        server.busy = 99
        with pytest.raises(Overloaded):
            ask(RolloutServerSettings(address=address, engine=engine), server.stop)
    with pytest.raises(Unreachable, match="no server answers"):
        ask(RolloutServerSettings(address=address, engine=engine), server.stop)


def test_a_reply_without_exact_tokens_is_refused(server, engine, monkeypatch):
    plain = server.respond

    def respond(route, body):
        status, answer = plain(route, body)
        if engine == "vllm":
            answer["choices"][0]["token_ids"] = None
        else:
            answer["meta_info"]["output_token_logprobs"] = None
        return status, answer

    monkeypatch.setattr(server, "respond", respond)
    with serving(server) as address, pytest.raises((ConfigError, BadReply)):
        ask(RolloutServerSettings(address=address, engine=engine), server.stop)


def test_a_run_trains_on_a_servers_rollouts_and_sends_its_weights_after_each_step(server, engine, tmp_path):
    config = replace(killed_run.CONFIG, steps=2, warm_start=replace(killed_run.CONFIG.warm_start, steps=0))
    with serving(server) as address:
        config = replace(config, server=RolloutServerSettings(address=address, engine=engine))
        client = open_server(config.server, server.stop)
        run = killed_run.trainer(tmp_path / "run", config=config, server=client)
        run.train()
    # Before the first evaluation and the first batch, before the second, and before the last evaluation.
    assert [Path(folder).name for folder in server.loaded] == ["version-000001", "version-000002", "version-000003"]
    assert all(Path(folder).is_absolute() for folder in server.loaded)
    for mine, theirs in zip(run.policy.model.parameters(), server.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    assert not (tmp_path / "run" / "served").exists()
    steps = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    # The server's log-probabilities are those of the weights it was sent: stale ones would differ.
    assert all(one["mismatch"] < 1e-3 for one in steps if one["kind"] == "step")


def same_weights(policy, server):
    pairs = zip(policy.model.parameters(), server.model.parameters(), strict=True)
    return all(torch.equal(mine, theirs) for mine, theirs in pairs)


def test_a_server_that_was_started_anew_is_prepared_and_gets_the_weights_again(server, engine, tmp_path, make_policy):
    policy = make_policy(seed=5)
    policy.save(tmp_path / "w")

    async def live_through_a_restart():
        client = open_server(RolloutServerSettings(address=address, engine=engine), server.stop)
        await client.load_weights(tmp_path / "w", 1)
        server.restart()
        await client.restore()
        assert same_weights(policy, server)
        # The next weights, too, find a server that was never prepared.
        server.restart()
        await client.load_weights(tmp_path / "w", 2)
        assert same_weights(policy, server)
        loaded = len(server.loaded)
        await client.restore()
        assert len(server.loaded) == loaded, "a server that has the weights is left alone"
        await client.aclose()

    with serving(server) as address:
        asyncio.run(live_through_a_restart())


def test_after_a_broken_connection_no_token_is_sampled_from_old_weights(server, engine, tmp_path, make_policy):
    policy = make_policy(seed=5)
    policy.save(tmp_path / "w")
    respond, seen = server.respond, []

    def note_weights(route, body):
        if route in ("/v1/completions", "/generate"):
            seen.append(same_weights(policy, server))
            if len(seen) == 1:
                server.restart()
                raise ConnectionResetError
        return respond(route, body)

    async def sample():
        client = open_server(RolloutServerSettings(address=address, engine=engine), server.stop)
        await client.load_weights(tmp_path / "w", 1)
        server.respond = note_weights
        result = await client.submit(REQUEST)
        await client.aclose()
        return result

    with serving(server) as address:
        assert asyncio.run(sample()).ids
    assert seen == [True, True]


def test_a_server_that_sends_nothing_fails_the_rollout_in_time(server, engine, monkeypatch):
    release = threading.Event()
    monkeypatch.setattr(server, "respond", lambda route, body: (release.wait(20), (200, {}))[1])
    with serving(server) as address:
        with pytest.raises(TimedOut, match=r"train\.server\.timeout"):
            ask(RolloutServerSettings(address=address, engine=engine, timeout=0.2), server.stop)
        release.set()


def test_updates_follow_the_documented_order(server, engine, tmp_path, make_policy):
    make_policy().save(tmp_path / "w")

    async def send():
        client = open_server(RolloutServerSettings(address=address, engine=engine), server.stop)
        await client.load_weights(tmp_path / "w", 1)
        await client.load_weights(tmp_path / "w", 2)
        await client.aclose()

    with serving(server) as address:
        asyncio.run(send())
    routes = [route for route, _ in server.calls]
    one = ["/pause?mode=keep", "/start_weight_update", "/update_weights", "/finish_weight_update", "/resume"]
    two = ["/pause_generation", "/update_weights_from_disk", "/continue_generation"]
    assert routes == (["/init_weight_transfer_engine", *one, *one] if engine == "vllm" else [*two, *two])


def test_a_server_that_takes_no_weights_is_told_with_how_to_start_it(make_policy, tmp_path):
    policy = make_policy()
    server = Vllm(policy.model, policy.stop_ids)
    server.is_developer = False

    async def send():
        client = open_server(RolloutServerSettings(address=address), server.stop)
        try:
            await client.load_weights(tmp_path, 1)
        finally:
            await client.aclose()

    with serving(server) as address, pytest.raises(ConfigError, match=r"VLLM_SERVER_DEV_MODE=1.*disk"):
        asyncio.run(send())
