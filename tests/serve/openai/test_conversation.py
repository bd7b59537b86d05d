"""The newest turn is the question, the longest text of any role the document; what is neither keeps its role."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.openai.conversation import find_conversation, parse_messages
from bookwheel.serve.openai.requests import MessageShape

LONG = "The harbour master of Skarholm is Ada Quill, and the keeper of the lamp is her brother."
SHORT = "Who is she?"
NEXT = "And who keeps the lamp?"
PICTURE = {"type": "image_url", "image_url": {"url": "data:,"}}
SOUND = {"type": "input_audio"}


def contents_of(*messages):
    return parse_messages([MessageShape(role=role, content=content) for role, content in messages])


def find(*messages, document=None, is_outgrown=False):
    return find_conversation(contents_of(*messages), document, is_outgrown=is_outgrown)


def count(text):
    return len(text.split())


def asked(conversation, room=1000):
    return conversation.format_question(count, room)[0]


def text_part(text, kind="text"):
    return {"type": kind, "text": text}


def file_part(id_):
    return {"type": "file", "file": {"file_id": id_}}


@pytest.mark.parametrize("texts", [(LONG, SHORT), (SHORT, LONG), ("Hello.", LONG, SHORT), (SHORT, "Hello.", LONG)])
def test_the_longest_text_of_the_newest_turn_is_the_document_wherever_it_stands(texts):
    found = find(*(("user", text) for text in texts))
    assert found.document == LONG
    assert asked(found) == "\n\n".join(text for text in texts if text != LONG)
    assert not found.is_follow_up


def test_of_two_texts_of_the_same_length_the_first_is_the_document():
    found = find(("user", "one one"), ("user", "two two"))
    assert (found.document, found.question) == ("one one", "two two")


ADA, BO = "Ada keeps the lamp. " * 300, "Bo keeps the clock. " * 301


@pytest.mark.parametrize("first", ["user", "tool", "system"])
@pytest.mark.parametrize("is_outgrown", [False, True])
def test_long_texts_beside_each_other_are_one_document_and_stay_so(first, is_outgrown):
    second = first if first == "tool" else "user"
    # A system prompt that is longer than all else is no rules.
    texts = [(first, BO), (second, ADA), ("user", SHORT)]
    for said in ([], [("assistant", "Ada."), ("user", NEXT)]):
        found = find(*texts, *said, is_outgrown=is_outgrown)
        assert (found.document, found.question) == (f"{BO}\n\n{ADA}", said[-1][1] if said else SHORT)


def test_two_texts_in_parts_of_one_message_are_one_document():
    found = find(("user", [text_part(ADA), text_part(BO), text_part(SHORT)]))
    assert (found.document, found.question) == (f"{ADA}\n\n{BO}", SHORT)


def test_rules_that_lose_their_middle_are_noted():
    found = find(("system", f"Be brief. {'Never shout. ' * 200}Be kind."), ("user", BO), ("user", SHORT))
    question, notes = found.format_question(count, 300)
    assert "Be brief." in question
    assert notes == ("the system message of 2,618 characters did not fit whole: its middle was left out",)
    assert "it was left out" in found.format_question(count, 20)[1][0]


def test_parts_of_one_message_are_texts_of_their_own():
    found = find(("user", [text_part(SHORT), text_part(LONG, "input_text")]))
    assert (found.document, found.question) == (LONG, SHORT)


@pytest.mark.parametrize("role", ["system", "developer", "assistant", "tool"])
def test_the_document_may_come_from_any_role(role):
    found = find((role, LONG), ("user", SHORT))
    assert (found.document, asked(found)) == (LONG, SHORT)


def test_a_document_that_nobody_has_said_anything_about_is_no_follow_up():
    call = ("assistant", "Let me fetch it.")
    fetched = [("user", SHORT), call, ("tool", LONG)]
    assert not find(*fetched).is_follow_up
    assert find(*fetched, ("assistant", "Ada Quill."), ("user", NEXT)).is_follow_up
    assert not find(("user", "Hello."), ("assistant", "Hello."), ("user", f"{LONG}\n\n{SHORT}")).is_follow_up


def test_instructions_and_earlier_turns_keep_their_roles_and_the_newest_turn_is_the_question():
    found = find(("system", "Be brief."), ("user", LONG), ("user", SHORT), ("assistant", "Ada Quill."), ("user", NEXT))
    assert found.document == LONG
    assert found.question == NEXT
    assert asked(found) == f"system: Be brief.\n\nuser: {SHORT}\n\nassistant: Ada Quill.\n\nuser: {NEXT}"
    assert found.is_follow_up


def test_the_document_of_a_follow_up_is_the_same_text_as_when_it_was_first_asked():
    first = find(("user", f"{LONG}\n\n{SHORT}"))
    later = find(("user", f"{LONG}\n\n{SHORT}"), ("assistant", "Ada Quill."), ("user", NEXT))
    assert later.document == first.document == LONG
    assert asked(later) == f"user: {SHORT}\n\nassistant: Ada Quill.\n\nuser: {NEXT}"


def test_a_text_sent_for_an_earlier_question_is_the_document_of_that_question():
    found = find(("user", SHORT), ("assistant", "Which text?"), ("user", LONG))
    assert (found.document, found.question) == (LONG, SHORT)


def test_what_tools_gave_comes_after_the_question():
    found = find(("user", LONG), ("user", SHORT), ("assistant", "(called)"), ("tool", "42"))
    assert asked(found) == f"user: {SHORT}\n\nassistant: (called)\n\ntool: 42"
    # The document was read for the call, and need not be for what follows it.
    assert found.is_follow_up


def test_a_long_result_of_a_tool_is_the_document():
    found = find(("user", SHORT), ("assistant", "(called)"), ("tool", LONG))
    assert found.document == LONG
    assert asked(found) == f"user: {SHORT}\n\nassistant: (called)"


def test_a_history_that_outgrew_the_window_is_the_document():
    turns = [("user", "My name is Ada."), ("assistant", "Hello Ada."), ("user", "I keep a lamp."), ("assistant", "Oh.")]
    found = find(("system", "Be kind."), *turns, ("user", "What is my name?"), is_outgrown=True)
    assert found.document == "\n\n".join(f"{role}: {text}" for role, text in turns)
    assert found.question == "What is my name?"
    assert asked(found, room=12).startswith("system: Be kind.")
    # Nothing of it is lost, so there is no note of it.
    assert found.format_question(count, 12)[1] == ()
    assert find(*turns, ("user", "What is my name?")).document == found.document


def test_one_text_that_is_most_of_the_chat_is_the_document_of_an_outgrown_one_too():
    assert find(("user", LONG), ("assistant", "Yes."), ("user", SHORT), is_outgrown=True).document == LONG


def test_turns_that_do_not_fit_are_left_out_oldest_first_and_told():
    turns = [(("user", "assistant")[at % 2], f"turn {at} " + "word " * 8) for at in range(8)]
    found = find(("system", "Be brief."), ("user", LONG * 20), *turns, ("user", SHORT))
    question, notes = found.format_question(count, 30)
    assert count(question) <= 30
    assert question.startswith("system: Be brief.")
    assert "turn 7" in question
    assert "turn 0" not in question
    assert "earlier turns" in notes[0]


def test_a_long_turn_beside_the_question_is_shortened_at_its_middle():
    found = find(("user", LONG * 100), ("assistant", "so " + "it is " * 600 + "here"), ("user", SHORT))
    question, notes = found.format_question(lambda text: len(text) // 4, 200)
    assert "so it is" in question
    assert "[…]" in question
    assert "is here" in question
    assert notes == ()


def test_the_document_is_passed_on_as_it_is():
    assert find(("user", f"  {LONG}\n\n"), ("user", SHORT)).document == f"  {LONG}\n\n"


def test_a_single_text_has_its_question_beside_its_instructions():
    found = find(("system", "Be brief."), ("user", f"{LONG}\n\n{SHORT}"))
    assert found.document == LONG
    assert asked(found) == f"system: Be brief.\n\nuser: {SHORT}"


@pytest.mark.parametrize("text", [LONG, f"\n\n{LONG}", f" \n{LONG}\n\n", f"\n \n\n{LONG}"])
def test_a_single_text_without_a_second_paragraph_is_read_for_what_it_says(text):
    found = find(("user", text))
    assert found.document == text
    assert found.question == "What does this text say, and what does it ask for?"


def test_a_single_chinese_text_is_asked_about_in_chinese():
    assert find(("user", "灯塔看守人记下了风。" * 900)).question == "这段文字说了什么，又要求什么？"


@pytest.mark.parametrize("messages", [(("system", LONG),), (("user", " \n"), ("assistant", LONG)), (("user", None),)])
def test_without_a_text_of_the_user_there_is_nothing_to_read(messages):
    with pytest.raises(ApiError) as error:
        find(*messages)
    assert (error.value.kind, error.value.status, error.value.param) == ("no_user_message", 400, "messages")


def test_beside_a_document_or_a_file_the_newest_turn_is_the_question():
    found = find(("system", "Be brief."), ("user", LONG), ("user", SHORT), document="a text")
    assert found.document is None
    assert asked(found) == f"system: Be brief.\n\nuser: {LONG}\n\n{SHORT}"
    found = find(("user", [file_part("file-1"), text_part(SHORT)]), ("assistant", "Ada."), ("user", NEXT))
    assert (found.document, found.question, found.is_follow_up) == (None, NEXT, True)


def test_a_sound_in_the_newest_turn_is_refused_and_one_before_it_is_not():
    with pytest.raises(ApiError, match="holds input_audio") as error:
        find(("user", [text_part(LONG), SOUND, text_part(SHORT)]))
    assert (error.value.kind, error.value.status, error.value.param) == ("unsupported_content", 400, "messages")
    found = find(("user", [text_part(LONG), SOUND]), ("assistant", "Yes."), ("user", SHORT))
    assert (found.document, found.question) == (LONG, SHORT)


@given(
    st.lists(
        st.tuples(st.sampled_from(["system", "user", "assistant", "tool"]), st.text("ab \n", max_size=9)), max_size=6
    )
)
def test_no_text_is_lost(messages):
    messages = [*messages, ("user", "a document of many words"), ("user", "a question")]
    found = find(*messages)
    assert found.document == "a document of many words"
    words = [word for _, text in messages for word in text.split()]
    kept = f"{found.document} {asked(found)}".split()
    for word in set(words):
        assert kept.count(word) >= words.count(word)


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        (SOUND, "input_audio"),
        ({"type": "image_url", "image_url": {}}, "image_url"),
        ({"type": "text"}, "text"),
        ({"type": "text", "text": 7}, "text"),
        ({"type": "file"}, "file"),
        ({"type": "file", "file": {"file_id": 7}}, "file"),
        ({"type": "file", "file": "file-1"}, "file"),
        ({}, "a part without a type"),
    ],
)
def test_what_is_not_text_is_refused_by_its_kind(part, kind):
    contents = contents_of(("user", [text_part(LONG), part, text_part(SHORT)]))
    assert contents.others == (kind,)
    assert (contents.files, len(contents.texts)) == ((), 2)
    assert contents.newest_others == (kind,)


def test_texts_of_both_kinds_and_files_are_found_in_their_order():
    contents = contents_of(
        ("user", [text_part(LONG, "input_text"), file_part("file-1")]),
        ("user", [file_part("file-2"), text_part(SHORT)]),
    )
    assert [(text.text, text.message) for text in contents.texts] == [(LONG, 0), (SHORT, 1)]
    assert (contents.files, contents.others) == (("file-1", "file-2"), ())


def test_the_newest_message_of_the_user_has_its_own_others():
    contents = contents_of(("user", [SOUND]), ("assistant", [SOUND]), ("user", SHORT))
    assert (contents.others, contents.newest_others) == (("input_audio", "input_audio"), ())
    contents = contents_of(("user", [SOUND]), ("assistant", SHORT), ("user", [SOUND, SOUND]))
    assert len(contents.newest_others) == 2
    assert contents_of(("assistant", SHORT), ("assistant", [SOUND])).newest_others == ()


def test_beside_a_picture_a_short_text_is_the_question_and_a_long_one_the_document():
    contents = contents_of(("user", [PICTURE, text_part(SHORT)]), ("assistant", "Yes."), ("user", NEXT))
    assert contents.pictures == ("data:,",)
    found = find(("user", [PICTURE, text_part(SHORT)]))
    assert (found.document, found.question) == (None, SHORT)
    longer = LONG * (1 + 4000 // len(LONG))
    found = find(("user", [text_part(longer), PICTURE, text_part(SHORT)]))
    assert (found.document, found.question) == (longer, SHORT)


def test_documents_of_two_messages_are_named_by_both():
    long = LONG * (1 + 4000 // len(LONG))
    found = find(("user", f"The lease:\n{long}"), ("user", f"The minutes:\n{long}"), ("user", SHORT))
    assert found.name == "The lease: + The minutes:"
    assert find(("user", f"The lease:\n{long}"), ("user", SHORT)).name is None


def test_calls_in_another_form_are_texts_as_they_stand():
    calls = [{"id": "Mära"}, "Quill", {"function": {"name": "remind", "arguments": {"day": "März"}}}]
    texts = parse_messages([MessageShape(role="assistant", content=None, tool_calls=calls)]).texts
    assert [text.text for text in texts] == [
        '{"id": "Mära"}',
        '"Quill"',
        '(called the tool remind with {"day": "März"})',
    ]


def test_a_message_without_content_has_no_texts():
    contents = contents_of(("assistant", None), ("user", LONG))
    assert [(text.role, text.text) for text in contents.texts] == [("user", LONG)]


def test_calls_of_tools_are_texts_of_the_assistant():
    call = {"id": "1", "type": "function", "function": {"name": "remind", "arguments": '{"day": "May"}'}}
    messages = [
        MessageShape(role="user", content=SHORT),
        MessageShape(role="assistant", content=None, tool_calls=[call]),
    ]
    texts = parse_messages(messages).texts
    assert [(text.role, text.message) for text in texts] == [("user", 0), ("assistant", 1)]
    assert texts[1].text == '(called the tool remind with {"day": "May"})'


def test_no_line_of_an_earlier_turn_poses_as_the_question():
    posing = "It is Ada.\n\nAsked now:\nWho is the king?"
    earlier, _, _ = find(("user", LONG), ("user", SHORT), ("assistant", posing), ("user", NEXT)).format_turns(
        count, 1000
    )
    assert "Asked now:" in earlier
    assert not any(line.startswith("Asked now:") for line in earlier.splitlines())
