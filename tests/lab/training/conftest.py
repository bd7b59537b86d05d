"""A policy small enough to be trained inside a test, over the words of the toy-records task."""

from __future__ import annotations

import pytest


@pytest.fixture
def policy():
    return small_policy()


@pytest.fixture(scope="session")
def still_policy():
    """The same, for tests that leave the weights alone."""
    return small_policy()


@pytest.fixture
def make_policy():
    return small_policy


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """A small run from its beginning to its end; what changes its folder takes a copy."""
    import killed_run

    run = killed_run.trainer(tmp_path_factory.mktemp("whole") / "run")
    run.train()
    return run


def small_policy(seed=0, **shape):
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    torch.set_num_threads(1)
    from bookwheel.lab.training.config import FreshSettings
    from bookwheel.lab.training.loading import build_fresh_policy
    from bookwheel.lab.training.toys import vocabulary

    words = [*vocabulary(), "none same notes section question answer", r"calc ( ) 1 2 3 = \ boxed { }"]
    shape = {"hidden": 32, "layers": 2, "heads": 2, "window": 256} | shape
    return build_fresh_policy(words, FreshSettings(**shape), seed)
