"""`bookwheel data`: files are made whole and never replaced unasked; a checkout's templates become a prompt set."""

import asyncio
from pathlib import Path

import pytest

from bookwheel.cli.main import main
from bookwheel.errors import InputError, TokenizerError
from bookwheel.lab.commands.data import SampleOptions, filter_samples_file, tasks, write_prompts
from bookwheel.lab.commands.data import make as make_file
from bookwheel.lab.tasks import TASKS, read_samples
from bookwheel.models.scripted import ScriptedModel
from bookwheel.reading.prompts import Prompts


def make(task, *, out, force=False, **options):
    return make_file(task, out=out, force=force, options=SampleOptions(**options))


DATA = Path(__file__).parents[2] / "fixtures" / "data"


def test_samples_are_written_and_read_back(tmp_path, capsys):
    out = tmp_path / "new" / "vt.jsonl"
    assert make("vt", out=out, tokens=400, count=3, seed=2) == 0
    samples = list(read_samples(out))
    assert [sample.id for sample in samples] == [f"vt-en-400-2-{index}" for index in range(3)]
    assert "3 samples of vt" in capsys.readouterr().err


def test_the_same_quote_command_writes_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        make("hqa", out=tmp_path / name, tokens=700, count=2, seed=9, data=DATA)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_file_that_is_there_is_not_replaced_unless_forced(tmp_path):
    out = tmp_path / "vt.jsonl"
    out.write_text("mine")
    with pytest.raises(InputError, match="--force"):
        make("vt", out=out, tokens=400)
    assert out.read_text() == "mine"
    make("vt", out=out, tokens=400, force=True)
    assert len(list(read_samples(out))) == 1


def test_a_run_that_fails_half_way_leaves_what_was_there(tmp_path):
    out = tmp_path / "hqa.jsonl"
    out.write_text("mine")
    with pytest.raises(InputError, match="lower --count"):
        make("hqa", out=out, tokens=700, count=50, data=DATA, force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["hqa.jsonl"]
    assert out.read_text() == "mine"


def test_paragraphs_may_be_given_instead_of_tokens(tmp_path):
    make("hqa", out=tmp_path / "p.jsonl", paragraphs=50, data=DATA)
    sample = next(read_samples(tmp_path / "p.jsonl"))
    assert sample.length == 7000
    assert sample.text.count("Passage: ") == 50
    with pytest.raises(InputError, match="not both"):
        make("hqa", out=tmp_path / "q.jsonl", paragraphs=50, tokens=100, data=DATA)


def test_a_tokenizer_that_is_not_there_is_said_so(tmp_path):
    with pytest.raises(TokenizerError, match="words"):
        make("vt", out=tmp_path / "vt.jsonl", tokens=400, tokenizer=str(tmp_path / "none.json"))


def test_every_task_is_listed(capsys):
    assert tasks() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(TASKS)


def test_sifting_keeps_what_needs_the_document_and_says_why_the_rest_went(tmp_path, capsys):
    source, out = tmp_path / "all.jsonl", tmp_path / "kept.jsonl"
    make("hqa", out=source, tokens=700, count=4, data=DATA)
    model = ScriptedModel(lambda messages: "\\boxed{Quenby}", name="parrot")
    assert asyncio.run(filter_samples_file(source, out=out, model=model)) == 0
    assert {sample.golds[0] for sample in read_samples(out)} == {"yes", "Pell mill", "green"}
    message = capsys.readouterr().err
    assert "answered without the document at try 1" in message
    assert "3 of 4 samples kept" in message
    with pytest.raises(InputError, match="--force"):
        asyncio.run(filter_samples_file(source, out=out, model=model))


def ended(*words):
    with pytest.raises(SystemExit) as end:
        main([str(word) for word in words])
    return end.value.code or 0


def test_the_quote_command_line_reaches_every_option(tmp_path):
    out = tmp_path / "x.jsonl"
    words = ("data", "make", "hqa", "--out", out, "--tokens", 700, "--count", 2, "--seed", 4, "--lang", "en")
    words = (*words, "--data", DATA, "--split", "train", "--metric", "exact", "--tokenizer", "estimate")
    assert ended(*words) == 0
    samples = list(read_samples(out))
    assert [sample.id for sample in samples] == ["hqa-en-train-700-4-0", "hqa-en-train-700-4-1"]
    assert {sample.metric for sample in samples} == {"exact"}
    assert ended(*words) == 2
    assert ended(*words, "--force") == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("niah_singel_2",), "did you mean 'niah_single_2'"),
        (("vt", "--tokens", "5"), "needs at least"),
        (("vt", "--tokenizer", "none.json"), "no tokenizer"),
        (("hqa", "--data", "nowhere"), "neither a folder nor a file"),
        (("vt", "--lang", "fr"), "en and zh"),
    ],
)
def test_bad_input_ends_with_2_a_sentence_and_no_file(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert ended("data", "make", *words, "--out", "x.jsonl") == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())


