from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from bookwheel.lab.training.chat import ChatCodec, export_tokenizer
from bookwheel.text.tokens import FileTokenizer
from bookwheel.types import Message

CHATS = (
    (Message(role="user", content="oak has red ."),),
    (Message(role="user", content=""),),
    (Message(role="user", content="oak <|reply|> has"), Message(role="assistant", content="red <|end|>")),
    (
        Message(role="user", content="calc ( 1 )"),
        Message(role="assistant", content="2"),
        Message(role="user", content="unknown wörds \n and  blanks"),
    ),
)


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("chat", CHATS)
def test_ids_are_those_of_the_tokenizers_own_chat_call(still_policy, chat, closed):
    tokenizer = still_policy.tokenizer
    plain = [{"role": one.role, "content": one.content} for one in chat]
    whole = tokenizer.apply_chat_template(plain, add_generation_prompt=not closed, return_dict=False)
    assert ChatCodec(tokenizer).encode(chat, closed=closed) == tuple(whole)


def test_a_chat_that_many_ask_for_is_rendered_once(still_policy, monkeypatch):
    tokenizer, asked = still_policy.tokenizer, []
    plain = tokenizer.apply_chat_template

    def counted(chat, **options):
        asked.append(chat)
        return plain(chat, **options)

    monkeypatch.setattr(tokenizer, "apply_chat_template", counted)
    codec = ChatCodec(tokenizer)
    assert codec.encode(CHATS[0]) == codec.encode(list(CHATS[0]))
    assert len(asked) == 1
    assert codec.encode(CHATS[0], closed=True) != codec.encode(CHATS[0])
    assert codec.encode(CHATS[2]) != codec.encode(CHATS[0])


def test_a_chat_is_told_apart_by_its_roles(still_policy):
    codec = ChatCodec(still_policy.tokenizer)
    said = (Message(role="assistant", content="oak has red ."),)
    assert codec.encode(said, closed=True) != codec.encode(CHATS[0], closed=True)


def test_text_of_a_reply_has_no_special_tokens(still_policy):
    tokenizer = still_policy.tokenizer
    ids = tokenizer("oak has red <|end|>", add_special_tokens=False).input_ids
    codec = ChatCodec(tokenizer)
    assert codec.decode(ids) == codec.decode(tuple(ids)) == "oak has red"
    assert codec.decode(ids[:2]) == "oak has"


def test_a_scan_that_is_shared_says_what_an_own_one_says(still_policy, tmp_path):
    shared = export_tokenizer(still_policy.tokenizer, "policy")
    still_policy.tokenizer.backend_tokenizer.save(str(tmp_path / "tokenizer.json"))
    own = FileTokenizer(tmp_path / "tokenizer.json")
    for text in ("oak has red .\nthe wind blew over .\n", "fir has gold .", ""):
        scanned = own.scan(text)
        assert shared.scan(text) is shared.scan(text)
        for limit in range(12):
            assert shared.scan(text).fit(limit) == scanned.fit(limit)
        assert shared.scan(text).is_local == scanned.is_local
        for end in (*range(len(text) + 1), *range(len(text) + 1)):
            assert shared.scan(text).count(end) == scanned.count(end)
