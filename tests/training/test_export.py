from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from bookwheel.training.config import PolicySettings, TrainConfig  # noqa: E402
from bookwheel.training.errors import ConfigError  # noqa: E402
from bookwheel.training.export import export, to_gguf  # noqa: E402
from bookwheel.training.policy import Policy, load_policy, with_adapters  # noqa: E402

ROWS_SHAPE = (2, 11)


def logits(model):
    ids = torch.arange(ROWS_SHAPE[0] * ROWS_SHAPE[1]).reshape(ROWS_SHAPE) % 60
    with torch.no_grad():
        return model(input_ids=ids).logits


def a_run(folder):
    record = {"kind": "evaluation", "step": 0, "accuracy": 0.5, "n": 8, "failed": 0, "clock": {"seconds": 1.0}}
    folder.mkdir()
    (folder / "metrics.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    return folder


def gguf_of(policy, path):
    """A GGUF with the policy's shape and none of its weights."""
    gguf = pytest.importorskip("gguf")
    config = policy.model.config
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([f"w{i}" for i in range(config.vocab_size)])
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    import numpy as np

    for name, weight in policy.model.named_parameters():
        told = names.get_name(name, try_suffixes=(".weight", ".bias"))
        kind = np.float32 if weight.ndim == 1 else np.float16
        writer.add_tensor(told, np.zeros(tuple(weight.shape), dtype=kind))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_the_folder_is_loaded_by_transformers_and_says_the_same(policy, tmp_path):
    folder = export(policy, a_run(tmp_path / "run"), TrainConfig().to_json(), base="nothing")
    again = load_policy(PolicySettings(path=str(folder)))
    assert torch.equal(logits(again.model), logits(policy.model))
    chat = [{"role": "user", "content": "oak has red"}]
    assert again.tokenizer.apply_chat_template(chat) == policy.tokenizer.apply_chat_template(chat)
    assert again.stop_ids == policy.stop_ids
    assert "50.0 %" in (folder / "README.md").read_text()


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
def test_adapters_are_exported_alone(policy, tmp_path):
    pytest.importorskip("peft")
    adapted = Policy(with_adapters(policy.model, PolicySettings(lora_rank=2)), policy.tokenizer)
    folder = export(adapted, a_run(tmp_path / "run"), TrainConfig().to_json(), base="nothing")
    assert (folder / "adapter_model.safetensors").exists()
    assert not (folder / "model.safetensors").exists()


def test_the_gguf_holds_the_trained_weights_and_the_others_fields(policy, tmp_path):
    """Read back by the transformers library, which turns llama.cpp's order of rotary halves back by itself."""
    gguf = pytest.importorskip("gguf")
    from transformers import AutoModelForCausalLM, GgufConfig

    like = gguf_of(policy, tmp_path / "like.gguf")
    to_gguf(policy, like, tmp_path / "policy.gguf")
    fields = gguf.GGUFReader(tmp_path / "policy.gguf").fields
    for name, field in gguf.GGUFReader(like).fields.items():
        assert fields[name].contents() == field.contents() or name.startswith("GGUF.")
    read = AutoModelForCausalLM.from_pretrained(
        tmp_path, gguf_file="policy.gguf", dtype=torch.float32, quantization_config=GgufConfig(dequantize=True)
    )
    assert torch.allclose(logits(read), logits(policy.model), atol=2e-3)


def test_a_gguf_of_another_model_is_refused(policy, make_policy, tmp_path):
    pytest.importorskip("gguf")
    like = gguf_of(make_policy(layers=1), tmp_path / "like.gguf")
    with pytest.raises(ConfigError, match="another model"):
        to_gguf(policy, like, tmp_path / "policy.gguf")
