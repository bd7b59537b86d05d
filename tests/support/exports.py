"""Exports of chats as their programs pack them."""

from __future__ import annotations

import io
import json
import zipfile

ANDROID = """12/03/22, 14:08 - Messages and calls are end-to-end encrypted.
12/03/22, 14:08 - Ada: The key is under the stone.
It is the grey one.
13/03/22, 9:05 - Bo Fell: <Media omitted>
"""


def pack(value, name="conversations.json", **more) -> bytes:
    """Return an archive with a file of JSON, or of text as it is, and others of JSON."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, value if isinstance(value, str) else json.dumps(value))
        for inside, content in more.items():
            archive.writestr(inside, json.dumps(content))
    return packed.getvalue()
