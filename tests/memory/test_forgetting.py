"""What was forgotten is gone: the memory is the one that never had it, and the file has none of its words."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from value_notes import PLAN, count_bytes, note_values

from bookwheel.errors import InputError, Rejected
from bookwheel.journal import Journal
from bookwheel.memory.append import append
from bookwheel.memory.asking import ask
from bookwheel.memory.editing import edit
from bookwheel.memory.forgetting import forget
from bookwheel.memory.opened import begin_memory, open_memory
from bookwheel.models.patience import Patience
from bookwheel.models.scripted import ScriptedModel
from bookwheel.session import Session

pytestmark = pytest.mark.anyio


async def test_the_words_stand_nowhere_in_the_file(session, begin, journal):
    opened = await begin(session)
    await append(opened, "pin = wombat", source="mail-1")
    await append(opened, "room = 12", source="mail-2")
    await ask(opened, "pin?")
    await edit(opened, "wombat", "wombats")
    assert count_bytes(journal.path, "wombat")
    stone = await forget(opened, source="mail-1")
    assert (stone.sources, stone.replayed, stone.is_purged) == (("mail-1",), 1, True)
    assert opened.newest().memory.text == "room = 12"
    assert count_bytes(journal.path, "wombat") == 0


async def test_no_sum_of_a_forgotten_line_stays(session, begin):
    opened = await begin(session)
    await append(opened, "code = 7731\nroom = 12", source="mail-1", at="2026-01-01")
    opened.tables.keep_place(opened.record.number, "mail-1", '{"read": 22, "lines": ["0badcafe"]}')
    opened.tables.keep_place(opened.record.number, "log", "line 7")
    await forget(opened, text="code = 7731")
    places = [opened.tables.find_place(opened.record.number, source) for source in ("mail-1", "log")]
    assert places == ['{"read":22}', "line 7"]


@pytest.mark.parametrize("base", ["", "minutes/"])
async def test_a_file_is_forgotten_from_a_folder_that_was_kept_as_one_text_too(base, session, begin, journal):
    opened = await begin(session)
    folder = "".join(
        f"===== {base}{name} =====\n{words}\n\n"
        for name, words in (("a.md", "pin = wombat"), ("b.md", "room = 12"), ("x/a.md", "pet = cat"))
    )
    await append(opened, folder, source="club/minutes")
    await append(opened, "pin = wombat\nfee = 40", source="club/minutes/a.md")
    await forget(opened, source="club/minutes/a.md")
    assert {*opened.newest().memory.text.splitlines()} == {"room = 12", "pet = cat"}
    assert count_bytes(journal.path, "wombat") == 0
    await forget(opened, source="club/minutes/x")
    assert opened.newest().memory.text == "room = 12"
    with pytest.raises(InputError):
        await forget(opened, source="club/minutes/c.md")


async def test_a_line_that_a_correction_brought_the_words_into_is_again_what_it_was(session, begin):
    opened = await begin(session)
    await append(opened, "fee = 19200, agreed in May", source="mail-1")
    await edit(opened, "19200", "19350")
    await append(opened, "room = 12", source="mail-2")
    await forget(opened, text="19350")
    assert opened.newest().memory.text == "fee = 19200, agreed in May\nroom = 12"


async def test_a_fact_that_another_source_says_too_stays(session, begin):
    opened = await begin(session)
    for number in (1, 2, 3):
        await append(opened, "pet = cat", source=f"mail-{number}")
    calls = session.model.calls
    await forget(opened, source="mail-1")
    assert opened.newest().memory.text == "pet = cat"
    # The stored versions hold from where the memory is the same again.
    assert session.model.calls - calls == 1


async def test_a_superseded_value_comes_back_with_the_one_in_its_place_forgotten(session, begin):
    opened = await begin(session)
    await append(opened, "room = 12", source="mail-1")
    await append(opened, "room = 31", source="mail-2")
    await forget(opened, source="mail-2")
    assert opened.newest().memory.text == "room = 12"


async def test_some_words_are_blotted_out_of_every_text(session, begin, journal):
    opened = await begin(session)
    await append(opened, "pin = wombat\nroom = 12", source="mail-1")
    await append(opened, "note = the Wombat is grey\npet = cat", source="mail-2")
    await forget(opened, text="wombat")
    assert "pet = cat" in opened.newest().memory.text
    assert count_bytes(journal.path, "wombat") + count_bytes(journal.path, "Wombat") == 0


async def test_words_are_forgotten_over_line_ends_and_however_accents_are_written(session, begin, journal):
    opened = await begin(session)
    await append(opened, "room = 12\nThe wo\u0308mbat of\n> the  garden", source="mail-1")
    await append(opened, "A W\u00f6mbat of the garden is here.", source="mail-2")
    await forget(opened, text="w\u00f6mbat of the garden")
    assert count_bytes(journal.path, "garden") + count_bytes(journal.path, "mbat of") == 0
    with pytest.raises(InputError, match="say what to forget"):
        await forget(opened, text="  ")


async def test_a_question_that_was_asked_before_goes_with_its_words(session, begin, journal):
    opened = await begin(session)
    await append(opened, "room = 12", source="mail-1")
    await ask(opened, "room wombat?")
    await append(opened, "pin = wombat", source="mail-2")
    await forget(opened, text="wombat")
    assert count_bytes(journal.path, "wombat") == 0


async def test_what_is_from_before_a_time_goes(session, begin):
    opened = await begin(session)
    await append(opened, "a = 1", source="one", at="2026-01-01")
    await append(opened, "b = 2", source="two", at="2026-03-01")
    await forget(opened, before="2026-02-01T00:00+00:00")
    assert opened.newest().memory.text == "b = 2"


async def test_an_interrupted_forgetting_goes_on_with_the_next_append(make_session, begin, journal):
    session = make_session(faults={4: Rejected("no")})
    opened = await begin(session)
    await append(opened, "pin = wombat", source="mail-0")
    for number in (1, 2):
        await append(opened, f"k{number} = {number}", source=f"mail-{number}")
    with pytest.raises(Rejected):
        await forget(opened, source="mail-0")
    assert "wombat" in opened.newest().memory.text
    calls = session.model.calls
    await append(open_memory(session, "ada"), "k3 = 3", source="mail-3")
    assert session.model.calls - calls == 2  # one of the replay is done already
    assert opened.newest().memory.text == "k1 = 1\nk2 = 2\nk3 = 3"
    assert count_bytes(journal.path, "wombat") == 0


async def test_a_question_ends_a_forgetting_that_was_interrupted_and_waits_for_none_under_way(
    make_session, begin, journal
):
    opened = await begin(make_session(faults={2: Rejected("no")}))
    await append(opened, "pin = wombat", source="mail-0")
    await append(opened, "k1 = 1", source="mail-1")
    with pytest.raises(Rejected):
        await forget(opened, source="mail-0")
    async with opened.hold():
        assert (await ask(open_memory(make_session(), "ada"), "pin?")).answer == "pin = wombat"
    assert "wombat" not in (await ask(open_memory(make_session(), "ada"), "pin?")).answer
    assert count_bytes(journal.path, "wombat") == 0


@pytest.mark.parametrize("what", [{"source": "mail-0"}, {"text": "wombat"}])
async def test_an_interrupted_forgetting_that_is_asked_for_again_ends(make_session, begin, journal, what):
    session = make_session(faults={4: Rejected("no")})
    opened = await begin(session)
    await append(opened, "pin = wombat", source="mail-0")
    for number in (1, 2):
        await append(opened, f"k{number} = {number}", source=f"mail-{number}")
    with pytest.raises(Rejected):
        await forget(opened, **what)
    assert (await forget(opened, **what)).sources == ("mail-0",)
    assert count_bytes(journal.path, "wombat") == 0
    with pytest.raises(InputError, match="nothing to forget"):
        await forget(opened, **what)


async def test_nothing_to_forget_is_an_error(session, begin):
    opened = await begin(session)
    await append(opened, "a = 1", source="one")
    with pytest.raises(InputError, match="newest sources are: one"):
        await forget(opened, source="two")
    await append(opened, "Wanda is on parental leave. Bo is here.", source="chat")
    with pytest.raises(InputError, match="nothing to forget there; the newest"):
        await forget(opened, text="the harbour")
    with pytest.raises(InputError, match=r"nearest to these words is “Wanda is on parental leave\.” \(chat\)"):
        await forget(opened, text="Wanda's parental leave")


texts = st.lists(
    st.tuples(st.sampled_from("abc"), st.lists(st.tuples(st.sampled_from("pqrs"), st.integers(0, 3)), max_size=3)),
    min_size=2,
    max_size=7,
)


async def replay(path: Path, entries, forgotten: str | None) -> str:
    with Journal(path) as journal:
        session = Session(model=ScriptedModel(note_values, plan=PLAN), journal=journal, patience=Patience(seconds=0))
        await begin_memory(session, "m", "Everything", PLAN)
        opened = open_memory(session, "m")
        for at, (source, pairs) in enumerate(entries):
            content = f"text {at}\n" + "\n".join(f"{key} = {value}" for key, value in pairs)
            if source != forgotten or forgotten is None:
                await append(opened, content, source=source)
        return opened.newest().memory.text


@settings(max_examples=25, deadline=None)
@given(entries=texts)
def test_forgetting_a_source_is_never_having_had_it(entries):
    async def compare() -> tuple[str, str]:
        with tempfile.TemporaryDirectory() as folder:
            without = await replay(Path(folder) / "a.sqlite", entries, "a")
            await replay(Path(folder) / "b.sqlite", [*entries, ("a", [("p", 9)])], None)
            with Journal(Path(folder) / "b.sqlite") as journal:
                model = ScriptedModel(note_values, plan=PLAN)
                opened = open_memory(Session(model=model, journal=journal), "m")
                await forget(opened, source="a")
                return without, opened.newest().memory.text

    without, forgot = asyncio.run(compare())
    assert forgot == without
