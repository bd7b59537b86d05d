from __future__ import annotations

import httpx2
import pytest

from bookwheel.lab.training import loading
from bookwheel.lab.training.config import PolicySettings
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.loading import check_architecture
from bookwheel.lab.training.policy import Policy

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SHAPE = {
    "vocab_size": 80,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


@pytest.mark.parametrize("is_split", [False, True])
def test_weights_are_read_from_safetensors_alone_whole_or_in_parts(tmp_path, is_split):
    from transformers import AutoModelForCausalLM

    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SHAPE))
    model.save_pretrained(tmp_path, max_shard_size="20KB" if is_split else "1GB")
    assert (tmp_path / "model.safetensors.index.json").exists() is is_split
    again = AutoModelForCausalLM.from_pretrained(tmp_path, use_safetensors=True)
    assert torch.equal(again.lm_head.weight, model.lm_head.weight)


def test_a_name_of_no_folder_is_refused_at_once_where_the_hub_cannot_be_reached(monkeypatch):
    def refuse(address, timeout):
        raise httpx2.ConnectError("no route")

    monkeypatch.setattr(httpx2, "get", refuse)
    with pytest.raises(ConfigError, match=r"no folder 'nobody/nothing' here, and .* cannot be reached"):
        loading.load_policy(PolicySettings(path="nobody/nothing"))


def test_pickled_weights_are_refused(tmp_path, monkeypatch):
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SHAPE))
    model.config.save_pretrained(tmp_path)
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", lambda *_, **__: Tokenizer())
    with pytest.raises(ConfigError, match="pickled weights are not read"):
        loading._load_weights(PolicySettings(path=str(tmp_path)), "cpu")


class Tokenizer:
    eos_token_id = 2


def policy_of(name, **more):
    config = getattr(transformers, f"{name}Config")(**SHAPE, **more)
    torch.manual_seed(0)
    model = getattr(transformers, f"{name}ForCausalLM")(config)
    # Fresh weights give logits near 0, where a scale would hardly show.
    model.get_output_embeddings().weight.data.mul_(40)
    return Policy(model, Tokenizer())


@pytest.mark.parametrize("name", ["Llama", "Qwen2", "Qwen3", "Mistral"])
def test_models_whose_logits_come_from_the_head_alone_pass(name):
    check_architecture(policy_of(name))


def test_granite_is_refused_with_the_setting_that_scales_its_logits():
    with pytest.raises(ConfigError, match=r"granite models cannot be trained here.*nats.*logits_scaling = 8"):
        check_architecture(policy_of("Granite", logits_scaling=8.0))
    check_architecture(policy_of("Granite", logits_scaling=1.0))


def test_bounded_logits_are_refused():
    with pytest.raises(ConfigError, match=r"gemma2 models.*final_logit_softcapping = 2"):
        check_architecture(policy_of("Gemma2", head_dim=16, final_logit_softcapping=2.0))


def test_a_model_whose_padding_leaks_into_its_samples_is_refused(monkeypatch):
    """A reader that forgets positions: left padding moves every token."""
    policy = policy_of("Llama")
    plain = policy.model.forward

    def forward(*args, position_ids=None, attention_mask=None, **kwargs):
        return plain(*args, **kwargs)

    monkeypatch.setattr(policy.model, "forward", forward)
    with pytest.raises(ConfigError, match="does not bear padding on the left"):
        check_architecture(policy)


def test_a_model_that_breaks_in_the_check_is_refused_with_its_own_words(monkeypatch):
    policy = policy_of("Llama")

    def forward(*args, **kwargs):
        raise ValueError("no cache for mixers")

    monkeypatch.setattr(policy.model, "forward", forward)
    with pytest.raises(ConfigError, match="llama models cannot be trained here: no cache for mixers"):
        check_architecture(policy)
