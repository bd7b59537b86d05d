import json
from io import BytesIO

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bookwheel.documents import decoding
from bookwheel.documents.decoding import BLOCK, decode, decode_bytes, guess_encoding
from bookwheel.documents.sources import SourceWarnings

CHINESE = "渡口的老人说，磨坊去年秋天就停了。河水太浅，轮子转不动，他们只好把麦子运到下游去。\n" * 6
TRADITIONAL = "渡口的老人說，磨坊去年秋天就停了。河水太淺，輪子轉不動，他們只好把麥子運到下游去。\n" * 6
JAPANESE = "渡し場の老人は、水車小屋は去年の秋に止まったと言った。川が浅くて、車輪が回らなかったのです。\n" * 6
KOREAN = "나루터의 노인은 물방앗간이 지난가을에 멈췄다고 말했다. 강물이 너무 얕아서 바퀴가 돌지 않았다.\n" * 6
RUSSIAN = "Старик у переправы сказал, что мельница остановилась прошлой осенью: вода была слишком низкой.\n" * 6
POLISH = "Stary człowiek przy przeprawie powiedział, że młyn stanął zeszłej jesieni; woda była zbyt płytka.\n" * 6
GREEK = "Ο γέρος στο πέρασμα είπε ότι ο μύλος σταμάτησε το περασμένο φθινόπωρο, γιατί το νερό ήταν λίγο.\n" * 6
FRENCH = "Le vieux passeur a raconté que le moulin s'était arrêté l'été dernier, près du chêne là-bas.\n" * 6
GERMAN = "Der Fährmann erzählte, die Mühle sei schon im Frühjahr stehen geblieben; das Wasser fließe spärlich.\n" * 6


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        *((CHINESE, e) for e in ("gb18030", "gbk", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32")),
        (TRADITIONAL, "big5"),
        *((JAPANESE, e) for e in ("shift_jis", "euc_jp", "iso2022_jp", "utf-16-le")),
        (KOREAN, "euc_kr"),
        *((RUSSIAN, e) for e in ("cp1251", "koi8-r", "cp866", "iso8859-5", "utf-16-be")),
        *((POLISH, e) for e in ("cp1250", "iso8859-2")),
        *((GREEK, e) for e in ("cp1253", "utf-32-le")),
        *((FRENCH, e) for e in ("cp1252", "latin-1", "cp850", "utf-16-le", "utf-32-be")),
        *((GERMAN, e) for e in ("latin-1", "cp437")),
    ],
)
def test_a_text_in_any_common_encoding_is_read_as_it_was_written(text, encoding):
    assert decode_bytes(text.encode(encoding), "a.txt", SourceWarnings()) == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [("naïve café", "cp1252"), ("The café was “closed”.", "cp1252"), ("图书馆", "gb18030"), ("这是短文。", "gb18030")],
)
def test_a_few_words_are_read_in_the_encoding_most_met(text, encoding):
    assert decode_bytes(text.encode(encoding), "a.txt", SourceWarnings()) == text


def test_a_small_sheet_with_umlauts_and_a_sign_of_money_is_what_most_programs_write():
    text = "Rechnungen Büro;;\n;;\nNr;Lieferant;Betrag €\n1;Müller & Söhne;1.234,50\n2;Österle;99,00\nSumme;;1.333,50\n"
    assert guess_encoding(text.encode("cp1252")) == "cp1252"


def test_a_chat_with_many_signs_that_are_no_letters_is_chinese_still():
    turns = [
        f"王师傅🔧  2025年4月{day}日 上午8:05\nOK👌\n\n老周  2025年4月{day}日 晚上9:41\n[链接]\n\n"
        for day in range(1, 29)
    ]
    text = "群：装修受害者联盟(5)\n—————————————\n\n" + "".join(turns)
    assert decode_bytes(text.encode("gb18030"), "a.txt", SourceWarnings()) == text


def test_a_sign_of_money_is_more_likely_than_a_letter_before_figures():
    rows = "".join(f"0{day}/04/25;Café Bösendorf;£{day}24.71CR\n" for day in range(1, 9))
    assert decode_bytes(rows.encode("cp1252"), "a.csv", SourceWarnings()) == rows


