"""Exported chats of WhatsApp: dates as its phones write them, and what it says itself."""

from __future__ import annotations

import pytest
from exports import ANDROID, pack

from bookwheel.documents.dispatch import detect_format
from bookwheel.documents.formats import Format
from bookwheel.documents.opening import open_document

from .test_formats import volume

WHATSAPP = {
    "android": (ANDROID, "[2022-03-12 14:08] Ada: The key is under the stone.\nIt is the grey one."),
    "german": (
        "12.03.22, 14:08 - Ada: Der Schlüssel liegt unter dem Stein.\n13.03.22, 09:05 - Bo: <Medien ausgeschlossen>\n",
        "[2022-03-12 14:08] Ada: Der Schlüssel liegt unter dem Stein.",
    ),
    "iphone": (
        "[12.03.22, 14:08:18] Ada: Hallo\n\u200e[13.03.22, 09:05:00] Bo: \u200eBild weggelassen\n",
        "[2022-03-12 14:08:18] Ada: Hallo",
    ),
    "american": (
        "3/12/22, 2:08\u202fPM - Ada: Hello\n3/13/22, 9:05\u202fAM - Bo: Hi\n",
        "[2022-03-12 14:08] Ada: Hello",
    ),
    "american iphone": (
        "[3/12/22, 12:08:18 AM] Ada: Hello\n[3/13/22, 9:05:00 PM] Bo: Hi\n",
        "[2022-03-12 00:08:18] Ada: Hello",
    ),
    "chinese": ("2022/3/12 下午2:08 - 张三: 你好\n2022/3/13 上午9:05 - 李四: 好\n", "[2022-03-12 14:08] 张三: 你好"),
    "chinese day": (
        "2022/3/5 晚上8:05 - 张三: 你好\n2022/3/6 凌晨1:05 - 李四: <省略多媒体文件>\n2022/3/6 中午12:05 - 张三: 好\n",
        "[2022-03-05 20:05] 张三: 你好\n\n[2022-03-06 01:05] 李四: <省略多媒体文件>\n\n[2022-03-06 12:05] 张三: 好",
    ),
    "chinese signs": (
        "2022年3月5日 下午2:08 - 张三: 你好\n2022年3月6日 上午9:05 - 李四: 好\n",
        "[2022-03-05 14:08] 张三: 你好",
    ),
    "korean": (
        "[2022. 3. 5. 오후 2:08:18] Ada: 안녕\n[2022. 3. 6. 오전 9:05:00] Bo: 네\n",
        "[2022-03-05 14:08:18] Ada: 안녕",
    ),
    "arabic": ("٥/٣/٢٠٢٢، ٢:٠٨ م - آدا: مرحبا\n١٥/٣/٢٠٢٢، ٩:٠٥ ص - بو: نعم\n", "[2022-03-05 14:08] آدا: مرحبا"),
    "bulgarian": ("5.03.2022 г., 14:08 - Ада: да\n15.03.2022 г., 9:05 - Бо: не\n", "[2022-03-05 14:08] Ада: да"),
    "hungarian": ("2022. 03. 05. 14:08 - Ada: szia\n2022. 03. 06. 9:05 - Bo: igen\n", "[2022-03-05 14:08] Ada: szia"),
    "thai": ("5/3/2565 14:08 - Ada: hi\n15/3/2565 09:05 - Bo: hi\n", "[2022-03-05 14:08] Ada: hi"),
    "mexican": (
        "5/3/22, 2:08 p.\u00a0m. - Ada: hola\n15/3/22, 9:05 a.\u00a0m. - Bo: <Multimedia omitido>\n",
        "[2022-03-05 14:08] Ada: hola",
    ),
    "finnish": (
        "[12.3.2022 klo 14.08.18] Ada: Moi\n[13.3.2022 klo 9.05.00] Bo: Hei\n",
        "[2022-03-12 14:08:18] Ada: Moi",
    ),
}


