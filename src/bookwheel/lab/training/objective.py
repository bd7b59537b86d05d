"""The settings of what a run maximises: the loss (loss.py) and the reward (rewards.py)."""

from math import inf
from typing import Annotated, Literal

from bookwheel.lab.training.errors import ConfigError
from bookwheel.schema import Ge, Gt, Le, Lt, settings_table

Share = Annotated[float, Ge(0), Le(1)]
Weight = Annotated[float, Ge(0), Lt(inf)]


@settings_table("train.loss", ConfigError)
class LossSettings:
    """The bounds and weights of the loss; the paper's by default."""

    form: Literal["dapo", "gspo", "cispo"] = "dapo"
    """What is clipped: each token's ratio, a whole reply's, or the ratio as a weight of the gradient."""
    # Above 1 the lower bound of the ratio would be negative, and no ratio is.
    clip_low: Share = 0.2
    clip_high: Weight = 0.2
    dual_clip: Weight = 3.0
    """The most a bad token's ratio counts, times its advantage; 0 leaves it without bound. Of dapo alone."""
    kl: Weight = 1e-3
    """beta; 0 needs no reference model."""
    importance_cap: Annotated[float, Gt(0), Lt(inf)] | None = 2.0
    """Of w_t; None leaves w_t at 1."""
    reply_cap: Annotated[float, Gt(1), Lt(inf)] | None = None
    """A reply whose tokens' mean ratio of trainer to sampler is above it, or below its inverse, teaches nothing."""

    def check(self) -> None:
        # Below the upper bound of the ratio it would undo the clip.
        if 0 < self.dual_clip <= 1 + self.clip_high:
            least = f"1 + clip_high ({1 + self.clip_high:g})"
            raise ConfigError(f"train.loss.dual_clip must be 0 or above {least}, not {self.dual_clip:g}")


@settings_table("train.reward", ConfigError)
class RewardSettings:
    """Weights of the reward's parts."""

    answer: Weight = 1.0
    """For the verifier's verdict on the answer; 0 trains without gold answers."""
    recovered: Weight = 0.0
    """For how much likelier the last memory makes what the reference answers from the document (R of probabilities)."""
    dense: Weight = 0.0
    """For R at the end less R before a step, as credit of that step's conversation beside the rollout's advantage."""
    boxed: Weight = 0.0
    r"""For a final answer inside \boxed{}."""
    overlong: Weight = 0.0
    """Subtracted for replies that come near their token limit."""
    overlong_share: Share = 0.2
    """The last share of the limit, in which `overlong` grows from 0 to its full weight."""
    captured: Weight = 0.0
    """For golds that are in the memory right after the chunk they stand in."""
    kept: Weight = 0.0
    """For golds that are in the last memory."""
    length: Weight = 0.0
    """Subtracted for the share of the limit that the memories take."""
    copied: Weight = 0.0
    """Subtracted for the share of the last memory that is copied from the last section in long runs."""
    foreign: Weight = 0.0
    """Subtracted for the share of the last memory's letters in scripts that neither section nor question has."""
    shorthand: Weight = 0.0
    """Subtracted for the share of the last memory's words that nothing that was read has: "kpr" for "keeper"."""

    @property
    def uses_worth(self) -> bool:
        """True where the frozen reference scores memories."""
        return bool(self.recovered or self.dense)

    @property
    def needs_golds(self) -> bool:
        """True where a sample without a gold answer can earn nothing."""
        return self.answer > 0 and not self.uses_worth

    def judges_answer(self, *, has_gold: bool) -> bool:
        """Tell if anything in the reward depends on a sample's answer."""
        return bool(self.boxed or (self.answer and has_gold)) or not self.uses_worth
