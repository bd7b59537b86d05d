"""A question that two facts answer together, and a reader that keeps both, whatever it is asked to write."""

from collections.abc import Sequence

from way_runs import Text, make_pages, run_way

from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import GatePlan, Plan
from bookwheel.types import Message, Step

QUESTION = "Where does the owner of the ship Halcyon live?"
FIRST = "Ada Quill owns the ship Halcyon."
SECOND = "Ada Quill lives at Tern Point."
PLAN = Plan(
    question_tokens=80,
    chunk_tokens=120,
    memory_tokens=80,
    answer_tokens=40,
    gate=GatePlan(threshold=0.5),
    language="en",
)


def pages(count: int = 160, *, first: int = 40, second: int = 90) -> Text:
    return make_pages(count, {FIRST: first, SECOND: second})


def tag(prompt: str, name: str) -> str:
    return prompt.rpartition(f"<{name}>")[2].partition(f"</{name}>")[0].strip() if f"<{name}>" in prompt else ""


def facts_in(text: str) -> list[str]:
    return [fact for fact in (FIRST, SECOND) if fact in text]


def reader(messages: Sequence[Message]) -> str:
    """A reader that keeps both facts, whatever it is asked to write."""
    prompt = messages[-1].content
    notes, new = facts_in(tag(prompt, "memory")), facts_in(tag(prompt, "section"))
    added = [fact for fact in new if fact not in notes]
    if "<memory>" not in prompt:
        return "Who owns the ship Halcyon?\nWhere does this person live?"
    if "<section>" not in prompt:
        return "\\boxed{Tern Point}" if len(notes) == 2 else "\\boxed{unknown}"
    if not added:
        return "UNCHANGED"
    if prompt.endswith("Changes:"):
        return "\n".join(f"ADD: {fact}" for fact in added)
    if prompt.endswith("New part:"):
        return f"Part {len(notes) + 1}:\n" + "\n".join(added)
    return "\n".join((*notes, *added))


def judge(messages: Sequence[Message], options: Sequence[str]) -> list[float]:
    prompt = messages[-1].content
    if "<section>" in prompt:
        is_yes = bool(facts_in(tag(prompt, "section")))
    else:
        is_yes = len(facts_in(tag(prompt, "memory"))) == 2
    assert options == ("Yes", "No")
    return [-0.05, -3.0] if is_yes else [-3.0, -0.05]


def model(script=reader, **changes) -> ScriptedModel:
    return ScriptedModel(script, **{"judge": judge, "window": 900, **changes})


def events(
    way: str, document: Text, reading: ScriptedModel, plan: Plan = PLAN, done: Sequence[Step] = (), question=QUESTION
):
    return run_way(way, document, question, reading, plan, done)
