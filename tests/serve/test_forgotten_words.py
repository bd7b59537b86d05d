"""Words that came in by any door of the server are nowhere in its files after they were forgotten.

`FORGOTTEN=300 pytest tests/serve/test_forgotten_words.py` tries as many words.
"""

from __future__ import annotations

import os

from loopback_server import running
from value_notes import PLAN, note_values

from bookwheel import LastingMemory
from bookwheel.models.scripted import ScriptedModel

COUNT = int(os.environ.get("FORGOTTEN", "9"))


def count_words(folder, words: list[str]) -> int:
    contents = [file.read_bytes() for file in folder.glob("**/*") if file.is_file()]
    return sum(any(word.encode() in content for content in contents) for word in words)


def test_no_forgotten_word_is_left(tmp_path) -> None:
    model = ScriptedModel(note_values, plan=PLAN)
    words = [f"wombat{number:04}x" for number in range(COUNT)]
    with running(tmp_path, model) as up, up.client() as client:

        def post(route: str, **body):
            answer = client.post(route, json=body)
            assert answer.status_code < 300, answer.text
            return answer.json()

        post("/memories", name="ada", about="Everything about Ada")
        post("/memories/ada/texts", text="room = 12", source="mail")
        doors = (
            lambda word: post("/memories/ada/texts", text=f"pin = {word}", source=f"mail-{word[6:10]}"),
            lambda word: post(
                "/v1/chat/completions",
                model="bookwheel/memory/ada",
                messages=[{"role": "user", "content": f"pin = {word}"}],
            ),
            lambda word: post(
                "/memories/ada/files", command="create", path=f"/memories/{word[-5:]}.md", file_text=f"pin = {word}"
            ),
        )
        for number, word in enumerate(words):
            doors[number % len(doors)](word)
            post("/memories/ada/questions", question="pin?")
            post("/memories/ada/texts", text=f"day = {number}", source="clock")
            post("/memories/ada/forgets", text=word)
        assert [words[at::3][0] for at in range(3) if count_words(tmp_path, words[at::3])] == []
        (tmp_path / "elsewhere.sqlite").write_bytes(client.get("/memories/ada/export").content)
    elsewhere = LastingMemory(tmp_path / "elsewhere.sqlite", model=ScriptedModel(note_values, plan=PLAN))
    assert "12" in elsewhere.ask("room?").answer
