"""verl without what it depends on: its own modules are real, and what they import gets empty stand-ins."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import warnings
from contextlib import contextmanager
from unittest.mock import MagicMock

NAMES = (
    "PIL",
    "accelerate",
    "cachetools",
    "codetiming",
    "datasets",
    "dill",
    "fastapi",
    "hydra",
    "omegaconf",
    "orjson",
    "pandas",
    "psutil",
    "pyarrow",
    "ray",
    "tensordict",
    "torchdata",
    "tqdm",
    "transfer_queue",
    "uvicorn",
    "yaml",
    "zmq",
)


class _StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in NAMES:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.__path__ = []
        module.__getattr__ = _make_anything


def _make_anything(name):
    # A class, so that verl's own classes can have it as a base and its annotations can name it.
    return type(name, (MagicMock,), {}) if name[:1].isupper() else MagicMock(name=name)


@contextmanager
def stand_ins():
    """Let verl be imported; at the end it is forgotten again, with all that imported it."""
    finder = _StandIns()
    known = set(sys.modules)
    # At the end: what is installed is used as it is.
    sys.meta_path.append(finder)
    try:
        with warnings.catch_warnings():
            # verl tells of every engine that is not installed.
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.meta_path.remove(finder)
        for name in set(sys.modules) - known:
            if name.partition(".")[0] in {*NAMES, "verl"} or name.startswith("bookwheel.lab.training.verl."):
                del sys.modules[name]
