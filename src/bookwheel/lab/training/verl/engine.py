"""verl's FSDP2 engine, reading what rows have in common at their beginning once (rows.py and sharing.py, as embedded).

    stock                                             here
    micro-batches of similar work                     of rows that begin alike, each token of a prefix counted once
    rows side by side                                 rows packed, each prefix once
    logits of every token                             of the replies' tokens alone

Weights, precision, loss, clipping and steps are verl's own, and the loss gets what it gets otherwise: for every row the
log-probabilities of its reply. Where the model cannot read packed rows, or a row is longer than a sliding window of it,
the engine is the stock one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, distributed
from verl.utils import tensordict_utils
from verl.utils.device import get_device_id
from verl.utils.torch_functional import logprobs_from_logits
from verl.workers.engine import EngineRegistry
from verl.workers.engine.fsdp import FSDPEngineWithLMHead
from verl.workers.engine.utils import postprocess_batch_func

from bookwheel.lab.training.rows import build_row, pack, shared_share, trie_batches
from bookwheel.lab.training.sharing import is_sharing_proven, packed_inputs, replace_attention
from bookwheel.lab.training.verl.credit import split_parts
from bookwheel.lab.training.verl.settings import NAME

if TYPE_CHECKING:
    from tensordict import TensorDict

_PACKED = "is_packed"
"""Marks a batch whose rows are read together."""


@EngineRegistry.register(model_type=NAME, backend="fsdp2", device=["cuda", "npu"])
class SharingEngine(FSDPEngineWithLMHead):
    """The engine of policy and reference."""

    def __init__(self, model_config: Any, **configs: Any) -> None:
        # Ours is the name of the engine; the base class builds by verl's.
        model_config.model_type = "language_model"
        super().__init__(model_config=model_config, **configs)
        self._limit = 0

    def _build_module(self) -> Any:
        module = super()._build_module()
        # A wrapped model no longer takes another attention.
        self._limit = replace_attention(module)
        return module

    def _build_model_optimizer(self) -> None:
        super()._build_model_optimizer()
        # Before, some ranks had no weights.
        if self._limit and not is_sharing_proven(self.module, torch.device(get_device_id()), decodes=False):
            self._limit = 0

    def forward_backward_batch(
        self, data: TensorDict, loss_function: Callable[..., Any], forward_only: bool = False
    ) -> Any:
        """Score the rows, and add up their gradients unless `forward_only`."""
        rows = [build_row(tuple(ids.tolist()), (), str(row)) for row, ids in enumerate(data["input_ids"].unbind())]
        batches = trie_batches(rows, data["max_token_len_per_gpu"])
        is_too_long = any(len(row.ids) > self._limit for row in rows)
        count, is_apart, tokens = self._agree(len(batches), is_too_long, int(data["loss_mask"].sum()))
        if is_apart:
            return super().forward_backward_batch(data, loss_function, forward_only)
        figures = {"batch_num_tokens": tokens, "dp_size": self.get_data_parallel_size(), _PACKED: True}
        tensordict_utils.assign_non_tensor(data, **figures)
        parts = split_parts([[int(row.rollout) for row in batch] for batch in batches], count)
        outputs = []
        for number, part in enumerate(parts, start=1):
            batch = tensordict_utils.index_select_tensor_dict(data, part)
            with (
                torch.set_grad_enabled(not forward_only),
                self._gradient_sync_context(is_last_micro_batch=forward_only or number == count),
            ):
                loss, output = self.forward_step(batch, loss_function=loss_function, forward_only=forward_only)
                if not forward_only:
                    (self.scaler.scale(loss) if self.scaler else loss).backward()
                    # As large as the batch, and nobody reads it.
                    del output["model_output"]
            outputs.append(output)
        result = postprocess_batch_func(output_lst=outputs, indices=parts, data=data)
        result["metrics"]["shared"] = [shared_share([[rows[row] for row in part] for part in parts])]
        return result

    def _agree(self, batches: int, is_too_long: bool, tokens: int) -> tuple[int, bool, int]:
        """Return the most batches of a rank, if any rank has too long a row, and the tokens of all ranks."""
        group = self.get_data_parallel_group()
        most = torch.tensor([batches, int(is_too_long)], device=get_device_id())
        total = torch.tensor(tokens, device=get_device_id())
        distributed.all_reduce(most, op=distributed.ReduceOp.MAX, group=group)
        distributed.all_reduce(total, group=group)
        return int(most[0]), bool(most[1]), int(total)

    def prepare_model_inputs(self, micro_batch: TensorDict) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what the model is called with."""
        if not tensordict_utils.get_non_tensor_data(micro_batch, _PACKED, default=False):
            inputs: tuple[dict[str, Any], dict[str, Any]] = super().prepare_model_inputs(micro_batch)
            return inputs
        device = torch.device(get_device_id())
        packed = pack([tuple(ids.tolist()) for ids in micro_batch["input_ids"].unbind()])
        replies = micro_batch["responses"].offsets().diff().tolist()
        # The state before a token predicts it.
        places = [place for path, reply in zip(packed.paths, replies, strict=True) for place in path[-reply - 1 : -1]]
        return {**packed_inputs(packed, device), "logits_to_keep": torch.tensor(places, device=device)}, {}

    def prepare_model_outputs(
        self, output: Any, output_args: dict[str, Any], micro_batch: TensorDict, logits_processor_func: Any
    ) -> dict[str, Tensor]:
        """Return log-probabilities, and entropies if asked for, where verl's loss looks for them."""
        if output_args:
            figures: dict[str, Tensor] = super().prepare_model_outputs(
                output, output_args, micro_batch, logits_processor_func
            )
            return figures
        temperature = float(micro_batch["temperature"])
        logits = output.logits[0] if temperature == 1.0 else output.logits[0] / temperature
        with_entropy = tensordict_utils.get_non_tensor_data(micro_batch, "calculate_entropy", default=False)
        labels = micro_batch["responses"].values()
        found = {"log_probs": logprobs_from_logits(logits, labels, inplace_backward=not with_entropy)}
        if with_entropy:
            found["entropy"] = self.compute_entropy_from_logits(logits)
        return {name: _place_replies(values, micro_batch) for name, values in found.items()}


def _place_replies(values: Tensor, batch: TensorDict) -> Tensor:
    """Return values of the replies' tokens in rows as long as the whole; each stands where its token is predicted."""
    offsets, replies = batch["input_ids"].offsets(), batch["responses"].offsets().diff()
    places = [
        torch.arange(end - reply - 1, end - 1, device=values.device)
        for end, reply in zip(offsets[1:].tolist(), replies.tolist(), strict=True)
    ]
    whole = values.new_zeros(int(offsets[-1])).index_put((torch.cat(places),), values)
    return torch.nested.nested_tensor_from_jagged(whole, offsets)