@pytest.mark.parametrize("encoding", ["cp437", "cp850"])
def test_a_list_that_dos_printed_is_no_row_of_signs(encoding):
    rows = [
        "Bäckerei Öhlschläger GmbH   OFFENE POSTEN",
        "Gasthof zum Schwänle  1.240,50",
        "Straßenfest Komitee   150,00-",
    ]
    text = "".join(f"10021  {row}\r\n" for row in rows * 3)
    assert decode_bytes(text.encode(encoding), "a.lst", SourceWarnings()) == text


def test_a_guess_is_told_and_certainty_is_not():
    notes = SourceWarnings()
    decode_bytes(CHINESE.encode("gb18030"), "old.txt", notes)
    decode_bytes(CHINESE.encode(), "new.txt", notes)
    decode_bytes(FRENCH.encode("latin-1"), "declared.html", notes, "iso-8859-1")
    assert notes.lines() == ("the encoding is a guess: old.txt (gb18030)",)


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030", "big5", "shift_jis", "cp1252"])
def test_the_encoding_is_found_where_the_first_foreign_character_stands(encoding):
    tail = {"gb18030": CHINESE, "big5": TRADITIONAL, "shift_jis": JAPANESE}.get(encoding, FRENCH)
    for before in (10, 40_000, BLOCK - 1, BLOCK, BLOCK + 7):
        text = "a" * before + tail
        assert decode_bytes(text.encode(encoding), "a.txt", SourceWarnings()) == text


def test_a_character_across_the_end_of_a_sample_does_not_spoil_the_guess():
    text = "渡口的老人说磨坊停了河水太浅" * 4000
    for lead in ("", "x", "xx"):
        assert decode_bytes((lead + text).encode("gb18030"), "a.txt", SourceWarnings()) == lead + text


@pytest.mark.parametrize("charset", ["zlib", "rot13", "idna", "unicode_escape", "no-such-thing", "undefined", "x\0y"])
def test_a_declared_charset_that_is_none_is_passed_over(charset):
    assert decode_bytes(CHINESE.encode(), "a.txt", SourceWarnings(), charset) == CHINESE


def test_a_declared_charset_that_does_not_fit_is_passed_over():
    assert decode_bytes(CHINESE.encode("gb18030"), "a.txt", SourceWarnings(), "utf-8") == CHINESE


def test_bytes_that_do_not_decode_stay_visible_and_are_counted():
    data = CHINESE.encode() + b"broken \xff\xfe here\n" + CHINESE.encode()
    notes = SourceWarnings()
    assert decode_bytes(data, "a.txt", notes) == f"{CHINESE}broken \\xff\\xfe here\n{CHINESE}"
    assert notes.lines() == (r"bytes that are invalid in their file's encoding are shown as \xNN: a.txt (2 bytes)",)


def test_a_multibyte_file_that_ends_in_the_middle_of_a_character_keeps_the_stray_byte():
    for encoding in ("utf-8", "gb18030", "utf-16-le"):
        data = CHINESE.strip().encode(encoding)[:-1]
        text = decode_bytes(data, "a.txt", SourceWarnings(), encoding)
        assert text.startswith(CHINESE.strip()[:-1])
        assert "\\x" in text[-8:]


@pytest.mark.parametrize(
    "text", ["one\r\ntwo\rthree\n\r\n", "a\0b\0\0c", "ab\0cd", "\x0cpage\x0b\x1b[31mred", "\u2028\x85", ""]
)
def test_line_ends_nuls_and_controls_are_left_as_they_are(text):
    assert decode_bytes(text.encode(), "a.txt", SourceWarnings()) == text


READABLE = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\r\t"))


@given(READABLE, st.integers(1, 50))
def test_utf8_text_comes_back_whole_however_it_is_streamed(text, size):
    text = text.lstrip("\ufeff")
    stream = BytesIO(text.encode())
    assert "".join(decode(lambda _: stream.read(size), "a.txt", SourceWarnings())) == text


