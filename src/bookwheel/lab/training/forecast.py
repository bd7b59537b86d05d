"""What a run will take, by formula: tokens, operations, hours, memory. No weights are loaded and nothing is sampled.

With N weights, K = ceil(document / chunk) updates a reading, and B = samples * group_size readings a step:

    prompt tokens   B * (K * (question + memory + chunk + template) + question + memory + template)
    reply tokens    B * (K * memory + answer), replies as long as their limits: the most
    sampling        a token at a time: every weight and every cached state is read once for each,
                    (2N + c * S * L) / bandwidth seconds for c readings at once of L tokens, S bytes of states a token
    other passes    2N a token of prompt, 2N a token of a row for the old and the reference log-probabilities,
                    6N for the update, 8N where activations are recomputed; over the device's peak times `share`

    memory a GPU    16N / W for weights, gradients and Adam's two moments in float32, shared by W ranks; 2N / W for the
                    reference; 2N / T for the copy that samples, T GPUs to a copy; activations and logits of a
                    micro-batch

With adapters, 16 bytes are of their weights alone, the others take 2 (half a byte in 4 bits) and are the reference too;
the update then takes 2N operations less. The shape comes from the model's own settings, built on PyTorch's meta device:
every tensor has its size and no values.
"""

from dataclasses import dataclass
from math import ceil
from typing import Any, Final

from bookwheel.lab.training.config import PolicySettings, TrainConfig
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.loading import add_adapters, gguf_path, require_model
from bookwheel.lab.training.verl.settings import ClusterSettings

