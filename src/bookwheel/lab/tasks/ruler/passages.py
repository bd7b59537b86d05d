"""Questions over paragraphs: the question's own, then others of the same article, then any, all shuffled alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bookwheel.lab.tasks.rendering import number_documents
from bookwheel.lab.tasks.ruler.prompts import count, estimate_bound, fill_template, find_size

if TYPE_CHECKING:
    from bookwheel.lab.tasks.ruler.prompts import Prompt
    from bookwheel.lab.tasks.ruler.resources import Resources
    from bookwheel.lab.tasks.ruler.streams import Streams
    from bookwheel.text.tokens import Tokenizer


class PassagePrompts:
    """Prompts of `qa_1` and `qa_2`."""

    increment = 10

    def __init__(self, task: str, resources: Resources, streams: Streams, *, most: int, tokenizer: Tokenizer) -> None:
        self._streams = streams
        self._template = resources.wordings.passages
        self._most = most
        self._tokenizer = tokenizer
        self.reply_tokens = self._template.reply_tokens
        self.questions, self._documents = resources.load_questions(task)

    def search(self) -> int:
        """Return the largest number of documents found that fits around the first question."""
        sample = count(self.write(0, self.increment), self._tokenizer)
        high = estimate_bound(sample, self.increment, self._most, self.increment)
        return find_size(self.increment, high, self._fits)

    def _fits(self, size: int) -> bool:
        return count(self.write(0, size), self._tokenizer) + self.reply_tokens <= self._most

    def write(self, index: int, size: int) -> Prompt:
        """Return a question among so many documents."""
        asked = self.questions[index]
        numbers = self._choose_documents(asked.own, asked.article, size)
        self._streams.fresh().shuffle(numbers)
        context = number_documents(self._documents[number] for number in numbers)
        own = [self._documents[number] for number in asked.own]
        return fill_template(self._template, context, asked.outputs, needles=own, query=asked.query)

    def _choose_documents(self, own: tuple[int, ...], article: tuple[int, ...], size: int) -> list[int]:
        total, rng = len(self._documents), self._streams.random
        if size >= total:
            return (list(range(total)) * -(-size // total))[:size]
        if size - len(own) <= len(article):
            return [*own, *rng.sample(article, size - len(own))]
        taken = {*own, *article}
        others = [number for number in range(total) if number not in taken]
        return [*own, *article, *rng.sample(others, max(0, size - len(own) - len(article)))]
