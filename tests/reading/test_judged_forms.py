"""A model as judge of answers of other forms than prose: lines of code, and JSON."""

from bookwheel import read as read_file
from bookwheel.claims import Sign
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan, VerdictMode

PLAN = Plan(question_tokens=40, chunk_tokens=200, memory_tokens=60, answer_tokens=60, verdict=VerdictMode.MODEL)


def read(tmp_path, text, question, answer, name="lamp.txt"):
    """Return a reading that a model has answered so, which bears out whatever it judges; and what it judged."""
    (tmp_path / name).write_text(text)
    asked = []

    def reply(messages):
        prompt = messages[-1].content
        if "Yes or No" not in prompt:
            return answer
        asked.append(prompt.partition("<answer>")[2].partition("</answer>")[0].strip())
        return "No" if "cannot be true" in prompt else "Yes"

    return read_file(
        tmp_path / name, question, model=ScriptedModel(reply), plan=PLAN, journal=tmp_path / "j.sqlite"
    ), asked


def test_a_wrong_line_of_a_file_is_no_matter_for_a_model_that_sees_no_lines(tmp_path):
    code, question = "import os\nRETRIES = 3\n", "Where is RETRIES set?"
    right, _ = read(tmp_path, code, question, "net.py:2: RETRIES = 3", name="net.py")
    wrong, asked = read(tmp_path, code, question, "net.py:1: RETRIES = 3", name="net.py")
    assert right.sign is Sign.GREEN
    assert (wrong.sign is Sign.GREEN, asked) == (False, [])


def test_a_judge_is_told_of_which_field_a_value_is(tmp_path):
    text = "The keeper of the lamp is Ada Quill. Her deputy is Bo Fell."
    ended, asked = read(tmp_path, text, "Who does what?", '{"keeper": "Ada Quill", "deputy": "Bo Fell"}')
    fields = ['"keeper": "Ada Quill"', '"deputy": "Bo Fell"']
    assert [claim.text for claim in ended.claims] == fields == list(dict.fromkeys(asked))


def test_a_sum_that_stands_nowhere_is_not_green_whoever_worked_it_out(tmp_path):
    text = "On 3 June 120 pounds came in. On 9 June 85 pounds came in. On 20 June 95 pounds came in."
    question = "How much came in in June?"
    worked, _ = read(tmp_path, text, question, "In all 205 pounds came in in June.")
    told, _ = read(tmp_path, text, question, "On 9 June 85 pounds came in, and on 3 June 120.")
    assert (worked.sign, worked.claims[0].missing) == (Sign.AMBER, ("205",))
    assert told.sign is Sign.GREEN


def test_a_count_that_the_rows_do_not_show_is_not_green(tmp_path):
    rows = "\n".join(f"P{number};{15 if number % 2 else 14};12 {street}" for number, street in enumerate("abcdefg"))
    question = "How many pupils are 15?"
    counted, _ = read(tmp_path, f"Pupil;Age;Address\n{rows}\n", question, "4 pupils are 15.")
    told, _ = read(tmp_path, f"4 pupils are 15.\n{rows}\n", question, "4 pupils are 15.")
    assert (counted.sign, told.sign) == (Sign.AMBER, Sign.GREEN)