# An H100: bytes of memory, bytes a second, dense operations a second in 16 bits.
GPU_BYTES: Final = 80e9
_BANDWIDTH: Final = 3.35e12
_PEAK: Final = 9.89e14
# The share of the peak that passes over many tokens reach; 0.33 was measured for a step on one H100.
_SHARE: Final = 0.33
_TEMPLATE: Final = 200
_MOST_AT_ONCE: Final = 256
_GIGA: Final = 1e9
# Settings of models whose own cannot be fetched where there is no network, as their makers publish them.
_SIZES: Final = (
    *("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads"),
    *("vocab_size", "max_position_embeddings"),
)
_KNOWN: Final = {
    "Qwen/Qwen2.5-7B-Instruct": (3584, 18944, 28, 28, 4, 152064, 32768),
    "Qwen/Qwen2.5-14B-Instruct": (5120, 13824, 48, 40, 8, 152064, 32768),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """What of a model decides what it costs."""

    weights: int
    trained: int
    """Of the weights; less than all where adapters are trained."""
    layers: int
    hidden: int
    vocabulary: int
    state_bytes: int
    """Of keys and values of one token, in 16 bits."""
    window: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """A run's cost; hours are of all GPUs together working side by side."""

    weights: int
    trained: int
    sections: int
    """Of one reading."""
    prompt_tokens: float
    reply_tokens: float
    sampling_hours: float
    training_hours: float
    days: float
    gpu_hours: float
    training_gb: float
    """Of a GPU's memory, the most while it trains."""
    sampling_gb: float
    """And while it samples."""
    at_once: int
    """Readings that a GPU samples at the same time."""
    problems: tuple[str, ...]
    """What would not fit, a sentence each."""


def read_shape(policy: PolicySettings) -> ModelShape:
    """Return the shape of a model, built without values for its weights."""
    import torch
    import transformers

    library: Any = transformers
    path, file = policy.path, gguf_path(policy.path)
    if path in _KNOWN:
        settings = library.Qwen2Config(**dict(zip(_SIZES, _KNOWN[path], strict=True)), tie_word_embeddings=False)
    else:
        place, more = (str(file.parent), {"gguf_file": file.name}) if file else (path, {})
        require_model(place)
        try:
            settings = library.AutoConfig.from_pretrained(place, **more)
        except (OSError, ValueError) as error:
            raise ConfigError(f"train.policy.path: the settings of {path!r} cannot be read: {error}") from error
    with torch.device("meta"):
        model = library.AutoModelForCausalLM.from_config(settings)
        weights = sum(weight.numel() for weight in model.parameters())
        if policy.lora_rank:
            model = add_adapters(model, policy)
    text = settings.get_text_config()
    head = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    return ModelShape(
        weights=weights,
        trained=sum(weight.numel() for weight in model.parameters() if weight.requires_grad),
        layers=text.num_hidden_layers,
        hidden=text.hidden_size,
        vocabulary=text.vocab_size,
        state_bytes=2 * text.num_hidden_layers * text.num_key_value_heads * head * 2,
        window=text.max_position_embeddings,
    )


def forecast(config: TrainConfig, shape: ModelShape, machines: ClusterSettings) -> Forecast:
    plan, policy, n = config.plan, config.policy, shape.weights
    updates = ceil(config.task.tokens / plan.chunk_tokens)
    readings = config.samples * config.group_size
    notes = plan.question_tokens + plan.memory_tokens + _TEMPLATE
    prompt = readings * (updates * (notes + plan.chunk_tokens) + notes)
    reply = readings * (updates * plan.memory_tokens + plan.answer_tokens)
    longest = notes + plan.chunk_tokens + max(plan.memory_tokens, plan.answer_tokens)

    copy = 2 * n / machines.rollout_gpus
    room = machines.rollout_memory * GPU_BYTES - copy
    at_once = max(0, min(int(room * machines.rollout_gpus / (longest * shape.state_bytes)), _MOST_AT_ONCE))
    token_seconds = (copy + at_once * longest * shape.state_bytes / machines.rollout_gpus) / _BANDWIDTH
    copies = max(1, machines.ranks // machines.rollout_gpus)
    passes = _PEAK * _SHARE * machines.ranks
    sampling = reply * token_seconds / max(at_once, 1) / copies + 2 * n * prompt / passes
    before = (config.updates > 1) + (config.loss.kl > 0)
    # Where adapters are trained, no gradients of the other weights are computed.
    update = (4 if shape.trained < n else 6) + 2 * policy.gradient_checkpointing
    training = (2 * before + update) * n * (prompt + reply) / passes
    hours = [config.steps * seconds / 3600 for seconds in (sampling, training)]

    whole = 0 if shape.trained == n else n * (0.5 if policy.quantized else 2)
    reference = 2 * n if config.loss.kl and shape.trained == n else 0
    states = (16 * shape.trained + whole + reference) / (machines.shard_gpus or machines.ranks)
    kept = 1 if policy.gradient_checkpointing else 16
    activations = max(policy.row_tokens, longest) * shape.hidden * 2 * shape.layers * kept
    # Logits in float32, their logarithms and the gradient of them; and one gathered layer.
    logits = policy.head_tokens * shape.vocabulary * 4 * 3
    layer = 2 * n / shape.layers
    training_bytes = states + activations + logits + layer
    sampling_bytes = machines.rollout_memory * GPU_BYTES + (0 if machines.offload else states)
    return Forecast(
        weights=n,
        trained=shape.trained,
        sections=updates,
        prompt_tokens=prompt,
        reply_tokens=reply,
        sampling_hours=hours[0],
        training_hours=hours[1],
        days=sum(hours) / 24,
        gpu_hours=sum(hours) * machines.ranks,
        training_gb=training_bytes / _GIGA,
        sampling_gb=sampling_bytes / _GIGA,
        at_once=at_once,
        problems=_list_problems(config, shape, longest, at_once, training_bytes, sampling_bytes),
    )


def _list_problems(
    config: TrainConfig, shape: ModelShape, longest: int, at_once: int, training: float, sampling: float
) -> tuple[str, ...]:
    gpu, rows = GPU_BYTES / _GIGA, config.policy.row_tokens
    problems = []
    if longest > shape.window:
        problems.append(
            f"a prompt and its reply may have {longest:,} tokens, and the model's window holds {shape.window:,}: "
            f"lower plan.chunk_tokens"
        )
    if longest > rows:
        problems.append(f"a row may have {longest:,} tokens, a micro-batch {rows:,}: raise train.policy.row_tokens")
    if training > GPU_BYTES:
        problems.append(
            f"training takes {training / _GIGA:.0f} GB of a GPU's {gpu:.0f}: take more GPUs, gradient_checkpointing, "
            f"or lora_rank"
        )
    if at_once < 1:
        problems.append(
            "the weights leave no room for a single reading while sampling: raise verl.rollout_gpus or rollout_memory"
        )
    if sampling > GPU_BYTES:
        problems.append(
            f"sampling takes {sampling / _GIGA:.0f} GB of a GPU's {gpu:.0f}: set verl.offload, or lower rollout_memory"
        )
    return tuple(problems)
