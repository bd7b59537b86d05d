from __future__ import annotations

import random
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from bookwheel.lab.training.config import PolicySettings  # noqa: E402
from bookwheel.lab.training.loading import add_adapters  # noqa: E402
from bookwheel.lab.training.loss import Logprobs, policy_loss  # noqa: E402
from bookwheel.lab.training.objective import LossSettings  # noqa: E402
from bookwheel.lab.training.policy import Policy  # noqa: E402
from bookwheel.lab.training.rows import Row  # noqa: E402
from bookwheel.lab.training.sharing import enable_sharing  # noqa: E402

SHAPE = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
SHARING = [
    "llama",
    "qwen2",
    "qwen3",
    "gemma3_text",
    "phi3",
    "gpt_neox",
    "mistral",
    "ernie4_5",
    "smollm3",
    "granite",
    "olmo2",
]


def model_of(kind, **more):
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(kind, **{**SHAPE, **more})
    return transformers.AutoModelForCausalLM.from_config(config).eval()


def random_rows(seed, count=7):
    """Rows that branch anywhere, contain each other or are equal."""
    dice = random.Random(seed)
    rows = []
    for i in range(count):
        start = rows[dice.randrange(i)].ids if i and dice.random() < 0.8 else ()
        kept = start[: dice.randint(0, len(start))]
        ids = (*kept, *dice.choices(range(3, 64), k=dice.randint(2, 12)))
        trained = (False, *(dice.random() < 0.4 for _ in ids[2:]), True)
        logprobs = tuple(dice.uniform(-5, -3) for one in trained if one)
        rows.append(Row(ids=ids, trained=trained, logprobs=logprobs, advantage=dice.uniform(-1, 1), rollout=str(i)))
    return rows


def loss_and_gradient(policy, rows, budget=10**6):
    denominator = sum(row.tokens for row in rows)
    policy.model.zero_grad()
    total = 0.0
    with policy.training():
        for batch in policy.micro_batches(rows, budget):
            scored = policy.score(batch)
            advantages = torch.tensor([row.advantage for row in batch for _ in row.logprobs])
            sampled = torch.tensor([one for row in batch for one in row.logprobs])
            logprobs = Logprobs(new=scored.logprobs, old=sampled + 0.1, rollout=sampled)
            loss, _ = policy_loss(logprobs, advantages, denominator, LossSettings(kl=0.0))
            loss.backward()
            total += loss.item()
    return total, torch.cat([weight.grad.flatten().clone() for weight in policy.trainable])


def compare(model, rows, budget=10**6, **how):
    """The same loss and gradient with and without sharing."""
    shared = Policy(model, None, **how)
    assert shared.sharing_limit
    loss, gradient = loss_and_gradient(shared, rows, budget)
    plain_loss, plain = loss_and_gradient(Policy(model, None, share_prefixes=False, **how), rows, budget)
    assert loss == pytest.approx(plain_loss, abs=1e-6)
    assert torch.allclose(gradient, plain, atol=1e-5)
    assert plain.abs().max() > 1e-3


@pytest.fixture(scope="module")
def llama():
    return model_of("llama")


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 10**9), st.sampled_from([20, 60, 10**6]))
def test_loss_and_gradient_are_those_of_plain_rows_on_any_trie(llama, seed, budget):
    compare(llama, random_rows(seed), budget)


@pytest.mark.parametrize("kind", SHARING)
def test_architectures_share(kind):
    compare(model_of(kind), random_rows(1))


def test_sharing_goes_with_gradient_checkpointing():
    compare(model_of("llama"), random_rows(2), gradient_checkpointing=True)


def test_sharing_goes_with_adapters():
    pytest.importorskip("peft")
    model = add_adapters(model_of("llama"), PolicySettings(lora_rank=4))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.normal_(std=0.1)
    rows = random_rows(3)
    compare(model, rows)
    (by_base,) = Policy(model, None).score_by_reference(rows)
    assert torch.allclose(by_base, *Policy(model, None, share_prefixes=False).score_by_reference(rows), atol=1e-5)


def test_the_frozen_reference_shares_too(llama):
    policy, rows = Policy(llama, None), random_rows(4)
    policy.freeze_reference()
    with torch.no_grad():
        assert torch.allclose(*policy.score_by_reference(rows), policy.score(rows).logprobs, atol=1e-6)


def test_what_rows_share_is_read_once(llama):
    rows = [
        replace(
            random_rows(5, count=1)[0], ids=(*range(3, 40), last), trained=(False,) * 37 + (True,), logprobs=(-1.0,)
        )
        for last in range(3, 11)
    ]
    policy, read = Policy(llama, None), []
    handle = llama.get_decoder().register_forward_pre_hook(
        lambda module, args, kwargs: read.append(kwargs["input_ids"].numel()), with_kwargs=True
    )
    policy.score(rows)
    handle.remove()
    assert read == [37 + 8]


def test_rows_longer_than_a_sliding_window_are_read_plainly():
    model = model_of("mistral", sliding_window=16)
    policy = Policy(model, None)
    assert policy.sharing_limit == 16
    rows = random_rows(6, count=20)
    assert {len(row.ids) > 16 for row in rows} == {True, False}
    batches = policy.micro_batches(rows, 60)
    assert all(len({len(row.ids) > 16 for row in batch}) == 1 for batch in batches)
    compare(model, rows, 60)


def test_a_window_that_no_layer_uses_bounds_nothing():
    assert Policy(model_of("qwen2", sliding_window=16, use_sliding_window=False), None).sharing_limit > 10**6


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("lfm2", {"layer_types": ["conv", "full_attention"]}),
        ("mamba2", {"num_heads": 8, "head_dim": 8, "n_groups": 1, "state_size": 8}),
        ("bloom", {}),
    ],
)
def test_layers_that_mix_tokens_in_another_way_are_found_out(kind, more):
    model = model_of(kind, **more)
    attention = model.config._attn_implementation
    assert enable_sharing(model) == 0
    assert model.config._attn_implementation == attention


def test_lfm2_shares_where_all_its_layers_attend():
    compare(model_of("lfm2", layer_types=["full_attention"] * 2), random_rows(7))


def test_another_attention_than_sdpa_is_left_alone():
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model("llama", **SHAPE)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    assert Policy(model, None).sharing_limit == 0
    assert model.config._attn_implementation == "eager"


def test_a_saved_policy_knows_nothing_of_sharing(llama, tmp_path):
    Policy(llama, None)
    llama.save_pretrained(tmp_path)
    assert "bookwheel" not in (tmp_path / "config.json").read_text()
    assert transformers.AutoModelForCausalLM.from_pretrained(tmp_path).config._attn_implementation == "sdpa"


def test_a_model_reads_plain_batches_as_before(llama):
    ids = torch.randint(3, 64, (3, 9), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    mask[1, :4] = 0
    before = model_of("llama")(input_ids=ids, attention_mask=mask).logits
    Policy(llama, None)
    assert torch.equal(llama(input_ids=ids, attention_mask=mask).logits[1, 4:], before[1, 4:])
