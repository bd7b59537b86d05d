"""RULER's thirteen tasks by its own construction, as tasks of ours: `ruler_niah_single_1` … `ruler_qa_2`.

The document is the context of a prompt; the question is its last line with the beginning of the answer; the length
counts the whole prompt and its answer, as RULER's lengths do. Options: `ruler` (a checkout, for RULER's own sentences
and files), `hops` and `chains` of `vt`, `alpha` of `fwe`.
"""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

from bookwheel.errors import InputError
from bookwheel.lab.tasks.assembly import AssembledDocument
from bookwheel.lab.tasks.base import GoldEvidence, MemoryRule
from bookwheel.lab.tasks.data_dir import DataDir
from bookwheel.lab.tasks.definition import AtLeastOne, SampleDraft, SampleRequest, task
from bookwheel.lab.tasks.needles import VARIANTS
from bookwheel.lab.tasks.ruler.families import (
    ChainPrompts,
    CommonPrompts,
    FrequentPrompts,
    NeedlePrompts,
    PassagePrompts,
)
from bookwheel.lab.tasks.ruler.prompts import Inputs, PromptFamily, SizedPrompt, Streams
from bookwheel.lab.tasks.ruler.resources import Resources
from bookwheel.lab.tasks.tallies import ALPHAS
from bookwheel.text.tokens import Tokenizer

PREFIX: Final = "ruler_"
NAMES: Final = (*VARIANTS, "vt", "cwe", "fwe", "qa_1", "qa_2")


class RulerRun:
    """The prompts of one task, length and seed, in the order in which one run of a script makes them.

    The state of the random numbers before each prompt is kept, so that any prompt can be made again.
    """

    def __init__(
        self,
        task: str,
        *,
        tokens: int,
        seed: int,
        tokenizer: Tokenizer,
        resources: Resources,
        hops: int = 4,
        chains: int = 1,
        alpha: float = 2.0,
    ) -> None:
        self._task = task
        self._streams = Streams(seed)
        inputs = Inputs(resources=resources, streams=self._streams, most=tokens, tokenizer=tokenizer)
        self.family: PromptFamily
        if task in VARIANTS:
            self.family = NeedlePrompts(inputs, VARIANTS[task])
        elif task == "vt":
            self.family = ChainPrompts(inputs, hops, chains)
        elif task == "cwe":
            self.family = CommonPrompts(inputs)
        elif task == "fwe":
            self.family = FrequentPrompts(inputs, alpha)
        else:
            self.family = PassagePrompts(inputs, task)
        self._size = self.family.search()
        self._states = [self._streams.get_state()]

    def make(self, index: int) -> SizedPrompt:
        for number in range(min(index, len(self._states) - 1), index + 1):
            self._streams.set_state(self._states[number])
            prompt = self.family.fit(number, self._size, self._task)
            if len(self._states) == number + 1:
                self._states.append(self._streams.get_state())
        return prompt


@lru_cache(maxsize=2)
def _open_resources(checkout: str | None, splitter: str, root: Path | None, data_dir: DataDir) -> Resources:
    del root  # part of the key: a data folder is another value each time it is located
    return Resources(Path(checkout) if checkout else None, data_dir, splitter)


_RUNS: Final[dict[tuple[Any, ...], RulerRun]] = {}


def _open_run(request: SampleRequest) -> RulerRun:
    """Return the run that a request belongs to. Its search costs seconds, so the newest run is kept."""
    options = {name: value for name, value in request.options.items() if name in {"hops", "chains", "alpha"}}
    place = (request.options.get("ruler"), request.options.get("splitter", ""), request.data_dir.root)
    key = (request.task, request.tokens, request.seed, request.tokenizer, place, *sorted(options.items()))
    if key not in _RUNS:
        resources = _open_resources(*place, request.data_dir)
        name = request.task.removeprefix(PREFIX)
        run = RulerRun(
            name, tokens=request.tokens, seed=request.seed, tokenizer=request.tokenizer, resources=resources, **options
        )
        _RUNS.clear()
        _RUNS[key] = run
    return _RUNS[key]


def build(request: SampleRequest) -> SampleDraft:
    """Return the prompt with the request's number, as document and question."""
    run = _open_run(request)
    is_passage = isinstance(run.family, PassagePrompts)
    if isinstance(run.family, PassagePrompts) and request.index >= len(run.family.questions):
        raise InputError(f"there are {len(run.family.questions)} questions for {request.task}; lower --count")
    sized = run.make(request.index)
    prompt = sized.prompt
    places = sorted((prompt.context.find(needle), needle) for needle in prompt.needles)
    # Of the whole prompt `whole` sees the head and the examples too.
    lead = prompt.lead + prompt.head if request.options.get("prompt") else ""
    evidence = [GoldEvidence(start=at, end=at + len(needle), note=needle) for at, needle in places if at >= 0]
    evidence = [replace(one, start=one.start + len(lead), end=one.end + len(lead)) for one in evidence]
    text = lead + prompt.context
    # Without needles all of it counts.
    body = AssembledDocument(
        pieces=(text,),
        tokens=request.tokenizer.count(text),
        evidence=tuple(evidence) if prompt.needles else (GoldEvidence(start=len(lead), end=len(text)),),
    )
    return SampleDraft(
        question=f"{prompt.question}\n{prompt.answer_prefix.strip()}",
        golds=prompt.outputs,
        metric="string_match_part" if is_passage else "string_match_all",
        body=body,
        memory=MemoryRule.NOTES if prompt.needles else MemoryRule.TALLY,
        metadata={
            "prompt_tokens": sized.length,
            "head": prompt.lead + prompt.head,
            "tail": prompt.tail,
            "answer_prefix": prompt.answer_prefix,
            "made_from": run.family.resources.origins,
        },
    )


_OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "vt": {"hops": AtLeastOne, "chains": AtLeastOne},
    "fwe": {"alpha": ALPHAS},
}
# A checkout of RULER; who splits its essays; whether the document is the whole prompt up to its question.
_COMMON: Final[dict[str, Any]] = {"ruler": str, "splitter": Literal["punkt", "ours"], "prompt": bool}
for _name in NAMES:
    task(f"{PREFIX}{_name}", f"RULER's own construction of {_name}", **_OPTIONS.get(_name, {}), **_COMMON)(build)
