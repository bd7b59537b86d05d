"""`bookwheel data prompts`: a checkout's templates become a prompt set; nothing of the checkout runs."""

import pytest

from bookwheel.errors import InputError
from bookwheel.lab.commands.memagent_prompts import write_prompts
from bookwheel.reading.prompts import Prompts

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
