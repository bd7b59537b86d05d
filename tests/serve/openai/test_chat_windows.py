"""Chats of any length fit the window that a model has."""

from __future__ import annotations

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Plan
from bookwheel.reading.loop import template_tokens
from bookwheel.reading.prompts import prompts_for
from bookwheel.serve.openai.chat_reader import plan_question
from bookwheel.serve.openai.conversation import find_conversation, parse_messages
from bookwheel.serve.openai.requests import ChatShape

WORDS = "The keeper wrote the wind and the ships that passed before dawn. "


A_TURN = st.tuples(st.sampled_from(["user", "assistant", "system", "tool"]), st.floats(0.0, 2.5))


@given(
    st.sampled_from([2048, 4096, 8192, 32768, 131072]),
    st.lists(A_TURN, max_size=5),
    st.integers(0, 400),
    st.floats(0.0, 2.5),
    st.sampled_from([None, "a document of the client's"]),
    st.none() | st.integers(1, 100_000),
)
def test_no_chat_is_too_long_for_a_window(window, long_turns, short_turns, newest, document, limit) -> None:
    model = ScriptedModel(keyword_reader, plan=Plan().within(window), window=window)
    turns = [(role, WORDS * max(1, int(share * window / 12))) for role, share in long_turns]
    turns += [(("user", "assistant")[at % 2], f"turn {at}") for at in range(short_turns)]
    turns.append(("user", WORDS * max(1, int(newest * window / 12)) + "Who wrote it?"))
    messages = [{"role": role, "content": text} for role, text in turns]
    chat = ChatShape(model="scripted", messages=messages, max_tokens=limit)
    conversation = find_conversation(parse_messages(chat.messages), document, is_outgrown=True)
    service = SimpleNamespace(make_plan=lambda _name, *layers: model.plan.with_values(layers[0]))
    planned = plan_question(service, chat, conversation, model)
    tokens = model.tokenizer.count(planned.question)
    assert tokens <= planned.plan.question_tokens
    template = template_tokens(model, planned.plan, prompts_for(planned.plan, planned.question))
    planned.plan.check(window, question=tokens, template=template)
    assert planned.question.strip()
    assert planned.plan.chunk_tokens >= model.plan.chunk_tokens // 2