@given(st.binary(max_size=300))
def test_no_byte_is_lost_whatever_the_bytes(data):
    marks = (b"\xff\xfe\0\0", b"\0\0\xfe\xff", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\x84\x31\x95\x33")
    assume(data not in marks)
    assume(b"\x1b$" not in data)
    text = decode_bytes(data, "a.bin", SourceWarnings())
    assert bool(text) == bool(data)


@pytest.mark.parametrize(
    ("new", "old", "encoding"),
    [
        ("Zoë Café, Brücke 9\n", "José Núñez, Gässchen 2, 5 €\n", "cp1252"),
        (
            "仇记干货,香菇,55.00,未付\n庞氏鱼行,鲫鱼,72.80,已付\n",
            "邱家菜摊,萝卜 白菜,36.50,已付\n老庞豆腐,豆腐,18.00,未付\n",
            "gb18030",
        ),
    ],
)
def test_lines_of_another_program_beside_those_in_utf8_are_read_and_said(new, old, encoding):
    warnings = SourceWarnings()
    assert decode_bytes(old.encode(encoding) + new.encode(), "a.csv", warnings) == old + new
    assert warnings.lines() == (f"lines in UTF-8, and others whose encoding is a guess: a.csv ({encoding})",)
    assert decode_bytes((new + old).encode(encoding), "a.csv", SourceWarnings()) == new + old


@pytest.mark.parametrize(
    "text",
    ["CAFÉ\xa0: 3 euros\nTHÉ\xa0: 2 euros\nDÎNER\xa0: 20 euros\n", f"{FRENCH}Le moulin a été\xa0» fermé.\n{FRENCH}"],
)
def test_an_accent_before_a_hard_blank_makes_no_line_one_in_utf8(text):
    warnings = SourceWarnings()
    assert decode_bytes(text.encode("cp1252"), "a.txt", warnings) == text
    assert [line[:27] for line in warnings.lines()] == ["the encoding is a guess: a."]
    mixed = f"{text}CAFÉ\n".encode("cp1252") + "Zoë → Brücke 9\n乌镇 5\n".encode()
    assert decode_bytes(mixed, "a.txt", SourceWarnings()) == f"{text}CAFÉ\nZoë → Brücke 9\n乌镇 5\n"


def test_a_line_without_end_in_a_file_of_two_encodings_is_not_held_until_it_ends(monkeypatch):
    monkeypatch.setattr(decoding, "_LONGEST_LINE", 300)
    head = ("José\n" * 9000).encode("cp1252") + "Zoë Brücke\n".encode()
    stream = BytesIO(head + "wörter und ".encode() * 20_000)
    sizes = []

    def read(_):
        sizes.append(stream.tell())
        return stream.read(70_000 if len(sizes) == 1 else 101)

    texts = list(decode(read, "a.txt", SourceWarnings()))
    assert "".join(texts) == "José\n" * 9000 + "Zoë Brücke\n" + "wörter und " * 20_000
    assert len(texts) > 100
    assert max(map(len, texts[2:])) < 500


@pytest.mark.parametrize("size", [1, 7, BLOCK])
def test_escaped_letters_of_json_are_letters_and_signs_stay_escaped(size):
    value = {"from": "王师傅🔧", "said": 'a "quote", \\u738b and\tß <b>', "lone": "\ud83d"}
    text = json.dumps([value] * 3) + "\n<html>502</html>"
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    found = "".join(decoding.resolve_escapes(pieces))
    assert found.count("王师傅🔧") == 3
    assert found.count(r"\\u738b and\tß <b>") == 3
    assert found.count(r"\ud83d") == 3
    assert json.loads(found.partition("\n")[0]) == [value] * 3


@pytest.mark.parametrize("size", [70_001, 70_004, 70_007])
def test_an_escape_between_two_pieces_without_blanks_is_one(size):
    text = json.dumps("\N{WRENCH}字\\u5b57" * 20_000)
    found = "".join(decoding.resolve_escapes([text[at : at + size] for at in range(0, len(text), size)]))
    assert json.loads(found) == json.loads(text)
    assert found.count("\N{WRENCH}字") == 20_000


def test_what_cannot_be_printed_stays_escaped():
    text = json.dumps("\u2028\u202e\u200b\ufeff\ue000")
    assert "".join(decoding.resolve_escapes([text])) == text
