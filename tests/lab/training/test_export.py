from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from bookwheel.environment import Environment  # noqa: E402
from bookwheel.lab.training.config import EvaluationSettings, PolicySettings, TrainConfig  # noqa: E402
from bookwheel.lab.training.errors import ConfigError  # noqa: E402
from bookwheel.lab.training.launch import (  # noqa: E402
    export,
    export_adapter,
    export_gguf,
    load_adapter,
)
from bookwheel.lab.training.loading import add_adapters, load_policy  # noqa: E402
from bookwheel.lab.training.policy import Policy  # noqa: E402
from bookwheel.models.gguf import ADAPTER_TYPE, TYPE_FIELD, WAY_FIELD, load_header_plan, read_header  # noqa: E402
from bookwheel.models.weights import find_local_weights  # noqa: E402
from bookwheel.plan import Plan, Sampling  # noqa: E402
from bookwheel.types import Message  # noqa: E402

ROWS_SHAPE = (2, 11)
PLAN = Plan(chunk_tokens=77, memory_tokens=33, prompts="small")


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
    folder = export(policy, a_run(tmp_path / "run"), TrainConfig(), base="nothing")
    again = load_policy(PolicySettings(path=str(folder)))
    assert torch.equal(logits(again.model), logits(policy.model))
    chat = [{"role": "user", "content": "oak has red"}]
    assert again.tokenizer.apply_chat_template(chat) == policy.tokenizer.apply_chat_template(chat)
    assert again.stop_ids == policy.stop_ids
    assert "50.0 %" in (folder / "README.md").read_text()


def adapted_at_random(policy, **settings):
    """The policy with adapters that already change what it says."""
    pytest.importorskip("peft")
    model = add_adapters(policy.model, PolicySettings(**settings))
    torch.manual_seed(0)
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.02)
    return Policy(model, policy.tokenizer)


def test_adapters_are_exported_alone(policy, tmp_path):
    config = TrainConfig(plan=PLAN, way="quotes", evaluation=EvaluationSettings(temperature=0.25, top_p=0.5))
    folder = export(adapted_at_random(policy, lora_rank=2), a_run(tmp_path / "run"), config, base="nothing")
    assert (folder / "adapter_model.safetensors").exists()
    assert not (folder / "model.safetensors").exists()
    facts = read_header(tmp_path / "run" / "adapter.gguf")
    assert facts[TYPE_FIELD] == ADAPTER_TYPE
    assert facts[WAY_FIELD] == "quotes"
    assert load_header_plan(facts, tmp_path) == replace(PLAN, sampling=Sampling(temperature=0.25, top_p=0.5))


def test_an_adapters_gguf_adds_up_to_the_gguf_of_all_weights(policy, tmp_path):
    gguf = pytest.importorskip("gguf")
    like, plain, merged, alone = (tmp_path / f"{name}.gguf" for name in ("like", "plain", "merged", "alone"))
    gguf_of(policy, like)
    export_gguf(policy, like, plain, PLAN)
    adapted = adapted_at_random(policy, lora_rank=2, lora_alpha=6)
    export_gguf(adapted, like, merged, PLAN)
    export_adapter(adapted, alone, PLAN)
    before, after, parts = (
        {tensor.name: tensor.data.astype("float32") for tensor in gguf.GGUFReader(path).tensors}
        for path in (plain, merged, alone)
    )
    matrices = {name.removesuffix(".lora_a") for name in parts if name.endswith(".lora_a")}
    assert len(parts) == 2 * len(matrices) == 2 * 7 * policy.model.config.num_hidden_layers
    changed = {name for name in after if not (before[name] == after[name]).all()}
    assert changed == matrices
    scale = read_header(alone)["adapter.lora.alpha"] / 2
    for name in matrices:
        added = scale * parts[f"{name}.lora_b"] @ parts[f"{name}.lora_a"]
        assert abs(before[name] + added - after[name]).max() < 1e-3


def test_training_begins_with_the_adapters_of_a_file(policy, tmp_path):
    pytest.importorskip("peft")
    taught, path = adapted_at_random(policy, lora_rank=2, lora_alpha=6), tmp_path / "taught.gguf"
    export_adapter(taught, path, PLAN)
    expected = {name: weight.clone() for name, weight in taught.model.named_parameters() if ".lora_" in name}
    with torch.no_grad():
        for name, weight in taught.model.named_parameters():
            if ".lora_" in name:
                weight.zero_()
    load_adapter(taught, path)
    for name, weight in taught.model.named_parameters():
        if ".lora_" in name:
            assert (weight - expected[name]).abs().max() < 1e-3 * expected[name].abs().max()
    taught.model.peft_config["default"].lora_alpha = 4
    with pytest.raises(ConfigError, match="lora_alpha"):
        load_adapter(taught, path)


