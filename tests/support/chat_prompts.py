"""Prompts that chat clients send about a chat, as Open WebUI 0.12 writes them."""

from __future__ import annotations

from bookwheel.serve.openai.requests import MessageShape

BOOK = "Gulls circle over the pier all day. " * 400
TITLE = (
    "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n### Guidelines:\n"
    '- The title should clearly represent the main theme.\n### Output:\nJSON format: { "title": "your title" }\n'
    "### Chat History:\n<chat_history>\nUSER: {book}\n\nWho keeps the pier?\nASSISTANT: Ada Quill keeps it.\n</chat_history>"
).replace("{book}", BOOK)
TAGS = TITLE.replace("a concise, 3-5 word title with an emoji summarizing", "1-3 broad tags categorizing the themes of")
FOLLOW = TITLE.replace(
    "Generate a concise, 3-5 word title with an emoji summarizing", "Suggest 3-5 relevant follow-up questions for"
)
CHAT = (("user", BOOK), ("user", "Who keeps the pier?"), ("assistant", "Ada Quill."))


# As Open WebUI 0.12 begins them; they end with the chat.
NEXT = (
    "### Task:\nPredict 3-5 useful messages this user might naturally send next to advance their current objective.\n"
    '### Output:\nJSON format: { "follow_ups": ["Suggested next message 1"] }\n### Chat History:\n<chat_history>\n'
    f"USER: {BOOK}\nASSISTANT: Yes.\n</chat_history>"
)
COMPLETE = (
    "### Task:\nYou are an autocompletion system. Continue the text in `<text>`.\n### Output Rules:\n- Respond only in "
    f"JSON format.\n<chat_history>\nUSER: {BOOK}\n</chat_history>\n<type>General</type>\n<text>Who is</text>\n#### Output:"
)


def shapes(*messages):
    return [MessageShape(role=role, content=content) for role, content in messages]
