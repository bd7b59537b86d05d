"""A correction puts words right that only the texts have, holds over later texts, and goes with what it corrected."""

from __future__ import annotations

import pytest
from value_notes import count_bytes

from bookwheel.errors import InputError
from bookwheel.memory.append import append
from bookwheel.memory.editing import apply_changes, edit
from bookwheel.memory.forgetting import forget
from bookwheel.memory.record import update_to_json
from bookwheel.memory.text_index import rank_passages

pytestmark = pytest.mark.anyio

TOLD = "Ada sings. The choir meets\non Tuesday at six. Bring cake."
CORRECTED = "The choir meets on Thursday at six."


def list_sources(opened) -> list[str]:
    """Return what has the words of a question, the newest first."""
    passages = rank_passages(opened, "When does the choir meet?", opened.newest(), None)
    newest = sorted(passages, key=lambda one: one.text.instant, reverse=True)
    return [one.text.source for one in newest if "choir" in one.words]


@pytest.fixture
async def opened(session, begin):
    memory = await begin(session)
    await append(memory, TOLD, source="mail-1", at="2026-01-01")
    await append(memory, "room = 12", source="mail-2", at="2026-01-02")
    return memory


async def test_a_sentence_that_only_a_text_has_is_put_right_and_supersedes_it(opened):
    calls = opened.session.model.calls
    update = await edit(opened, "Tuesday", "Thursday")
    assert [(str(line.kind), line.text) for line in update.changes] == [("new", CORRECTED)]
    assert opened.session.model.calls == calls
    await append(opened, "room = 13", source="mail-3", at="2026-01-03")
    # The reader words its memory anew, without the line; what somebody said by hand holds all the same.
    assert CORRECTED not in opened.newest().memory.text
    assert list_sources(opened) == ["by hand", "mail-1"]


async def test_a_correction_that_a_full_memory_has_no_room_for_answers_beside_it(opened):
    await append(opened, "\n".join(f"bench{n} = {n}" for n in range(17)), source="mail-3", at="2026-01-03")
    before = opened.newest().memory
    update = await edit(opened, "Tuesday", "Thursday")
    assert update.after.memory.text == before.text
    assert update.notes == (f"the memory has no room for {CORRECTED!r}: it is kept beside it, and answers",)
    assert list_sources(opened) == ["by hand", "mail-1"]
    assert update_to_json("ada", update)["changes"] == [{"kind": "new", "text": CORRECTED}]
    await edit(opened, "on Thursday", "on Friday")
    by_hand = [one.words for one in rank_passages(opened, "the choir?", opened.newest(), None) if not one.text.number]
    assert by_hand == [CORRECTED.replace("Thursday", "Friday")]
    again = update_to_json("ada", await edit(opened, by_hand[0], ""))
    assert again["changes"] == [{"kind": "gone", "text": CORRECTED.replace("Thursday", "Friday")}]
    assert list_sources(opened) == ["mail-1"]


async def test_a_correction_of_an_earlier_day_is_older_than_what_came_after_that(opened):
    await append(opened, "The choir meets on Friday at six.", source="mail-3", at="2026-02-01")
    update = await edit(opened, "Tuesday", "Thursday", at="2026-01-15")
    assert update.after.kept.startswith("2026-01-15")
    assert list_sources(opened) == ["mail-3", "by hand", "mail-1"]
    with pytest.raises(InputError, match="2999-01-01 is to come"):
        await edit(opened, "Thursday", "Monday", at="2999-01-01")


async def test_words_are_found_over_line_ends_and_in_the_turn_of_who_said_them(opened):
    await edit(opened, "meets on Tuesday", "meets on Friday")
    assert "The choir meets on Friday at six." in opened.newest().memory.text
    talk = "[2026-02-01 10:00] Bo: Hello.\n[2026-02-01 10:01] Bo: Well. My doctor is Vix.\n[2026-02-01 10:02] Cy: Mine too."
    await append(opened, talk, source="chat")
    await edit(opened, "Vix", "Orm")
    assert opened.newest().memory.text.splitlines()[-1] == "Bo: My doctor is Orm."
    table = "day,room\n" + "\n".join(f"day {at},room {at}" for at in range(60))
    await append(opened, table, source="rooms.csv")
    await edit(opened, "room 41", "room 5")
    assert opened.newest().memory.text.splitlines()[-1] == "day 41,room 5"