def test_filter_and_tasks_are_quote_commands(tmp_path, capsys):
    source = tmp_path / "all.jsonl"
    make("hqa", out=source, tokens=700, count=2, data=DATA)
    assert ended("data", "filter", source, "--out", tmp_path / "kept.jsonl", "--model", "scripted") == 0
    assert "samples kept" in capsys.readouterr().err
    assert ended("data", "tasks") == 0
    assert "niah_single_1" in capsys.readouterr().out


def test_options_of_a_task_are_given_by_name(tmp_path):
    make("vt", out=tmp_path / "vt.jsonl", tokens=500, options=("hops=6", "chains=2"))
    sample = next(read_samples(tmp_path / "vt.jsonl"))
    assert (len(sample.golds), sample.metadata["chains"]) == (7, 2)
    make("niah_single_1", out=tmp_path / "n.jsonl", tokens=900, options=("depth=100",))
    sample = next(read_samples(tmp_path / "n.jsonl"))
    assert sample.evidence[0].end > 0.99 * sample.document.length


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("hops=0", "at least 1, not 0"),
        ("hops=many", "a whole number, not 'many'"),
        ("hop=3", "did you mean 'hops'"),
        ("depth=3", "it takes: hops, chains, metric"),
        ("hops", "NAME=VALUE"),
    ],
)
def test_a_wrong_option_is_told_with_what_is_allowed(option, message, tmp_path):
    with pytest.raises(InputError, match=message):
        make("vt", out=tmp_path / "vt.jsonl", tokens=500, options=(option,))
    assert not list(tmp_path.iterdir())


def test_samples_that_cannot_be_made_stand_in_the_file_with_their_reasons(tmp_path, capsys):
    from bookwheel.lab.tasks.files import read_entries

    out = tmp_path / "hqa.jsonl"
    assert make("hqa", out=out, tokens=38, count=4, seed=3, data=DATA) == 0
    entries = list(read_entries(out))
    made = list(read_samples(out))
    assert len(entries) == 4
    assert 0 < len(made) < 4
    missing = next(entry for entry in entries if entry not in made)
    assert missing.id.startswith("hqa-en-38-3-")
    assert "needs at least" in missing.reason
    assert f"{4 - len(made)} of 4 samples cannot be made" in capsys.readouterr().err


SCRIPT = '''
raise RuntimeError("must not run")
TEMPLATE = """Note it.
<problem> {prompt}</problem><memory>{memory}</memory><section>{chunk}</section>
Notes:
"""
TEMPLATE_FINAL = """<problem>{prompt}</problem><memory>{memory}</memory> Answer in \\\\boxed{{}}."""
NO_MEMORY = "none"
'''


def test_templates_become_a_prompt_set(tmp_path):
    script = tmp_path / "taskutils" / "memory_eval" / "utils" / "recurrent_boxed.py"
    script.parent.mkdir(parents=True)
    script.write_text(SCRIPT)
    out = tmp_path / "own.toml"
    assert write_prompts(tmp_path, out=out) == 0
    prompts = Prompts.from_toml(out.read_text(), "own")
    assert prompts.blank == "none"
    assert prompts.updates["memory-first"] == (
        "Note it.\n<problem> {question}</problem><memory>{memory}</memory><section>{section}</section>\nNotes:\n"
    )
    assert prompts.answer_template == ("<problem>{question}</problem><memory>{memory}</memory> Answer in \\boxed{}.")
    with pytest.raises(InputError, match="--force"):
        write_prompts(tmp_path, out=out)


def test_what_is_no_checkout_is_told(tmp_path):
    with pytest.raises(InputError, match=r"recurrent_boxed\.py cannot be read"):
        write_prompts(tmp_path, out=tmp_path / "own.toml")
    assert not list(tmp_path.iterdir())
