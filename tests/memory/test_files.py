"""The files of an agent's memory tool: six commands, each change a version, nothing outside of /memories."""

from __future__ import annotations

import time

import pytest

from bookwheel import LastingMemory
from bookwheel.errors import InputError
from bookwheel.memory.asking import ask
from bookwheel.memory.files import FileCommand, MemoryFiles, run_command
from bookwheel.memory.forgetting import forget
from bookwheel.memory.opened import begin_memory, open_memory

from .test_forgetting import count_bytes

pytestmark = pytest.mark.anyio


@pytest.fixture
def say(tmp_path):
    memory = LastingMemory("agent", model="scripted", journal=tmp_path / "j.sqlite")

    def say(command: str, path: str | None = "/memories/ada.md", **more) -> str:
        return memory.run_command({"command": command, "path": path, **more})

    say.memory = memory
    return say


def test_a_file_is_kept_from_its_making_to_its_end(say) -> None:
    assert say("create", file_text="lives in Este\nhas a cat\n") == "File created successfully at: /memories/ada.md"
    assert say("view") == (
        "Here's the content of /memories/ada.md with line numbers:\n     1\tlives in Este\n     2\thas a cat\n     3\t"
    )
    assert say("view", view_range=[2, 2]).endswith(":\n     2\thas a cat")
    edited = say("str_replace", old_str="Este", new_str="Padua")
    assert edited.startswith("The memory file has been edited.")
    assert "     1\tlives in Padua" in edited
    assert say("insert", insert_line=1, insert_text="sings\n") == "The file /memories/ada.md has been edited."
    moved = say("rename", None, old_path="/memories/ada.md", new_path="/memories/people/ada.md")
    assert moved == "Successfully renamed /memories/ada.md to /memories/people/ada.md"
    assert say("view", "/memories").splitlines()[1:] == [
        "31B\t/memories",
        "31B\t/memories/people/",
        "31B\t/memories/people/ada.md",
    ]
    assert say("view", "/memories/people/ada.md").splitlines()[1:4] == [
        "     1\tlives in Padua",
        "     2\tsings",
        "     3\thas a cat",
    ]
    assert say("delete", "/memories/people") == "Successfully deleted /memories/people"
    assert say("view", "/memories").splitlines()[1:] == ["0B\t/memories"]
    # A view makes no version; each of the five changes made one.
    assert [str(version.kind) for version in say.memory.versions] == ["edit"] * 5
    assert say.memory.at(1).memory.text.splitlines()[0] == "/memories/ada.md\tlives in Este"


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "/memories/../etc/passwd", "memories/a", "/memoriesx", "", "/memories/a\nb", "/memories/a\tb"],
)
def test_no_path_leads_out(say, path) -> None:
    with pytest.raises(InputError, match=r"[Pp]ath"):
        say("create", path, file_text="x")
    with pytest.raises(InputError, match=r"[Pp]ath"):
        say("rename", None, old_path="/memories", new_path=path)


@pytest.mark.parametrize(
    ("command", "more", "words"),
    [
        ("view", {"path": "/memories/bo.md"}, "does not exist. Please provide a valid path."),
        ("create", {"file_text": "x"}, "File /memories/ada.md already exists"),
        ("create", {"path": "/memories/ada.md/x", "file_text": "x"}, "has a file for a directory"),
        ("create", {}, "Missing `file_text` parameter"),
        ("str_replace", {"old_str": "z", "new_str": ""}, "did not appear verbatim in /memories/ada.md"),
        ("str_replace", {"old_str": "a", "new_str": ""}, "Multiple occurrences of old_str `a` in lines: 1, 3"),
        ("insert", {"insert_line": 9, "insert_text": "x"}, r"within the range \[0, 3\]"),
        ("delete", {"path": "/memories"}, "Cannot delete the /memories directory itself"),
        ("delete", {"path": "/memories/bo.md"}, "The path /memories/bo.md does not exist"),
        ("rename", {"path": None, "old_path": "/memories/bo.md", "new_path": "/memories/c"}, "does not exist"),
        ("rename", {"path": None, "old_path": "/memories/ada.md", "new_path": "/memories/ada.md"}, "already exists"),
        ("wipe", {}, "command"),
    ],
)
def test_what_cannot_be_done_is_said_in_the_tools_words(say, command, more, words) -> None:
    say("create", file_text="a\nb\na")
    with pytest.raises(InputError, match=words):
        say(command, **more)


def test_what_repeats_itself_is_looked_for_as_fast_as_anything() -> None:
    files, began = MemoryFiles({"/memories/a": "x" * 200_000}), time.process_time()
    command = FileCommand(command="str_replace", path="/memories/a", old_str="x" * 100_000 + "y", new_str="")
    with pytest.raises(InputError, match="did not appear"):
        files.run(command)
    assert time.process_time() - began < 2


def test_lines_of_others_are_left_alone() -> None:
    text = "Ada: a note that was read.\n/memories/a.md\tone\n/memories/a.md\t\ttabbed"
    files = MemoryFiles.parse(text)
    assert files.files == {"/memories/a.md": "one\n\ttabbed"}
    assert files.format() == text
    files.run(FileCommand(command="delete", path="/memories/a.md"))
    assert files.format() == "Ada: a note that was read."


async def test_what_an_agent_wrote_is_answered_and_can_be_erased(session, journal) -> None:
    await begin_memory(session, "agent", "notes", session.model.plan, is_written=True)
    opened = open_memory(session, "agent")
    text = "room = 12\npin = wombat\nthe end\n"
    await run_command(opened, FileCommand(command="create", path="/memories/ada.md", file_text=text))
    await run_command(
        opened, FileCommand(command="str_replace", path="/memories/ada.md", old_str="room = 12", new_str="room = 31")
    )
    found = await ask(opened, "room?")
    assert "31" in found.answer
    assert found.evidence[0].source == "/memories/ada.md"
    stone = await forget(opened, text="wombat")
    assert (stone.sources, stone.is_purged) == (("by hand",), True)
    assert count_bytes(journal.path, "wombat") == 0
    shown = await run_command(opened, FileCommand(command="view", path="/memories/ada.md"))
    assert shown.splitlines()[1:] == ["     1\troom = 31", "     2\tthe end", "     3\t"]
    first = opened.tables.list_versions(opened.record.number, 1)[0]
    assert first.memory.text.split("\n")[0] == "/memories/ada.md\troom = 12"