async def test_only_whole_words_are_put_right_and_a_speaker_is_named_once(opened):
    await append(opened, "The cats eat. Concatenate the cat. It is the 112 for 12.", source="notes")
    await edit(opened, "cat", "dog")
    assert opened.newest().memory.text.splitlines()[-1] == "Concatenate the dog."
    await append(opened, "周会在12号楼。", source="zh")
    await edit(opened, "在12号", "在15号")
    assert opened.newest().memory.text.splitlines()[-1] == "周会在15号楼。"
    await append(opened, "Old crew: Ann. Old crew: Bo.", source="crews")
    await edit(opened, "Old crew", "New crew")
    assert opened.newest().memory.text.splitlines()[-2:] == ["New crew: Ann.", "New crew: Bo."]


async def test_a_correction_of_a_text_is_one_line_that_goes_with_it(opened):
    await edit(opened, "on Tuesday", "on\nThursday")
    assert CORRECTED in opened.newest().memory.text.splitlines()
    await forget(opened, source="mail-1")
    assert list_sources(opened) == []


async def test_a_sentence_of_a_diary_keeps_its_day_and_what_it_is_about(opened):
    diary = "3 January 2020\nFelix has a fever of 39.4. Amoxicillin, seven days.\n\n4 January 2020\nNo.\n\n5 January 2020\nYes.\n"
    await append(opened, diary, source="diary", at="2020-01-05")
    await edit(opened, "Amoxicillin, seven", "Amoxicillin, ten")
    lines = opened.newest().memory.text.splitlines()
    assert lines[-1] == "3 January 2020 Felix has a fever of 39.4. Amoxicillin, ten days."
    await edit(opened, lines[-1], "")
    await edit(opened, "39.4", "38.4")
    await edit(opened, "Amoxicillin, seven", "Amoxicillin, ten")
    assert opened.newest().memory.text.splitlines()[-2:] == [
        "3 January 2020 Felix has a fever of 38.4.",
        "3 January 2020: Amoxicillin, ten days.",
    ]


async def test_a_longer_line_in_the_place_of_one_of_a_full_memory_answers_beside_it(opened):
    await append(opened, "\n".join(f"bench{n} = {n}" for n in range(17)), source="mail-3", at="2026-01-03")
    longer = "bench3 = 3 and 4 and 5 and 6 and 7 and 8 and 9 and 10"
    update = await edit(opened, "bench3 = 3", longer)
    assert update.notes == (f"the memory has no room for {longer!r}: it is kept beside it, and answers",)
    assert "bench3" not in update.after.memory.text
    by_hand = [one.words for one in rank_passages(opened, "bench3?", opened.newest(), None) if not one.text.number]
    assert by_hand == [longer]
    with pytest.raises(InputError, match="shorten it"):
        await edit(opened, "", "\n".join(f"seat{n} = {n}" for n in range(60)))


async def test_a_line_that_was_put_right_meanwhile_is_not_put_right_beside_that(opened):
    await edit(opened, "", "The walk takes 41 minutes.")
    await edit(opened, "The walk takes 41 minutes.", "The walk takes 43 minutes.")
    with pytest.raises(InputError, match=r"put right already, and the memory says 'The walk takes 43 minutes\.'"):
        await edit(opened, "The walk takes 41 minutes.", "The walk takes 39 minutes.")
    await edit(opened, "43 minutes", "39 minutes")
    assert opened.newest().memory.text == "The walk takes 39 minutes."


async def test_blank_words_are_no_words_to_correct(opened):
    for blank in ("\n", "  "):
        with pytest.raises(InputError, match="blank"):
            await edit(opened, blank, "XX")


async def test_words_of_too_many_sentences_are_told_without_looking_at_all(opened, monkeypatch):
    await append(opened, "\n".join(f"Bo: the bell {at} rings." for at in range(60)), source="talk")
    monkeypatch.setattr("bookwheel.memory.editing.find_turn", None)
    with pytest.raises(InputError, match="more than 5"):
        await edit(opened, "bell", "gong")


async def test_a_whole_statement_needs_no_words_of_the_texts(opened):
    await edit(opened, "they come on Tuesdays", "the choir meets on Thursday at six")
    assert opened.newest().memory.text.splitlines()[-1] == "the choir meets on Thursday at six"
    assert list_sources(opened) == ["by hand", "mail-1"]
    # It is said in words of its own, so it goes with no text.
    await forget(opened, source="mail-1")
    assert list_sources(opened) == ["by hand"]


