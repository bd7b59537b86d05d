"""Tokens of an unknown tokenizer: estimated on the high side, until the endpoint has counted a first prompt."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from bookwheel.models.base import Model, ModelWrapper, count_messages
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
    """A model whose estimates are corrected: by the plan's scale, or by what its first step shows."""

    def __init__(self, model: Model, plan: Plan) -> None:
        super().__init__(model)
        is_estimate = isinstance(model.tokenizer, EstimatingTokenizer)
        self._estimate = EstimatingTokenizer(plan.token_scale or 1.0) if is_estimate else None

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer, or a corrected estimate."""
        return self._estimate or self._model.tokenizer

    def correct(self, first: Step, plan: Plan) -> Plan:
        """Count by the scale that a first step shows, from now on; return the plan with it, if there is one."""
        scale = self._measure(first, plan) if plan.token_scale is None else None
        if self._estimate is None or scale is None:
            return plan
        self._estimate.scale = scale
        return replace(plan, token_scale=scale)

    def _measure(self, first: Step, plan: Plan) -> float | None:
        """Return the real tokens per estimated token of a step, or None where they would not help."""
        usage, estimate = first.conversation.reply.usage, EstimatingTokenizer()
        estimated = count_messages(first.conversation.messages, estimate)
        # A server that counts nothing leaves our own estimate in the usage.
        if usage.calls != 1 or estimated < _LEAST_TOKENS or usage.prompt_tokens == estimated:
            return None
        scale = round(usage.prompt_tokens / estimated * _MARGIN, 3)
        if not _LOWEST <= scale <= _HIGHEST:
            return None
        need = plan.update_tokens(question=plan.question_tokens, template=self.template_tokens)
        # A denser part of the document, such as a table, must still fit a window that is known.
        has_room = self.window is None or need + plan.chunk_tokens // 2 <= self.window
        return scale if scale >= 1 or has_room else None
