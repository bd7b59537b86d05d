"""Read with a model of your own: anything that has these five attributes and two methods.

This one calls no network. It notes every sentence with a number in it, which is a poor way to read and a good way to
see what a model is sent.
"""

import re
from collections.abc import Sequence

from bookwheel import Message, Plan, Reply, Sampling, TextDocument, Usage, read
from bookwheel.text.tokens import WordTokenizer


class NumberReader:
    """Keeps the sentences that have a number in them."""

    name = "numbers"
    tokenizer = WordTokenizer()
    window = 4096
    plan = Plan(chunk_tokens=200, memory_tokens=200, answer_tokens=100)
    template_tokens = 0

    async def reply(self, messages: Sequence[Message], *, limit: int, sampling: Sampling) -> Reply:
        """Return the next memory, or the answer when there is no section to read."""
        del sampling
        prompt = messages[-1].content
        known = prompt.rpartition("<memory>")[2].partition("</memory>")[0] + prompt.rpartition("<section>")[2]
        numbers = "\n".join(dict.fromkeys(re.findall(r"[^.\n]*\d[^.\n]*\.", known)))
        text = numbers[: self.tokenizer.fit(numbers, limit)] or "UNCHANGED"
        used = Usage(calls=1, prompt_tokens=self.tokenizer.count(prompt), completion_tokens=self.tokenizer.count(text))
        return Reply(text=text, usage=used)

    async def aclose(self) -> None:
        """Release nothing: there is no connection."""


document = TextDocument("The pier is old. It was built in 1871. Gulls sit on it. A ticket costs 9 crowns. " * 3)
reading = read(document, "Which numbers are there?", model=NumberReader())
assert reading.answer

print(reading.answer.text)
