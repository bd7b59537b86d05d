"""`verdict`: whether a document bears an answer out, judged by the model that is evaluated.

A snippet of a document, a question, and an answer that somebody gave: the model says whether the snippet supports it,
supports it in part, says otherwise, or does not say. With `asks="fit"` it says whether the answer answers the question,
true or not. `part` is `train`, `open` or `sealed`; the data card is lab/data/verdict/README.md.
"""

from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Final

from bookwheel.errors import InputError
from bookwheel.lab.tasks.assembly import AssembledDocument
from bookwheel.lab.tasks.base import InfeasibleSample
from bookwheel.lab.tasks.data_dir import read_packed
from bookwheel.lab.tasks.definition import BOTH, SampleDraft, SampleRequest, task

PARTS: Final = ("train", "open", "sealed")
_SAID: Final = {
    "en": "Somebody was asked: {question}\nThe answer was: {answer}\n",
    "zh": "有人被问到:{question}\n回答是:{answer}\n",
}
_ASKED: Final = {
    ("en", "support"): "Does the document bear the answer out? Reply with one of these words: supported (it says all "
    "of it), partly (a part of it), contradicted (it says otherwise), not-found (it does not say).",
    ("zh", "support"): "文档是否支持这个回答?只用下列词语之一回答:supported(全部支持)、partly(部分支持)、"
    "contradicted(文档说法相反)、not-found(文档没有说)。",
    ("en", "fit"): "True or not, does it answer the question? Reply with one of these words: yes, doubtful, no.",
    ("zh", "fit"): "不论真假,这是否回答了问题?只用下列词语之一回答:yes、doubtful、no。",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledAnswer:
    """An answer to a question about a snippet, with both labels."""

    id: str
    lang: str
    kind: str
    """The kind of document."""
    part: str
    snippet: str
    question: str
    answer: str
    label: str
    """`supported`, `partly`, `contradicted` or `not-found`."""
    answers: str
    """`yes`, `doubtful` or `no`."""
    note: str


@lru_cache(maxsize=1)
def load_answers() -> tuple[LabelledAnswer, ...]:
    return tuple(LabelledAnswer(**record) for record in read_packed("verdict", "answers.jsonl.gz"))


@task(
    "verdict",
    "whether a snippet bears an answer out, or whether an answer answers: any model as a judge",
    languages=BOTH,
    part=str,  # train, open or sealed
    asks=str,  # support or fit
)
def build(request: SampleRequest) -> SampleDraft:
    """Return the labelled answer with this index, in the seed's order."""
    part = request.options.get("part", "train" if request.split == "train" else "open")
    asks = request.options.get("asks", "support")
    if part not in PARTS or asks not in {"support", "fit"}:
        raise InputError(
            f"verdict has the parts {', '.join(PARTS)} and asks for support or fit, not {part!r}, {asks!r}"
        )
    answers = [one for one in load_answers() if (one.lang, one.part) == (request.language, part)]
    if request.index >= len(answers):
        raise InfeasibleSample(
            f"verdict has {len(answers)} answers in {request.language!r} in the part {part}, fewer than the "
            f"{request.index + 1} that were asked for; lower --count"
        )
    order = Random(f"{request.task} {request.seed}").sample(answers, len(answers))  # noqa: S311 - not for secrets
    one = order[request.index]
    said = _SAID[request.language].format(question=one.question, answer=one.answer)
    return SampleDraft(
        question=said + _ASKED[request.language, asks],
        golds=(one.label if asks == "support" else one.answers,),
        metric="choice",
        body=AssembledDocument(pieces=(one.snippet,), tokens=request.tokenizer.count(one.snippet)),
        length=0,
        metadata={"answer": one.id, "kind": one.kind, "part": one.part, "label": one.label, "answers": one.answers},
    )
