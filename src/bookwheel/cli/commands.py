"""The commands of `bookwheel --help`."""


# No dataclass: importing those would double the time of `bookwheel --help`.
class Command:
    """One command of `bookwheel --help`."""

    def __init__(self, target: str, arguments: "str | None", about: str, *examples: str) -> None:
        self.target = target
        """Module and function below `bookwheel.cli`."""
        self.arguments = arguments
        """For the usage line; None where the target is an App, which has its own."""
        self.about = about
        self.examples = examples


COMMANDS = {
    "ask": Command(
        "ask:ask",
        '[SOURCE...] "QUESTION"',
        "Read documents and answer a question.",
        'bookwheel ask contract.pdf "When does the lease end?"',
        'bookwheel ask src/ notes.md "Where is the retry limit set?" --model qwen2.5:7b '
        "--base-url http://localhost:11434/v1",
        'bookwheel ask last "And who signed it?"',
        'cat minutes.txt | bookwheel ask "What was decided?" --json',
        "bookwheel ask contract.pdf --template parties --schema parties.json",
    ),
    "batch": Command(
        "batch:batch",
        "TABLE|FOLDER",
        "Answer many questions about many documents, into a table.",
        "bookwheel batch contracts.csv --max-cost 5",
        "bookwheel batch contracts/ --questions fields.txt --out answers.jsonl",
        "bookwheel batch contracts.parquet --estimate",
        "bookwheel batch contracts.csv --ray auto",
    ),
    "list": Command(
        "history:list_readings",
        "",
        "List the readings in the journal, newest first.",
        "bookwheel list --limit 10",
        'bookwheel list --search "lease" --json',
    ),
    "show": Command(
        "show:show",
        "READING",
        "Show how the memory changed at each step of a reading.",
        "bookwheel show last --changes",
        "bookwheel show last --follow",
        "bookwheel show 3fa9 --markdown lease.md",
    ),
    "resume": Command(
        "resume:resume",
        "READING",
        "Continue a reading that did not finish.",
        "bookwheel resume last",
        "bookwheel resume 3fa9 --max-cost 2",
    ),
    "edit": Command(
        "edit:edit",
        "READING --step K",
        "Change the memory after a step and read on from there.",
        'bookwheel edit last --step 5 --memory "The lady doctor was Miss Frayne."',
        "bookwheel edit 3fa9 --step 5",
    ),
    "calibrate": Command(
        "calibrate:calibrate",
        "",
        "Find the threshold of a model's judgements for the gated ways.",
        "bookwheel calibrate --model qwen2.5:7b --base-url http://localhost:8000/v1",
        "bookwheel calibrate --model local --recall 0.95 --dry",
    ),
    "data": Command(
        "data:app",
        None,
        "Generate samples for evaluation and training, or filter them.",
        "bookwheel data tasks",
        "bookwheel data make vt --tokens 8192 --count 20 --out vt.jsonl",
        "bookwheel data filter vt.jsonl --out hard.jsonl --model local",
    ),
    "eval": Command(
        "eval:evaluate",
        "[SETTINGS]",
        "Compare ways of reading, models, tasks and document lengths.",
        "bookwheel eval --task vt --length 8192 --way sequential --way bm25 --count 20",
        "bookwheel eval --compare runs/a runs/b",
    ),
    "train": Command(
        "train:train",
        "PRESET|FILE.toml",
        "Train a model: supervised warm start, then RL.",
        "bookwheel train tiny-cpu --out runs/mine",
        "bookwheel train tiny-cpu --out runs/mine --resume",
    ),
    "share": Command(
        "share:share",
        "FOLDER...",
        "Write evaluations and training runs as one web page that needs no server.",
        "bookwheel share runs/mine",
        "bookwheel share runs/a runs/b --out both.html",
    ),
    "serve": Command(
        "serve:serve",
        "",
        "Serve an OpenAI-compatible API, an HTTP API and a web page.",
        "bookwheel serve --port 8470",
        "bookwheel serve --new-key anna --key-file keys.toml",
        "bookwheel serve --host 0.0.0.0 --key-file keys.toml --base-url http://localhost:8000/v1",
    ),
    "mcp": Command(
        "mcp:mcp",
        "",
        "Serve readings as tools over the Model Context Protocol.",
        "bookwheel mcp --root ~/papers",
        "bookwheel mcp --http --port 8765",
    ),
    "forget": Command(
        "forget:forget",
        "[READING...]",
        "Delete readings and their documents.",
        "bookwheel forget 3fa9",
        "bookwheel forget --older-than 30",
    ),
    "models": Command(
        "models:models",
        "",
        "List the models and plans available here.",
        "bookwheel models --base-url http://localhost:8000/v1",
        "bookwheel models --fetch",
    ),
    "doctor": Command(
        "doctor:doctor",
        "",
        "Check this installation and say how to fix what is wrong.",
        "bookwheel doctor",
        "bookwheel doctor --base-url http://localhost:8000/v1 --json",
        "bookwheel doctor --repair",
    ),
    "config": Command(
        "config:config",
        "",
        "Show the settings files, endpoints and templates in force.",
        "bookwheel config",
        "bookwheel config --json",
    ),
    "completion": Command(
        "completion:completion",
        "SHELL",
        "Print a completion script for bash, zsh or fish.",
        "bookwheel completion bash > ~/.local/share/bash-completion/completions/bookwheel",
        "bookwheel completion fish > ~/.config/fish/completions/bookwheel.fish",
    ),
}
