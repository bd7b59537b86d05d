"""The real server of `loopback_server` for the tests of this folder."""

from loopback_server import _uvicorn_looks_often, gated, serving, up, words

__all__ = ["_uvicorn_looks_often", "gated", "serving", "up", "words"]
