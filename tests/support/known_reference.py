"""A reader of a few toy lines whose likelihoods are known, as the frozen reference of a reward without labels."""

from __future__ import annotations

import math
import re

from bookwheel.lab.tasks.base import Sample, SampleDocument
from bookwheel.lab.training.config import TaskSettings, TrainConfig
from bookwheel.lab.training.likelihood import LikelihoodCredit
from bookwheel.lab.training.objective import RewardSettings
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan

TEXT = "moss has grey .\nelm has blue .\nwind blew over .\nelm and ash .\n"


def likelihood(messages, continuation):
    """A word costs one bit where the notes have it, and three where they do not."""
    notes = messages[-1].content.partition(" question ")[0].split()
    return [math.log(0.5 if word in notes else 0.125) for word in continuation.split()]


def read_prompt(messages):
    """Return the notes of a prompt, its section and its question; no section where it asks for the answer."""
    found = re.search(
        r"notes (.*?)(?: section (.*?))? question (.*?) (?:notes|answer)$", messages[-1].content, re.DOTALL
    )
    notes, section, question = found.groups()
    return notes, section and section.rstrip(" .\n"), question


def reply(messages):
    """A reader that answers with the word behind the question, or with the next one's; it keeps what it read last."""
    notes, section, question = read_prompt(messages)
    if section is not None:
        return section
    known = dict(line.rsplit(" ", 1) for line in notes.splitlines() if line.count(" ") > 1)
    word = known.get(question, "same")
    # What is near something is asked for by its colour.
    return known.get(f"{word} has", "same") if question.endswith("near") else word


class Reference(ScriptedModel):
    def by_reference(self):
        return self


def sample(question="elm has", text=TEXT, golds=("blue",), name="s"):
    document = SampleDocument("d", [text])
    return Sample(id=name, task="t", question=question, golds=golds, document=document, metric="exact")


OTHER = sample("moss has", "moss has pink .\n", ("pink",), "other")


def settings(clozes=0.0, **weights):
    plan = Plan(prompts="tiny", language="en")
    return TrainConfig(plan=plan, reward=RewardSettings(**weights), task=TaskSettings(clozes=clozes))


def build_credit(samples=(OTHER,), clozes=0.0, **weights):
    return LikelihoodCredit(Reference(reply, likelihood=likelihood), samples, settings(clozes, **weights))
