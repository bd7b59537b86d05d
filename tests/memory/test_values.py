"""The newest value of what was asked for, among texts of many dates."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bookwheel.journal.memory_rows import MemoryText
from bookwheel.memory.passages import MemoryPassage, PassageDocument
from bookwheel.memory.values import find_rivals, find_told, list_newest, says_more


def gather(*entries: str) -> PassageDocument:
    """Return a document of passages, one of each month."""
    passages = []
    for number, words in enumerate(entries, start=1):
        day = f"2026-{number:02}-01T00:00:00+00:00"
        text = MemoryText(
            number=number, source=str(number), at=day, arrived=day, sha256="", characters=len(words), position=0
        )
        passages.append(MemoryPassage(text=text, start=0, words=words))
    return PassageDocument(passages, has_headers=False)


@pytest.mark.parametrize(
    ("question", "entries", "value"),
    [
        (
            "Where does the fuse box go?",
            ("The fuse box goes into the pantry.", "The fuse box can't go there. It goes under the stairs."),
            "under the stairs",
        ),
        (
            "外婆的体检在哪天?",
            ("外婆的体检约在三月五日上午,在第二医院。", "体检改到三月九日了,医生那天才有空。"),
            "九日",
        ),
        (
            "When is the pick-up planned?",
            ("Pick-up is planned for 9 March.", "The carrier called: the pick-up is moved to 11 March."),
            "11 March",
        ),
        ("外婆的生日宴在哪里？", ("外婆的生日宴在聚福楼。", "没有包间了，生日宴改到荷风轩。"), "荷风轩"),
        ("What is Ada Quill's address?", ("Ada Quill sent two photos.", "Ada Quill signed."), "photos"),
        (
            "Which membrane is to be laid?",
            ("We lay the membrane EVALON.", "Subject: change of the membrane for Este\n\nThe scaffold goes up."),
            "EVALON",
        ),
        ("What does the boat cost?", ("The boat costs EUR 40.", "The boat is new and white now."), "EUR 40"),
        (
            "Who is my dentist?",
            ("My dentist is Vix, whom Ilse from the choir recommended after her crown broke.", "My dentist is Orm."),
            "Orm",
        ),
        (
            "What is the wifi password?",
            ("The wifi password is blue-whale-22, ask Ilse at the desk.", "Wifi password: red-fox-9."),
            "red-fox",
        ),
        (
            "When is the concert?",
            ("The concert is on 3 May 2026 in the old town hall, doors at seven.", "Concert: 14 June 2026."),
            "14 June",
        ),
        ("What is the date?", ("The date is 3 May 2026.", "Date: 14 June 2026"), "14 June"),
        ("When is the concert?", ("The concert is on 3 May.", "Subject: Concert on 14 June\n\nSee you."), "14 June"),
        ("Who leads the choir?", ("Ada leads the choir.", "The choir sang in Este."), "Ada"),
    ],
)
def test_a_later_line_with_the_words_or_with_a_change_holds(question, entries, value) -> None:
    document = gather(*entries)
    assert value in list_newest(entries[0], question, document)[0]


def test_a_later_line_by_hand_holds_with_some_of_the_words() -> None:
    told, written = "Vix asks 3,960 for the gas boiler.", "Vix came: 3,690 for a gas boiler"
    first, second = gather(told, written).passages[::-1]
    by_hand = PassageDocument([first, replace(second, text=replace(second.text, number=0))], has_headers=False)
    question = "What does Vix ask for the gas boiler?"
    assert list_newest(told, question, by_hand) == [written, told]
    assert list_newest(told, question, gather(told, written)) == [told]


def test_a_later_turn_of_the_same_talk_holds() -> None:
    talk = "[2026-03-01 09:00] Ada: The rent is 500.\n\n[2026-03-01 12:00] Bo: The rent is 550 from May.\n\n"
    assert "550" in list_newest("The rent is 500.", "What is the rent?", gather(talk))[0]
    assert list_newest("The rent is 550 from May.", "What is the rent?", gather(talk)) == ["The rent is 550 from May."]
    talk = "[2026-03-01 10:00] Ada: My rent is 550.\n\n[2026-03-01 18:00] Ada: My rent is 600."
    assert "600" in list_newest("My rent is 550.", "What is Ada's rent?", gather(talk))[0]
    # What is no talk goes on, and takes nothing back.
    assert list_newest("The rent is 500.", "What is the rent?", gather("The rent is 500.\nThe rent of B is 550.")) == [
        "The rent is 500."
    ]


def test_a_turn_tells_what_its_speaker_is_asked_about() -> None:
    document = gather(
        "Ilse: My dentist is Vix.\n", "Ilse: I had to find a new dentist. Now I have Orm.\nBo: My dentist is Lu.\n"
    )
    assert "Orm" in find_told("What is Ilse's dentist called?", document)
    assert not find_told("What is Ilse's parrot called?", document)
    assert not find_told("What is the dentist called?", document)


def test_what_is_nobodys_own_is_told_by_any_speaker() -> None:
    document = gather(
        "Mira: The keys for the shed are with Tomasz now.\nJoel: Who is the landlord?\n",
        "Ida: The landlord is called Brandsma now.\nJoel: I met our landlord Vix.\n",
    )
    assert "Brandsma" in find_told("Who is the landlord?", document)
    assert "Tomasz" in find_told("Who has the keys for the shed?", document)
    assert not find_told("What colour are the keys for the shed?", document)
    chat = gather("林岚: 外婆的体检约在三月五日上午,在第二医院。\n周启: 好的,谁陪她去?\n")
    assert "第二" in find_told("体检在哪家医院?", chat)
    assert not find_told("外婆的生日是哪天?", chat)
    assert not find_told("Who is the landlord?", gather("The landlord is called Brandsma now."))


def test_an_answer_that_says_all_and_more_stays() -> None:
    assert says_more("Este, Padua, Lugo", "Este, Lugo")
    assert says_more("Este", "The document does not say.")
    assert not says_more("Este", "Este")
    assert not says_more("Este, Padua", "Lugo")


def test_a_line_that_shares_only_a_name_with_the_answer_is_not_superseded_by_it() -> None:
    question, answer = "Which Margaret sold her shop, and for how much?", "Margaret Purvis, for 500."
    entries = (
        "Aunt Margaret had her jab.",
        "Margaret Purvis sold her shop for 400.",
        "Margaret Purvis sold her shop for 500.",
    )
    document = gather(*entries, "Aunt Margaret came on Thursday.")
    whole = document.slice(0, document.length)

    def find(words: str) -> list[str]:
        quote = document.quote(whole.find(words), whole.find(words) + len(words))
        return [one.quote for one in find_rivals(answer, [quote] if quote else [], question, document)]

    assert find("Aunt Margaret came on Thursday.") == []
    homes = gather("Ada's home is in Padua.", "Ada's home is in Este.")
    quotes = [homes.quote(0, 22)]
    assert quotes[0]
    assert [one.quote for one in find_rivals("Este.", quotes, "Where does Ada live?", homes)] == [
        "Ada's home is in Padua."
    ]
    assert find(entries[2]) == [entries[1]]


def test_the_name_of_a_file_is_no_words_of_its_text() -> None:
    document = gather("===== letter.txt =====\nEsk Terrace, 3rd October 2022\n\nDear Nora,\n")
    assert document.slice(0, document.length).startswith("Esk Terrace")
    quote = document.quote(0, 11)
    assert quote
    assert (quote.quote, quote.start) == ("Esk Terrace", 23)


def test_a_day_is_shown_as_a_day_and_a_time_as_a_time() -> None:
    quote = gather("Dear Nora,").quote(0, 4)
    assert quote
    assert quote.describe_place() == "1 · 2026-01-01"
    assert replace(quote, at="2026-01-01T09:00:00+00:00").describe_place() == "1 · 2026-01-01T09:00:00+00:00"