@pytest.mark.parametrize(("chat", "first"), WHATSAPP.values(), ids=WHATSAPP)
def test_whatsapp_is_read_in_the_order_of_its_phones_dates(tmp_path, chat, first) -> None:
    file = volume(tmp_path, "chat.txt", chat.encode())
    assert detect_format(file) is Format.WHATSAPP
    document = open_document([file.path])
    text = "".join(part.text for part in document.parts())
    assert first in text
    assert ("pictures" in " ".join(document.notes)) is (
        "edia" in chat or "Bild" in chat or "Medien" in chat or "文件" in chat
    )
    packed = volume(tmp_path, "chat.zip", pack(chat, "_chat.txt"))
    assert "".join(part.text for part in open_document([packed.path]).parts()) == text


def test_dates_that_could_be_either_are_told_by_their_order_or_said(tmp_path) -> None:
    forward = "1/2/22, 10:00 - Ada: one\n1/3/22, 10:00 - Ada: two\n1/4/22, 10:00 - Ada: three\n2/1/22, 10:00 - Ada: x\n"
    document = open_document([volume(tmp_path, "a.txt", forward.encode()).path])
    assert "[2022-01-02 10:00] Ada: one" in "".join(part.text for part in document.parts())
    assert not document.notes
    either = "1/2/22, 10:00 - Ada: one\n1/2/22, 11:00 - Ada: two\n"
    document = open_document([volume(tmp_path, "b.txt", either.encode()).path])
    assert "[2022-02-01 10:00] Ada: one" in "".join(part.text for part in document.parts())
    assert any("exchanged" in note for note in document.notes)


def test_what_whatsapp_says_itself_is_told_from_what_people_say(tmp_path) -> None:
    android = (
        "15/01/2024, 09:41 - Ada changed the subject from “Mill: old” to “Mill”\n"
        "15/01/2024, 09:42 - Ada: Meet at 10:30 - bring the key: the big one\n"
        "15/01/2024, 09:43 - Ada: plan.pdf (Datei angehängt)\nLook at the wheel\n"
    )
    document = open_document([volume(tmp_path, "chat.txt", android.encode()).path])
    assert [part.text.strip() for part in document.parts()] == [
        "[2024-01-15 09:41] WhatsApp: Ada changed the subject from “Mill: old” to “Mill”",
        "[2024-01-15 09:42] Ada: Meet at 10:30 - bring the key: the big one",
        "[2024-01-15 09:43] Ada: plan.pdf (Datei angehängt)\nLook at the wheel",
    ]
    assert any("pictures" in note for note in document.notes)
    persian = "1402/10/25, 09:44 - Bo: of another calendar\n1402/10/26, 09:44 - Ada: so it is\n"
    document = open_document([volume(tmp_path, "c.txt", persian.encode()).path])
    assert next(document.parts()).text == "[1402/10/25, 09:44] Bo: of another calendar\n\n"
    assert any("time that is none" in note for note in document.notes)
    own = "\u200e"
    iphone = (
        f"[15/01/2024, 09:41:05] {own}Ada changed the name: Mill\n[15/01/2024, 09:42:05] Bo: {own}图像已忽略\n"
        f"[15/01/2024, 09:43:05] Bo: The rent is 550 {own}<This message was edited>\n"
        f"[15/01/2024, 09:44:05] Bo: {own}This message was deleted.\n"
    )
    parts = [part.text for part in open_document([volume(tmp_path, "b.txt", iphone.encode()).path]).parts()]
    assert "WhatsApp: Ada changed the name: Mill" in parts[0]
    assert "Bo: 图像已忽略" in parts[1]
    assert "Bo: The rent is 550 <This message was edited>" in parts[2]
    assert "Bo: This message was deleted." in parts[3]


ABOVE = {
    "time first": "2025-03-02 09:14 王敏\n门锁换了\n两把\n\n2025-03-02 9:16:05 老赵(木工)\n收到: 好\n\n2025-03-03 18:22 王敏\n谢谢\n",
    "name first": "王敏 2025/3/2 09:14\n门锁换了\n两把\n\n老赵(木工)  2025/3/2 9:16:05\n收到: 好\n\n王敏 2025/3/3 18:22\n谢谢\n",
}


@pytest.mark.parametrize("chat", ABOVE.values(), ids=ABOVE)
def test_a_chat_with_time_and_name_above_each_message_is_read_turn_by_turn(tmp_path, chat):
    path = tmp_path / "群聊.txt"
    path.write_text(chat, encoding="utf-8")
    parts = list(open_document([path]).parts())
    assert [part.text for part in parts] == [
        "[2025-03-02 09:14] 王敏: 门锁换了\n两把\n\n",
        "[2025-03-02 09:16:05] 老赵(木工): 收到: 好\n\n",
        "[2025-03-03 18:22] 王敏: 谢谢\n\n",
    ]
    assert [part.at for part in parts] == ["2025-03-02 09:14", "2025-03-02 09:16:05", "2025-03-03 18:22"]


