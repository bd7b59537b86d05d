"""Correct estimated token counts by the endpoint's own, from the first step on.

Where an endpoint does not name its tokenizer, tokens are estimated on the high side, and English needs about a quarter
more calls than it has to. The first reply says how many tokens its prompt really had. That ratio goes into the plan, so
a resumed reading cuts its other chunks in the same places; the way goes on from its first step as if it were resumed.
"""

from __future__ import annotations

from typing import Final

from bookwheel.models.base import Model, ModelWrapper
from bookwheel.plan import Plan
from bookwheel.text.tokens import EstimatingTokenizer, Tokenizer
from bookwheel.types import Step

# In a shorter prompt the chat template, which is not estimated, would count too much.
_LEAST_TOKENS: Final = 1000
# The rest of a document can be a little denser than its first chunk.
_MARGIN: Final = 1.03
# Outside, the count is not that of the prompt: some servers cut it silently, or count something else.
_LOWEST: Final = 0.6
_HIGHEST: Final = 2.0


class ScaledModel(ModelWrapper):
    """A model whose estimated counts are corrected by the plan's scale."""

    def __init__(self, model: Model, plan: Plan) -> None:
        super().__init__(model)
        self._tokenizer: Tokenizer = model.tokenizer
        if plan.token_scale is not None and isinstance(model.tokenizer, EstimatingTokenizer):
            self._tokenizer = EstimatingTokenizer(plan.token_scale)

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer, or a corrected estimate."""
        return self._tokenizer


def measure_scale(step: Step, model: Model, plan: Plan) -> float | None:
    """Return the real tokens per estimated token of a first step, or None where they would not help."""
    usage = step.conversation.reply.usage
    if plan.token_scale is not None or not isinstance(model.tokenizer, EstimatingTokenizer) or usage.calls != 1:
        return None
    estimate = sum(EstimatingTokenizer().count(message.content) for message in step.conversation.messages)
    # A server that counts nothing leaves our own estimate in the usage.
    if estimate < _LEAST_TOKENS or usage.prompt_tokens == estimate:
        return None
    scale = round(usage.prompt_tokens / estimate * _MARGIN, 3)
    if not _LOWEST <= scale <= _HIGHEST:
        return None
    need = plan.update_tokens(question=plan.question_tokens, template=model.template_tokens)
    # A denser part of the document, such as a table, must still fit a window that is known.
    has_room = model.window is None or need + plan.chunk_tokens // 2 <= model.window
    return scale if scale >= 1 or has_room else None
