from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from bookwheel.lab.training.advantages import Estimator
from bookwheel.lab.training.config import PolicySettings, TrainConfig
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.objective import LossSettings
from bookwheel.preset import list_presets, load_preset


def test_the_defaults_are_the_papers():
    config = TrainConfig()
    assert (config.samples, config.group_size, config.learning_rate, config.warmup_steps) == (128, 16, 1e-6, 20)
    assert (config.loss.clip_low, config.loss.clip_high, config.loss.kl) == (0.2, 0.2, 1e-3)
    assert config.loss.dual_clip == 3.0
    assert config.estimator is Estimator.MEAN


@pytest.mark.parametrize(("name", "samples", "each"), [("paper-7b", 128, 8), ("paper-14b", 256, 16)])
def test_the_papers_presets_take_sixteen_optimizer_steps_a_batch(name, samples, each):
    config = TrainConfig.load(name)
    assert (config.samples, config.updates, config.samples // config.updates) == (samples, 16, each)
    assert (config.loss.dual_clip, config.learning_rate, config.decay, config.policy.sharded) == (3.0, 1e-6, 0.0, True)


def test_tables_are_taken_where_they_belong():
    config = TrainConfig.from_tables(
        {"train": {"steps": 3, "estimator": "mean-std", "loss": {"kl": 0}}, "plan": {"chunk_tokens": 64}}
    )
    assert (config.steps, config.estimator, config.loss.kl, config.plan.chunk_tokens) == (3, "mean-std", 0.0, 64)
    assert TrainConfig.from_tables(config.to_json()) == config


BAD = [
    ("[plan]\nchunk_tokens = '900'", "plan.chunk_tokens must be a whole number, not '900'"),
    ("[plan]\nchunk_tokens = 900.5", "plan.chunk_tokens must be a whole number, not 900.5"),
    ("[plan]\nchunk_tokens = 0", "plan.chunk_tokens must be at least 8, not 0"),
    (
        "[plan]\nlayout = 'sideways'",
        "plan.layout must be memory-first, section-first or question-section, not 'sideways'",
    ),
    ("[plan.sampling]\ntemperature = 'hot'", "plan.sampling.temperature must be a number, not 'hot'"),
    ("[plan.sampling]\ntemperature = -1", "plan.sampling.temperature must be at least 0, not -1"),
    ("[plan.sampling]\ntop_p = 2", "plan.sampling.top_p must be at most 1, not 2"),
    ("[plan]\nbudget = 5", "plan.budget must be a table, not 5"),
    ("plan = [1]", "plan must be a table, not [1]"),
    ("train = []", "train must be a table, not []"),
    ("[[train]]", "train must be a table, not [{}]"),
    ("[trian]\nsteps = 3", "unknown setting 'trian'; did you mean 'train'?"),
    ("[train]\nlearning_rat = 1", "unknown setting 'learning_rat' in [train]; did you mean 'learning_rate'?"),
    ("[train]\nplan = 3", "train.plan is a table of its own: write [plan]"),
    ("[train]\nsteps = 'many'", "train.steps must be a whole number, not 'many'"),
    ("[train]\nsteps = true", "train.steps must be a whole number, not True"),
    ("[train]\nsteps = -1", "train.steps must be at least 0, not -1"),
    ("[train]\nsteps = 2026-01-01", "train.steps must be a whole number"),
    ("[train]\nsamples = 0", "train.samples must be at least 1, not 0"),
    ("[train]\ngroup_size = 1", "train.group_size must be at least 2, not 1"),
    ("[train]\nupdates = 9\nsamples = 4", "train.updates must be at most train.samples (4), not 9"),
    ("[train]\nrefills = -1", "train.refills must be at least 0, not -1"),
    ("[train]\npatience = 0", "train.patience must be at least 1, not 0"),
    ("[train]\nestimator = 'median'", "train.estimator must be mean, mean-std or leave-one-out, not 'median'"),
    ("[train]\nlearning_rate = 0", "train.learning_rate must be above 0, not 0"),
    ("[train]\nlearning_rate = inf", "train.learning_rate must be a finite number"),
    ("[train]\ndecay = 1.5", "train.decay must be at most 1, not 1.5"),
    ("[train]\nclip_norm = 0.0", "train.clip_norm must be above 0, not 0"),
    ("[train]\ncheckpoint_every = 0", "train.checkpoint_every must be at least 1, not 0"),
    ("[train]\nkeep = 0", "train.keep must be at least 1, not 0"),
    ("[train]\nbrief = 'Keep names.'\nwarm_start = { steps = 3 }", "train.brief goes with"),
    ("[train]\nworkflow = 'dance'", "train.workflow must be reading, calculator or single, not 'dance'"),
    ("[train]\nworkflow = ['single']", "train.workflow must be"),
    ("[train]\nloss = 3", "train.loss must be a table, not 3"),
    ("[train.loss]\nform = 'gspo'", "which 0.2 never does: set clip_low = 3e-4 and clip_high = 4e-4"),
    ("[train.loss]\nclip_hi = 1", "unknown setting 'clip_hi' in [train.loss]; did you mean 'clip_high'?"),
    ("[train.loss]\nclip_low = -0.1", "train.loss.clip_low must be at least 0, not -0.1"),
    ("[train.loss]\nclip_low = 1.5", "train.loss.clip_low must be at most 1, not 1.5"),
    ("[train.loss]\nclip_high = -0.1", "train.loss.clip_high must be at least 0, not -0.1"),
    ("[train.loss]\nkl = -1e-3", "train.loss.kl must be at least 0, not -0.001"),
    ("[train.loss]\nkl = nan", "train.loss.kl must be"),
    ("[train.loss]\nimportance_cap = 0", "train.loss.importance_cap must be above 0, not 0"),
    ("[train.policy]\nhead_tokens = 0", "train.policy.head_tokens must be at least 1, not 0"),
    ("[train.policy]\nrow_tokens = 0", "train.policy.row_tokens must be at least 1, not 0"),
    ("[train.policy]\npath = 7", "train.policy.path must be text, not 7"),
    ("[train.policy]\ngradient_checkpointing = 1", "train.policy.gradient_checkpointing must be true or false, not 1"),
    ("[train.policy]\nlora_rank = -1", "train.policy.lora_rank must be at least 0, not -1"),
    ("[train.fresh]\nheads = 0", "train.fresh.heads must be at least 1, not 0"),
    ("[train.fresh]\nhidden = 100\nheads = 3", "train.fresh.hidden must be a multiple of twice train.fresh.heads (6)"),
    ("[train.reward]\nboxed = -1", "train.reward.boxed must be at least 0, not -1"),
    ("[train.reward]\noverlong_share = 2", "train.reward.overlong_share must be at most 1, not 2"),
    ("[train.warm_start]\nuntil = 60", "train.warm_start.until must be at most 1, not 60"),
    ("[train.warm_start]\nevery = 0", "train.warm_start.every must be at least 1, not 0"),
    ("[train.evaluation]\ntemperature = 'hot'", "train.evaluation.temperature must be a number, not 'hot'"),
    ("[train.evaluation]\ntemperature = -0.5", "train.evaluation.temperature must be at least 0, not -0.5"),
    ("[train.evaluation]\nsamples = 0", "train.evaluation.samples must be at least 1, not 0"),
    ("[train.loss]\ndual_clip = 1.1", "train.loss.dual_clip must be 0 or above 1 + clip_high (1.2), not 1.1"),
    ("[train.policy]\ndtype = 'float16'", "train.policy.dtype must be auto, float32 or bfloat16, not 'float16'"),
    ("[train.policy]\nquantized = true", "set train.policy.lora_rank"),
    ("[train.policy]\nquantized = true\nlora_rank = 8\nsharded = true", "cannot be sharded"),
    ("[train.policy]\nquantized = true\nlora_rank = 8\npath = 'local'", "needs weights that are no GGUF"),
    ("[train.server]\naddress = 'localhost:8000'", "must begin with http:// or https://, not 'localhost:8000'"),
    ("[train.server]\nengine = 'tgi'", "train.server.engine must be vllm or sglang, not 'tgi'"),
    ("[train]\nstaleness = 1\n[train.policy]\nsharded = true", "set train.server.address, or staleness = 0"),
    ("[train.task]\nfile = 'a.jsonl'\nname = 'hqa'", "leave out name, tokens and options"),
    ("[train.task]\nheld_out = 'a.jsonl'", "train.task.held_out goes with train.task.file"),
    ("[train.task]\ntokens = -64", "train.task.tokens must be at least 0, not -64"),
    ("[train.task]\noptions = 3", "train.task.options must be a table, not 3"),
    ("[train\nsteps = 3", "cannot be read as settings"),
    ("", "train is missing"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=[text.replace("\n", " ") or "empty" for text, _ in BAD])
def test_a_wrong_setting_ends_the_command_with_file_key_and_what_is_allowed(text, message, tmp_path, command):
    file = tmp_path / "mine.toml"
    if "[train" not in text and "train =" not in text and "trian" not in text and text:
        text += "\n[train]"
    file.write_text(text, encoding="utf-8")
    code, _, err = command("train", file)
    # A bound of a number is 0 or 0.0, depending on who found the fault.
    stderr = re.sub(r"\.0\b", "", " ".join(err.split()))
    assert code == 2
    assert "mine.toml" in stderr
    assert message in stderr


# In one process, whose start takes longer than all of them.
TOLD_EARLY = [
    ("[train]\nstep = 3", "mine.toml: unknown setting 'step' in [train]; did you mean 'steps'?"),
    ("[train.task]\nname = 'niah_singel_2'\ntokens = 9\ncount = 9", "did you mean 'niah_single_2'?"),
    ("[train.task]\nname = 'vt'\ntokens = 9\ncount = 9\noptions = { hop = 3 }", "has no option 'hop'"),
    ("[train.task]\nname = 'toy-records'\ntokens = 9\ncount = 9\noptions = { entry = 1 }", "it takes: entries"),
    ("[train.task]\nname = 'vt'\ntokens = 9\ncount = 9", "set train.policy.path to a model"),
    ("[train.policy]\npath = './nowhere'", "there is nothing at './nowhere'"),
    ("[train.warm_start]\ntraces = 'none'\n[train.task]\nname = 'vt'\ntokens = 9\ncount = 9", "nothing at 'none'"),
    ("[train.policy]\npath = 'HuggingFaceTB/x'\n[train.task]\nfile = 'none.jsonl'", "none.jsonl"),
    ("[train.policy]\npath = 'HuggingFaceTB/x'\n[train.task]\nfile = 'bad.jsonl'", "bad.jsonl, line 2"),
    (
        "[train.policy]\npath = 'a/b'\n[train.warm_start]\nsteps = 1\n[train.task]\nfile = 'plain.jsonl'",
        "line 1: a warm start makes ideal memories from the sample's evidence",
    ),
    ("[train]", "set name, tokens and count in [train.task], or file"),
]


@pytest.mark.slow
def test_what_is_wrong_or_names_nothing_is_told_before_torch_is_imported(tmp_path):
    (tmp_path / "bad.jsonl").write_text('\n{"question": "Who?"}\n', encoding="utf-8")
    (tmp_path / "plain.jsonl").write_text(
        '{"question": "Who?", "document": "Ada.", "answers": ["Ada"]}\n', encoding="utf-8"
    )
    script = (
        "import json, sys; from pathlib import Path; from bookwheel.cli.main import main\n"
        "for text in json.loads(sys.argv[1]):\n"
        "    Path('mine.toml').write_text(text, encoding='utf-8')\n"
        "    try: main(['train', 'mine.toml'])\n"
        "    except SystemExit as ended: print('ended', ended.code, 'torch' in sys.modules, file=sys.stderr)"
    )
    texts = [text if text.startswith("[train]") else f"[train]\n{text}" for text, _ in TOLD_EARLY]
    command = [sys.executable, "-c", script, json.dumps(texts)]
    ended = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    told = " ".join(ended.stderr.split()).split("ended 2 False")
    assert len(told) == len(TOLD_EARLY) + 1, ended.stderr
    for (text, message), found in zip(TOLD_EARLY, told, strict=False):
        assert message in found, text


def test_a_wrong_number_on_the_command_line_is_refused_like_one_in_the_file(tmp_path, command):
    (tmp_path / "mine.toml").write_text("[train]\n", encoding="utf-8")
    code, _, err = command("train", tmp_path / "mine.toml", "--steps", "-1")
    assert code == 2
    assert err.startswith("error: --steps: must be at least 0, not -1\n")


def test_bounds_hold_for_settings_made_in_python():
    with pytest.raises(ConfigError, match=r"train.loss.kl must be at least 0, not -1"):
        LossSettings(kl=-1)
    with pytest.raises(ConfigError, match=r"train.policy.head_tokens must be at least 1, not 0"):
        PolicySettings(head_tokens=0)


def test_every_preset_with_a_training_table_loads():
    loaded = [name for name in list_presets() if "train" in load_preset(name)]
    assert {"tiny-cpu", "smollm2-135m", "paper-7b", "paper-14b", "reader"} <= set(loaded)
    for name in loaded:
        config = TrainConfig.load(name)
        assert config.steps + config.warm_start.steps > 0


def test_a_file_is_read_and_a_wrong_name_told(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("[train]\nsteps = 7\n", encoding="utf-8")
    assert TrainConfig.load(str(file)).steps == 7
    with pytest.raises(ConfigError, match=r"no preset 'tiny' trains; did you mean 'tiny-cpu'\? There are: paper-14b"):
        TrainConfig.load("tiny")
    with pytest.raises(ConfigError, match="cannot be read"):
        TrainConfig.load(str(tmp_path / "none.toml"))
