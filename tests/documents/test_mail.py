"""Mail: the message first, then each attachment under a line with its name."""

import time
from email.message import EmailMessage

from conversion import convert

from bookwheel.documents.opening import open_document


def letter(**headers):
    message = EmailMessage()
    for name, value in {"Subject": "Lamp oil", "From": "keeper@example.org", **headers}.items():
        message[name] = value
    message.set_content("Please send oil.\n")
    return message


def parts_of(message, tmp_path):
    (tmp_path / "a.eml").write_bytes(bytes(message))
    return convert(tmp_path / "a.eml")


def test_an_attachment_stands_under_its_name_and_ends_with_a_blank_line(tmp_path):
    message = letter()
    message.add_attachment("Barrels: 4\n", filename="stores.txt")
    message.add_attachment("Wicks: 12\n", filename="more.txt")
    parts, notes = parts_of(message, tmp_path)
    text = "".join(part.text for part in parts)
    behind = text[text.index("=====") :]
    assert behind == "===== stores.txt =====\nBarrels: 4\n\n===== more.txt =====\nWicks: 12\n\n"
    assert notes == ()


def test_each_part_names_the_message_and_its_attachment(tmp_path):
    message = letter()
    message.add_attachment("Barrels: 4\n", filename="stores.txt")
    parts, _ = parts_of(message, tmp_path)
    assert {part.source for part in parts} == {"a.eml", "a.eml#stores.txt"}


def test_an_attachment_without_a_name_gets_a_number(tmp_path):
    message = letter()
    message.add_attachment("Barrels: 4\n")
    parts, _ = parts_of(message, tmp_path)
    assert "===== attachment 1" in "".join(part.text for part in parts)


def test_an_empty_attachment_is_told(tmp_path):
    message = letter()
    message.add_attachment(b" ", maintype="application", subtype="octet-stream", filename="stores.bin")
    assert parts_of(message, tmp_path)[1] == ("attachments that are empty: a.eml#stores.bin",)


def test_a_forwarded_message_is_read_as_one(tmp_path):
    inner = letter(Subject="Wicks")
    message = letter()
    message.add_attachment(inner)
    text = "".join(part.text for part in parts_of(message, tmp_path)[0])
    assert text.count("Please send oil.") == 2
    assert text.index("=====") < text.index("Wicks")


def test_a_line_of_a_text_that_begins_with_from_parts_no_mailbox(tmp_path):
    (tmp_path / "a.mbox").write_text(
        "From a@b.c Tue Mar  4 09:30:00 2025\nFrom: Bill <a@b.c>\nSubject: lunch\n\nLunch is at noon.\n"
        "From Tuesday on the canteen is run by Vane.\nBring your cup.\n\nFrom May on it is closed.\n"
        "From d@e.f Wed Mar  5 07:00:00 +0000 2025\nFrom: Cy <d@e.f>\n\nMina has the key.\n\n"
        "From g@h.i\nFrom: Di <g@h.i>\n\nNothing.\n"
    )
    document = open_document([tmp_path / "a.mbox"])
    text = "".join(part.text for part in document.parts())
    assert text.count("===== message") == 3
    assert "From Tuesday on the canteen is run by Vane.\nBring your cup.\n\nFrom May on it is closed." in text
    assert document.notes == ()


def test_a_mail_that_breaks_off_is_read_as_far_as_it_goes_and_named(tmp_path):
    path = tmp_path / "cut.eml"
    whole = (
        "From: a@b.c\nSubject: flour\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\nThe list is attached.\n--x\n"
        "Content-Type: text/csv; name=flour.csv\nContent-Transfer-Encoding: base64\n\ncnllLDMxCm1haXplLDYK"
    )
    path.write_text(f"{whole}\n--x--\n")
    assert convert(path)[1] == ()
    path.write_text(whole[:-2])
    parts, notes = convert(path)
    assert "rye" in "".join(part.text for part in parts)
    broken = "parts of messages that break off, or are not in the code that they name: cut.eml, cut.eml#flour.csv"
    assert broken in notes


def test_a_paragraph_that_its_program_broke_is_one_line_again(tmp_path):
    lines = ["We deliver on 12 Janu ", "ary 2026.", "> at most ", "> 7,000 ", ">> Oak: 7,400.", "-- ", "Quaye"]
    head = b"From: a@b.example\r\nSubject: x\r\nContent-Type: text/plain; format=flowed"
    for delsp, date in ((b"; delsp=yes", "12 January 2026."), (b"", "12 Janu ary 2026.")):
        (tmp_path / "a.eml").write_bytes(head + delsp + b"\r\n\r\n" + "\r\n".join(lines).encode())
        text = "".join(part.text for part in convert(tmp_path / "a.eml")[0])
        assert f"We deliver on {date}\n" in text
        assert ("at most7,000" if delsp else "at most 7,000") in text
        assert "\n>> Oak: 7,400.\n-- \nQuaye" in text


def test_a_broken_paragraph_of_a_whole_mail_is_joined_at_once(tmp_path):
    lines = "words of it \n" * 100_000
    (tmp_path / "a.eml").write_text(f"From: a@b.example\nContent-Type: text/plain; format=flowed\n\n{lines}end\n")
    begun = time.process_time()
    assert "words of it words" in convert(tmp_path / "a.eml")[0][0].text
    assert time.process_time() - begun < 5


def test_a_header_in_the_bytes_of_an_old_program_is_read(tmp_path):
    data = "From: Jörg <j@b.example>\nSubject: Stör am Wehr\n\nSixteen.\n".encode("latin-1")
    (tmp_path / "a.eml").write_bytes(data)
    assert "From: Jörg <j@b.example>\nSubject: Stör am Wehr" in convert(tmp_path / "a.eml")[0][0].text
    (tmp_path / "a.mbox").write_bytes(b"From j@b.example Mon Nov  3 10:00:00 2025\n" + data)
    assert any("Jörg" in part.source for part in convert(tmp_path / "a.mbox")[0])


def test_a_mail_of_another_system_is_one_of_its_own_in_a_mailbox(tmp_path):
    mails = [f"From j@b.example Mon Nov  3 10:00:0{at} 2025\nFrom: j@b.example\n\nLeaf {at}.\n\n" for at in range(3)]
    for end in ("\r", "\r\n", "\n"):
        (tmp_path / "a.mbox").write_bytes(f"{mails[0]}{mails[1].replace(chr(10), end)}{mails[2]}".encode())
        parts, notes = convert(tmp_path / "a.mbox")
        text = "".join(part.text for part in parts)
        assert text.count("===== message") == 3
        assert all(f"Leaf {at}." in text for at in range(3))
        assert notes == ()


def test_a_header_in_windows_japanese_under_another_name_is_read(tmp_path):
    import base64

    def word(text, named):
        return f"=?{named}?B?{base64.b64encode(text.encode('cp932')).decode()}?="

    head = (
        f"From: {word('検査係 髙橋﨑', 'Shift_JIS')} <k@b.example>\nSubject: {word('検査結果①', 'iso-2022-jp')}\n\nx\n"
    )
    (tmp_path / "a.eml").write_text(head)
    assert "From: 検査係 髙橋﨑 <k@b.example>\nSubject: 検査結果①" in convert(tmp_path / "a.eml")[0][0].text