async def test_what_nobody_says_is_no_correction_nor_are_words_of_many_sentences_or_none(opened):
    with pytest.raises(InputError, match="neither the memory nor its texts say 'Sunday'"):
        await edit(opened, "Sunday", "Monday")
    with pytest.raises(InputError, match="whole sentence"):
        await edit(opened, "on Sunday in June", "on Monday in May")
    with pytest.raises(InputError, match="forgotten"):
        await edit(opened, "on Tuesday", "")
    await append(opened, " ".join(f"Bell {at} rings at noon." for at in range(9)), source="bells")
    with pytest.raises(InputError, match="more than 5 sentences of the texts say 'noon'"):
        await edit(opened, "noon", "one")
    await edit(opened, "Bell 4 rings at noon", "Bell 4 rings at one")
    assert "Bell 4 rings at one." in opened.newest().memory.text


async def test_a_correction_goes_with_the_last_text_that_has_its_sentence(opened, journal):
    await append(opened, TOLD, source="mail-3")
    await edit(opened, "Tuesday", "Thursday")
    await forget(opened, source="mail-1")
    assert CORRECTED in opened.newest().memory.text
    stone = await forget(opened, source="mail-3")
    assert opened.newest().memory.text == "room = 12"
    assert count_bytes(journal.path, "choir") == 0
    assert [(one.kind, one.line) for one in stone.changed] == [("gone", 2)]


async def test_a_correction_outlives_the_words_that_it_corrected(opened, journal):
    await edit(opened, "Tuesday", "Thursday")
    await edit(opened, "room = 12", "room = 31")
    await forget(opened, text="Tuesday")
    await forget(opened, text="room = 12")
    assert set(opened.newest().memory.text.splitlines()) == {CORRECTED, "room = 31"}
    assert count_bytes(journal.path, "Tuesday") == 0
    assert list_sources(opened)[0] == "by hand"


async def test_a_correction_goes_with_its_text_after_words_of_it_were_forgotten(opened):
    await edit(opened, "Tuesday", "Thursday")
    await forget(opened, text="Tuesday")
    assert CORRECTED in opened.newest().memory.text
    await forget(opened, source="mail-2")
    assert opened.newest().memory.text == CORRECTED
    await forget(opened, source="mail-1")
    assert opened.newest().memory.text == ""
    assert list_sources(opened) == []


async def test_nothing_is_kept_of_a_deletion_of_words_that_were_forgotten(opened):
    await edit(opened, "room = 12", "")
    await forget(opened, text="room = 12")
    assert all(changes == () for _, changes in opened.tables.list_edits(opened.record.number))
    assert apply_changes("a\n\nb", [("", "c"), ("", "")]) == ("a\n\nb\nc", [("", "c")])


@pytest.fixture
async def reworded(opened):
    """A memory whose reader words it anew, without the line by hand."""
    await edit(opened, "Tuesday", "Thursday")
    await append(opened, "room = 13", source="mail-3", at="2026-01-03")
    assert CORRECTED not in opened.newest().memory.text
    return opened


def list_written_words(opened) -> list[str]:
    passages = rank_passages(opened, "When does the choir meet?", opened.newest(), None)
    return [one.words for one in passages if one.text.source == "by hand"]


@pytest.mark.parametrize("old", ["Thursday", "Tuesday"])
async def test_a_line_by_hand_is_corrected_again_where_the_reader_has_worded_it_anew(reworded, journal, old):
    await edit(reworded, old, "Friday")
    friday = CORRECTED.replace("Thursday", "Friday")
    assert list_written_words(reworded) == [friday]
    await forget(reworded, source="mail-2")
    assert list_written_words(reworded) == [friday]
    await forget(reworded, source="mail-1")
    assert list_written_words(reworded) == []
    assert count_bytes(journal.path, "choir") == 0


async def test_a_line_by_hand_is_taken_back_where_the_reader_has_worded_it_anew(reworded):
    await append(reworded, "lamp = 3", source="mail-4", at="2026-01-04")
    await edit(reworded, CORRECTED, "")
    assert list_written_words(reworded) == []
    await forget(reworded, source="mail-4")
    assert list_written_words(reworded) == []


async def test_another_correction_of_a_sentence_takes_the_place_of_the_first(opened):
    await edit(opened, "Tuesday", "Thursday")
    for day in ("Friday", "Friday"):
        await edit(opened, "Tuesday", day)
        assert opened.newest().memory.text.splitlines() == ["room = 12", CORRECTED.replace("Thursday", day)]
        assert list_written_words(opened) == [CORRECTED.replace("Thursday", day)]


async def test_a_slip_in_words_of_the_memory_is_told(opened):
    with pytest.raises(InputError, match="but 'room = 12'"):
        await edit(opened, "room =12", "room = 31 in house B")
