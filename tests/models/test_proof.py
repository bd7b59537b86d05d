"""Strange weights are loaded in a child first; known ones cost nothing."""

from __future__ import annotations

import os
import struct
import subprocess
from types import SimpleNamespace

import pytest

from bookwheel.environment import Environment
from bookwheel.errors import NoWeights
from bookwheel.models import proof
from bookwheel.models.weights import SMOLLM2, find_local_weights


@pytest.fixture
def environment(tmp_path):
    return Environment(variables={"XDG_CACHE_HOME": str(tmp_path / "cache")})


@pytest.fixture
def ran(monkeypatch):
    """The commands that were run, and the status that the next one ends with."""
    ran = SimpleNamespace(commands=[], status=0)

    def run(command, **_):
        ran.commands.append(command)
        return SimpleNamespace(returncode=ran.status)

    monkeypatch.setattr(subprocess, "run", run)
    return ran


def test_our_own_weights_need_no_proof(environment, ran):
    proof.prove_weights(environment.cache / SMOLLM2.cached_file, None, environment)
    assert ran.commands == []


def test_a_proven_file_is_loaded_in_a_child_once_until_it_changes(environment, ran, tmp_path):
    file, adapter = tmp_path / "a.gguf", tmp_path / "b.gguf"
    file.write_bytes(b"GGUF one")
    adapter.write_bytes(b"GGUF two")
    for _ in range(2):
        proof.prove_weights(file, None, environment)
    assert len(ran.commands) == 1
    proof.prove_weights(file, adapter, environment)
    assert ran.commands[-1][-2:] == [str(file), str(adapter)]
    file.write_bytes(b"GGUF one, changed")
    proof.prove_weights(file, None, environment)
    assert len(ran.commands) == 3


@pytest.mark.parametrize("share", [0.3, 0.7, 1.0])
def test_a_change_far_behind_the_header_is_seen_though_size_and_time_are_the_same(environment, ran, tmp_path, share):
    file = tmp_path / "a.gguf"
    words = bytearray(4 << 20)
    file.write_bytes(words)
    proof.prove_weights(file, None, environment)
    time = file.stat().st_mtime_ns
    at = int((len(words) - 1) * share)
    words[at - (64 << 10) : at] = b"x" * (64 << 10)
    file.write_bytes(words)
    os.utime(file, ns=(time, time))
    proof.prove_weights(file, None, environment)
    assert len(ran.commands) == 2


@pytest.mark.parametrize("status", [-6, -11, 1])
def test_what_ends_the_child_is_told_and_tried_again(environment, ran, tmp_path, status):
    file = tmp_path / "a.gguf"
    file.write_bytes(b"GGUF")
    ran.status = status
    for _ in range(2):
        with pytest.raises(NoWeights, match=r"llama.cpp breaks when it loads .*a\.gguf"):
            proof.prove_weights(file, None, environment)
    assert len(ran.commands) == 2


def test_a_refusal_is_left_to_the_engine_s_own_words(environment, ran, tmp_path):
    file = tmp_path / "a.gguf"
    file.write_bytes(b"GGUF")
    ran.status = 3
    proof.prove_weights(file, None, environment)
    assert not (environment.cache / "proven").exists()


@pytest.mark.slow
def test_weights_that_abort_llama_cpp_are_an_error_of_ours(environment, tmp_path):
    pytest.importorskip("xllamacpp")
    whole = find_local_weights(Environment())
    if whole is None:
        pytest.skip("the weights are not here")
    content = bytearray(whole.read_bytes())
    name = b"llama.block_count"
    struct.pack_into("<I", content, content.index(name) + len(name) + 4, 0)
    file = tmp_path / "aborts.gguf"
    file.write_bytes(content)
    with pytest.raises(NoWeights, match="breaks when it loads"):
        proof.prove_weights(file, None, environment)