CHAT = (
    "2025-03-02 09:14 王敏\n门锁换了\n\n2025-03-02 09:16 3号楼李姐\n收到\n\n2025-03-02 09:20 007\n“好\n\n"
    "2025-03-02 09:21 王敏\nStill to come:\n2025-03-05 14:00 Dentist\nand\n\nrest.\n\n2025-03-02 10:00 a“b\nHi\n"
)


def texts(tmp_path, chat: bytes) -> list[str]:
    path = tmp_path / "a.txt"
    path.write_bytes(chat)
    return [part.text.strip() for part in open_document([path]).parts()]


def test_no_words_of_a_chat_are_put_into_the_mouth_of_another(tmp_path):
    assert texts(tmp_path, CHAT.encode()) == [
        "[2025-03-02 09:14] 王敏: 门锁换了",
        "[2025-03-02 09:16] 3号楼李姐: 收到",
        "[2025-03-02 09:20] 007: “好",
        "[2025-03-02 09:21] 王敏: Still to come:\n2025-03-05 14:00 Dentist\nand\n\nrest.",
        "[2025-03-02 10:00] a“b: Hi",
    ]
    for uncertain in (
        CHAT.replace("2025-03-05 14:00 Dentist\nand", "\n2025-03-05 14:00 Dentist\nand"),  # later than what follows
        CHAT.replace("3号楼李姐", "A: B"),
        CHAT.replace("\n收到", "\n\n收到"),
    ):
        assert texts(tmp_path, uncertain.encode()) == [uncertain.strip()]


def test_a_chat_below_its_groups_name_and_with_notices_is_a_chat(tmp_path):
    notices = (
        '2025-03-02 09:22:00 "王敏" 撤回了一条消息\n\n2025-03-02 09:23:00 "王敏"修改群名为：三号楼\n\n'
        "2025-03-02 09:24 王敏\n\n2025-03-02 10:00 a“b"
    )
    head = "群聊名称：三号楼\n导出时间：2025-03-06 21:08\n\n"
    chat = head + CHAT.replace("2025-03-02 10:00 a“b", notices)
    found = texts(tmp_path, chat.encode())
    assert found[0] == head.strip()
    assert texts(tmp_path, chat.encode("gbk")) == found
    assert found[5:] == [
        '[2025-03-02 09:22:00] note: "王敏" 撤回了一条消息',
        '[2025-03-02 09:23:00] note: "王敏"修改群名为：三号楼',
        "[2025-03-02 09:24] 王敏:",
        "[2025-03-02 10:00] a“b: Hi",
    ]


def test_a_chat_that_is_none_in_its_own_encoding_is_read_as_it_is(tmp_path):
    chat = "\xe9" + "".join(f"2025-03-02 09:1{at} {name}\nHi\n\n" for at, name in enumerate(["Ada", "Bo", "Ada"]))
    assert "".join(texts(tmp_path, chat.encode("latin-1"))) == chat.strip()


@pytest.mark.parametrize(
    "text",
    [
        "2025-03-02 09:14:07 INFO\n2025-03-02 09:14:08 ERROR\n  at line 3\n2025-03-02 09:14:09 INFO\n",
        "2025-03-02 09:14 Visit\n\nWe saw the mill.\n\n2025-03-03 10:00 Return\n\nRain.\n",
        "2025-03-02 09:14 Visit\nWe saw the mill.\n\n2025-03-03 10:00 Return\nRain.\n",
        "2025-03-02 09:14 Ada\nOne.\n\n2025-03-03 10:00 Ada\nTwo.\n",
        "Line of a long text.\n" * 20 + "\n" + CHAT,
        "Notes\n\n2025-03-02 09:14 Ada\nHello\n\n2025-03-03 10:00 Bo\nHi\n\n",
    ],
)
def test_a_log_or_a_diary_is_no_chat(tmp_path, text):
    assert detect_format(volume(tmp_path, "a.txt", text.encode())) is Format.TEXT
