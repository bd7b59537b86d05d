"""Show a model that can see the pictures that its prompts point at.

The text of a document has a mark wherever a picture stands: `[page 12, figure 3]`. So a section has the marks of its
pictures, and a memory keeps a picture by keeping its mark in a line, as long as that line stays. `SeeingModel` looks
for marks in what any way of reading sends, and adds the pictures; no way needs to know of them. What is forgotten,
edited or resumed is text, and the pictures follow. A mark may name a part of its picture, by the shares of its sides:
`[page 12, figure 3, box 0 0.5 1 1]` is its lower half, which is then shown larger.

A mark costs what its picture costs, in every count: chunks hold fewer words where there are pictures, and a memory
whose pictures do not fit its limit is trimmed like one of too many words. Pictures are made small enough that
`MOST_KEPT` of them and some lines fit a memory, and two fit a section. The recognised words stand below the mark.

A server that refuses a picture in mid-reading is asked again without, and from then on reads words; the step says so.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol, TypeVar, runtime_checkable

from bookwheel.claims import Claim, Evidence, Verdict, mark_seen
from bookwheel.errors import JournalError, MissingExtra, Rejected, ServerFault
from bookwheel.flags import Flag
from bookwheel.models.base import Judgement, Model, ModelWrapper, find_wrapper
from bookwheel.models.vision import PictureRule, find_vision, refuses_pictures
from bookwheel.picture import MARK, Box, Picture, split_label
from bookwheel.plan import Plan, Sampling
from bookwheel.reading.prompts import prompts_for
from bookwheel.types import Document, Message, Reply

if TYPE_CHECKING:
    from bookwheel.text.tokens import Tokenizer

_T = TypeVar("_T", Reply, Judgement)
MOST_KEPT: Final = 2
"""Pictures that a memory may point at."""
_MOST_VIEWS: Final = 10_000
_PLACE: Final = "{mark}"
_MOST_PLACE: Final = "{most}"


@runtime_checkable
class PicturedDocument(Protocol):
    """A document that may have pictures."""

    def list_pictures(self) -> tuple[Picture, ...]:
        """Return what is known of them, without their bytes."""
        ...

    def load_picture(self, sha256: str) -> bytes: ...


class PictureTokenizer:
    """Counts text by another tokenizer, and the picture of every mark that it has, once."""

    def __init__(self, inner: Tokenizer, find_view: Callable[[str], View | None]) -> None:
        self._inner = inner
        self._find_view = find_view

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def exact(self) -> bool:
        """False: servers scale pictures in ways of their own."""
        return False

    def count(self, text: str) -> int:
        return self._inner.count(text) + sum(cost for *_, cost in self._find(text))

    def fit(self, text: str, limit: int) -> int:
        """Return about how many leading characters fit; a mark whose picture does not fit is left out whole."""
        left = limit
        end = self._inner.fit(text, left)
        for start, stop, cost in self._find(text):
            if stop > end:
                return min(end, start) if start < end else end
            left -= cost
            shorter = self._inner.fit(text, left) if left > 0 else 0
            if shorter < stop:
                return start
            end = shorter
        return end

    def _find(self, text: str) -> Iterator[tuple[int, int, int]]:
        """Yield the place of the first mark of each picture, and its cost."""
        seen: set[str] = set()
        for found in MARK.finditer(text):
            if found[1] not in seen and (view := self._find_view(found[1])):
                seen.add(found[1])
                yield found.start(), found.end(), view.cost


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A picture, or a part of one, as it is sent."""

    picture: Picture
    box: Box | None
    size: tuple[int, int]
    """Pixels."""
    cost: int
    """Tokens."""

    def load(self, content: bytes) -> Picture:
        """Return the picture in its size."""
        if self.box is None and (self.picture.width, self.picture.height) == self.size:
            return replace(self.picture, content=content)
        try:
            from PIL import Image
        except ImportError as error:
            raise MissingExtra("showing pictures to a model", "pictures") from error
        sent = io.BytesIO()
        with Image.open(io.BytesIO(content)) as opened:
            left, top, right, bottom = self.box or (0.0, 0.0, 1.0, 1.0)
            area = (left * opened.width, top * opened.height, right * opened.width, bottom * opened.height)
            opened.resize(self.size, box=area).save(sent, opened.format or "PNG")
        return replace(self.picture, content=sent.getvalue(), width=self.size[0], height=self.size[1])


