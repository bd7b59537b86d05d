"""The commands of the laboratory. `bookwheel` finds them by the entry points of the group `bookwheel.commands`."""

from bookwheel.cli.commands import Command

CALIBRATE = Command(
    "bookwheel.lab.commands.calibrate:calibrate",
    "",
    "Find the threshold of a model's judgements for the gated ways.",
    "bookwheel calibrate --model qwen2.5:7b --base-url http://localhost:8000/v1",
    "bookwheel calibrate --model local --recall 0.95 --dry",
)
DATA = Command(
    "bookwheel.lab.commands.data:app",
    None,
    "Generate samples for evaluation and training, or filter them.",
    "bookwheel data tasks",
    "bookwheel data make vt --tokens 8192 --count 20 --out vt.jsonl",
    "bookwheel data filter vt.jsonl --out hard.jsonl --model local",
)
EVAL = Command(
    "bookwheel.lab.commands.eval:evaluate",
    "[SETTINGS]",
    "Compare ways of reading, models, tasks and document lengths.",
    "bookwheel eval --task vt --length 8192 --way sequential --way bm25 --count 20",
    "bookwheel eval --compare runs/a runs/b",
)
TRAIN = Command(
    "bookwheel.lab.commands.train:train",
    "PRESET|FILE.toml",
    "Train a model: supervised warm start, then RL.",
    "bookwheel train tiny-cpu --out runs/mine",
    "bookwheel train tiny-cpu --out runs/mine --resume",
)
SHARE = Command(
    "bookwheel.lab.commands.share:share",
    "FOLDER...|READING",
    "Write runs, or a reading, as one web page that needs no server.",
    "bookwheel share runs/mine",
    "bookwheel share runs/a runs/b --out both.html",
    "bookwheel share last",
)