@pytest.mark.weights
@pytest.mark.long
def test_the_local_model_says_what_an_adapter_was_taught(tmp_path):
    pytest.importorskip("xllamacpp")
    pytest.importorskip("peft")
    if not (base := find_local_weights(Environment.load())):
        pytest.skip("the local model's weights are not at hand")
    from bookwheel.models.local import LocalModel

    chat, taught = (Message(role="user", content="Which bird stands on one leg?"),), "The grey heron."
    policy = load_policy(PolicySettings(path=str(base), lora_rank=4))
    teach(policy, [{"role": "user", "content": chat[0].content}], taught)
    export_gguf(policy, base, tmp_path / "policy.gguf", PLAN)
    export_adapter(policy, tmp_path / "adapter.gguf", PLAN)
    export_adapter(policy, tmp_path / "chooser.gguf", PLAN, "quotes")

    async def said(path):
        model = await LocalModel.open(path, threads=1)
        before = (await model.judge(chat, ("The", "Yes"))).probability("The")
        likelihood = (await model.likelihood(chat, taught)).mean
        reply = await model.reply(chat, limit=16, sampling=Sampling(temperature=0.0))
        # The engine keeps the prompt computed, and not without the adapter.
        after = (await model.judge(chat, ("The", "Yes"))).probability("The")
        await model.aclose()
        return reply.text, model.plan, model.default_way, (before, after), likelihood

    *adapted, _, _ = asyncio.run(said(tmp_path / "adapter.gguf"))
    assert adapted == [taught, PLAN, "sequential"]
    assert asyncio.run(said(tmp_path / "policy.gguf"))[:3] == (taught, PLAN, "sequential")
    text, _, _, plain, likelihood = asyncio.run(said(base))
    assert taught not in text
    # One that only judges passages leaves replies and likelihoods as they were, but for the eight bits of llama.cpp.
    chooser = asyncio.run(said(tmp_path / "chooser.gguf"))
    assert chooser[:3] == (text, PLAN, "quotes")
    assert chooser[4] == pytest.approx(likelihood, abs=0.1)
    assert min(chooser[3]) > 0.99
    assert abs(chooser[3][0] - plain[0]) > 0.005
    assert chooser[3][0] == pytest.approx(chooser[3][1], abs=0.002)


def teach(policy, chat, reply):
    """Overfit the policy on one reply."""
    prompt = policy.tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    ids, head = (
        policy.tokenizer(text, return_tensors="pt").input_ids for text in (prompt + reply + "<|im_end|>", prompt)
    )
    labels = ids.clone()
    labels[:, : head.shape[1]] = -100
    optimizer = torch.optim.AdamW([w for w in policy.model.parameters() if w.requires_grad], lr=3e-3)
    for _ in range(30):
        loss = policy.model(input_ids=ids, labels=labels).loss
        if loss < 0.02:
            return
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    raise AssertionError(f"the reply was not learned: {loss}")


def test_the_gguf_holds_the_trained_weights_and_the_others_fields(policy, tmp_path):
    """Read back by the transformers library, which turns llama.cpp's order of rotary halves back by itself."""
    gguf = pytest.importorskip("gguf")
    import transformers

    like = gguf_of(policy, tmp_path / "like.gguf")
    export_gguf(policy, like, tmp_path / "policy.gguf", PLAN)
    fields = gguf.GGUFReader(tmp_path / "policy.gguf").fields
    assert load_header_plan(read_header(tmp_path / "policy.gguf"), tmp_path) == PLAN
    for name, field in gguf.GGUFReader(like).fields.items():
        assert fields[name].contents() == field.contents() or name.startswith("GGUF.")
    # Older versions have no choice, and expand the weights.
    config = getattr(transformers, "GgufConfig", None)
    more = {"quantization_config": config(dequantize=True)} if config else {}
    read = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path, gguf_file="policy.gguf", dtype=torch.float32, **more
    )
    assert torch.allclose(logits(read), logits(policy.model), atol=2e-3)


def test_a_gguf_of_another_model_is_refused(policy, make_policy, tmp_path):
    pytest.importorskip("gguf")
    like = gguf_of(make_policy(layers=1), tmp_path / "like.gguf")
    with pytest.raises(ConfigError, match="another model"):
        export_gguf(policy, like, tmp_path / "policy.gguf", PLAN)


def test_a_runs_policy_is_named_as_the_model_that_reads(tmp_path, policy, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    from bookwheel.cli.main import main
    from bookwheel.lab.commands.train import open_folder
    from bookwheel.models import registry

    known = registry.load_plugin
    monkeypatch.setattr(
        registry, "load_plugin", lambda group, name: open_folder if group == registry.FOLDERS else known(group, name)
    )
    plan = Plan(prompts="tiny", language="en", question_tokens=8, chunk_tokens=16, memory_tokens=8, answer_tokens=8)
    config = TrainConfig(plan=plan, evaluation=EvaluationSettings(temperature=0.0))
    folder = export(policy, a_run(tmp_path / "run"), config, base="x")
    document = tmp_path / "records.txt"
    document.write_text("oak has red .\n" * 20, encoding="utf-8")
    with pytest.raises(SystemExit):
        main(
            ["ask", str(document), "oak has", "--model", str(folder), "--json", "--journal", str(tmp_path / "j.sqlite")]
        )
    told = json.loads(capsys.readouterr().out)
    assert told["model"] == str(folder)
    assert (told["plan"]["chunk_tokens"], told["plan"]["memory_tokens"]) == (16, 8)
    assert len(told["steps"]) == 5
    assert told["way"] == "sequential"