class SeeingModel(ModelWrapper):
    """A model that is shown the pictures whose marks stand in its messages."""

    def __init__(
        self, model: Model, document: Document | PicturedDocument, plan: Plan, rule: PictureRule, explanation: str
    ) -> None:
        super().__init__(model)
        self._load: Callable[[str], bytes] = getattr(document, "load_picture", lambda _: b"")
        self._explanation = explanation
        self._flags: list[Flag] = []
        self._is_refused = False
        self._lost: set[str] = set()
        """The hashes of pictures that could not be loaded."""
        self.seen: tuple[Picture, ...] = ()
        """The pictures that the last reply was written by."""
        self._shown: tuple[Picture, ...] = ()
        self._rule = rule
        self._most = min(plan.chunk_tokens // 2, 2 * plan.memory_tokens // (3 * MOST_KEPT))
        listed = document.list_pictures() if isinstance(document, PicturedDocument) else ()
        self._pictures = {picture.label: picture for picture in listed}
        self._views: dict[str, View | None] = {}
        self._tokenizer = PictureTokenizer(model.tokenizer, self.find_view)

    def find_view(self, label: str) -> View | None:
        """Return what the words between two brackets show; None where they are no mark."""
        if label not in self._views:
            if len(self._views) > _MOST_VIEWS:  # other brackets than marks
                self._views.clear()
            self._views[label] = self._make_view(label)
        return self._views[label]

    def _make_view(self, label: str) -> View | None:
        whole, box = split_label(label)
        picture = self._pictures.get(whole)
        if picture is None:
            return None
        width, height = picture.width, picture.height
        if box:
            width, height = round((box[2] - box[0]) * width), round((box[3] - box[1]) * height)
            if min(width, height) < 1:
                return None
        size = self._rule.fit(width, height, self._most)
        return View(picture=picture, box=box, size=size, cost=self._rule.count(*size)) if size else None

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer, which counts pictures too."""
        return self._tokenizer if self._pictures else self._model.tokenizer

    def take_flags(self) -> tuple[Flag, ...]:
        """Return what happened to pictures since this was last asked."""
        flags, self._flags = tuple(dict.fromkeys(self._flags)), []
        return flags

    async def reply(self, messages: Sequence[Message], *, limit: int, sampling: Sampling) -> Reply:
        ask = super().reply
        reply = await self._show(messages, lambda shown: ask(shown, limit=limit, sampling=sampling))
        self.seen = self._shown
        return self._keep_few(reply)

    async def judge(self, messages: Sequence[Message], options: Sequence[str]) -> Judgement:
        ask = super().judge
        return await self._show(messages, lambda shown: ask(shown, options))

    async def _show(self, messages: Sequence[Message], call: Callable[[Sequence[Message]], Awaitable[_T]]) -> _T:
        """Make a call with the pictures; without them where the server refuses it."""
        shown = messages if self._is_refused else await asyncio.to_thread(self._attach, messages)
        self._shown = ()
        if not any(message.pictures for message in shown):
            if self._is_refused and any(self._find(message.content) for message in messages):
                self._flags.append(Flag.UNSEEN)
            return await call(messages)
        try:
            result = await call(shown)
        except (Rejected, ServerFault) as error:
            if not refuses_pictures(error):
                raise
            result = await call(messages)
            # It was the pictures: the same words alone are not rejected.
            self._is_refused = True
            self._flags.append(Flag.UNSEEN)
        else:
            self._shown = tuple(replace(one, content=b"") for message in shown for one in message.pictures)
        return result

    def _attach(self, messages: Sequence[Message]) -> Sequence[Message]:
        return [self._attach_to(message) for message in messages]

    def _attach_to(self, message: Message) -> Message:
        pictures = []
        for view in self._find(message.content).values():
            try:
                pictures.append(view.load(self._load(view.picture.sha256)))
            except (JournalError, MissingExtra, OSError):
                self._lost.add(view.picture.sha256)
                self._flags.append(Flag.UNSEEN)
        if not pictures:
            return message
        words = self._explanation.replace(_PLACE, pictures[0].mark).replace(_MOST_PLACE, str(MOST_KEPT))
        # What was counted of its words says nothing of its pictures.
        return replace(message, content=f"{message.content}\n\n{words}", pictures=tuple(pictures), tokens=None)

    def list_shown(self, text: str) -> tuple[str, ...]:
        """Return the labels of the pictures that a text points at, as far as they are shown; none after a refusal."""
        views = () if self._is_refused else self._find(text).values()
        return tuple(dict.fromkeys(one.picture.label for one in views if one.picture.sha256 not in self._lost))

    def list_pictures(self, text: str) -> tuple[Picture, ...]:
        """Return the pictures that a text points at."""
        return tuple(view.picture for view in self._find(text).values())

    def _find(self, text: str) -> dict[str, View]:
        """Return what a text points at, by the words of its marks, in order."""
        labels = dict.fromkeys(found[1] for found in MARK.finditer(text))
        return {label: view for label in labels if (view := self.find_view(label))}

    def _keep_few(self, reply: Reply) -> Reply:
        """Take the brackets off marks beyond the first few, so that a memory points at no more pictures than it may."""
        beyond = list(self._find(reply.text))[MOST_KEPT:]
        if not beyond:
            return reply
        self._flags.append(Flag.DROPPED)
        text = MARK.sub(lambda found: found[1] if found[1] in beyond else found[0], reply.text)
        return replace(reply, text=text)


def see_pictures(model: Model, document: Document | PicturedDocument, plan: Plan, question: str) -> Model:
    """Return the model as it sees the document's pictures; the model itself where it sees none."""
    rule = find_vision(model)
    if rule is None or find_wrapper(model, SeeingModel):
        return model
    explanation = prompts_for(plan, question).turns.get("pictures", "")
    return SeeingModel(model, document, plan, rule, explanation)


def judge_by_sight(
    evidence: tuple[Evidence, ...], claims: tuple[Claim, ...], seen: Sequence[Picture], document: Document
) -> tuple[tuple[Evidence, ...], tuple[Claim, ...]]:
    """Return evidence and claims; those that no words bear out are said to be seen in the pictures of the answer."""
    if not seen or not any(claim.verdict is Verdict.NOT_FOUND for claim in claims):
        return evidence, claims
    places = _find_marks(document, [picture.mark for picture in seen])
    added = tuple(
        Evidence(
            quote=one.mark,
            start=places[one.mark],
            end=places[one.mark] + len(one.mark),
            step=None,
            pages=(one.page,) if one.page is not None else (),
            sources=(one.source,),
        )
        for one in seen
        if one.mark in places
    )
    numbers = tuple(range(len(evidence), len(evidence) + len(added)))
    return (*evidence, *added), mark_seen(claims, numbers)


def _find_marks(document: Document, marks: Sequence[str]) -> dict[str, int]:
    """Return the character where each mark first stands in the document."""
    places: dict[str, int] = {}
    end, tail, longest = 0, "", max(map(len, marks))
    for part in document.parts():
        text = tail + part.text
        for mark in marks:
            if mark not in places and (at := text.find(mark)) >= 0:
                places[mark] = end - len(tail) + at
        end += len(part.text)
        tail = text[-longest:]
    return places
