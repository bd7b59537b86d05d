"""A model that writes every call to a file and passes it on to another model: `--model logged`."""

import json
import os
from pathlib import Path

from bookwheel.models.base import ModelWrapper
from bookwheel.models.registry import open_model


class LoggedModel(ModelWrapper):
    """Append one JSON line for each call to the file named by LOGGED_FILE."""

    async def reply(self, messages, *, limit, sampling):
        reply = await super().reply(messages, limit=limit, sampling=sampling)
        with Path(os.environ["LOGGED_FILE"]).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"prompt": messages[-1].content, "reply": reply.text}) + "\n")
        return reply


async def open_logged():
    """Wrap the model that LOGGED_MODEL names."""
    return LoggedModel(await open_model(os.environ.get("LOGGED_MODEL", "local")))
