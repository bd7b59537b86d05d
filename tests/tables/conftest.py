"""The real server of `loopback_server`."""

from loopback_server import _uvicorn_looks_often, serving

__all__ = ["_uvicorn_looks_often", "serving"]
