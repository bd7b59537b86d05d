"""`recite`: the text that the n-th of several equal requests got in one long conversation, word for word.

The requests are worded alike and the texts are made in one way, so a search for the question's words finds all of them
or none. Only their order tells them apart, as in MRCR. The answer begins with a code, so that nothing earns by chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from annotated_types import Ge, Le

from bookwheel.lab.tasks import filler
from bookwheel.lab.tasks.assembly import SourcePassage, assemble
from bookwheel.lab.tasks.base import GoldEvidence
from bookwheel.lab.tasks.definition import SampleDraft, SampleRequest, Task
from bookwheel.lab.tasks.dialogues import ASKS, FORMS, ORDINALS, TOPICS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

_NEEDLES: Final = 8
_SENTENCES: Final = 2
_CODE_LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_CODE_LENGTH: Final = 8
_FORMS: Final = {"en": FORMS, "zh": ("谜语", "祝酒词", "短信", "寓言", "摇篮曲", "演说", "菜谱", "日记")}
_TOPICS: Final = {
    "en": TOPICS,
    "zh": ("灯笼", "下雨", "丢失的钥匙", "大海", "冬天", "老狗", "面包", "月亮", "钟表"),
}
_ASKS: Final = {
    "en": ASKS,
    "zh": (
        "请写一篇关于{topic}的{form}。",
        "能给我一篇关于{topic}的{form}吗？",
        "再来一篇关于{topic}的{form}吧。",
    ),
}
_ORDINALS: Final = {"en": ORDINALS, "zh": ("第一", "第二", "第三", "第四", "第五", "第六", "第七", "第八")}
_ROLES: Final = {"en": ("User: ", "Assistant: "), "zh": ("用户：", "助手：")}
_QUESTIONS: Final = {
    "en": (
        "The user asks for a {form} about {topic} more than once. Begin with {code} and then repeat, word for word, "
        "what the assistant wrote for the {ordinal} of these requests. Give nothing else."
    ),
    "zh": (
        "用户不止一次要一篇关于{topic}的{form}。先写{code}，然后一字不差地重复助手为其中{ordinal}次请求所写的内容。"
        "不要写别的。"
    ),
}
_NOTES: Final = {
    "en": ("{number} requests for a {form} about {topic} so far", "The {ordinal} {form} about {topic}: {text}"),
    "zh": ("关于{topic}的{form}，至今{number}次请求", "{ordinal}篇关于{topic}的{form}：{text}"),
}


def build(request: SampleRequest) -> SampleDraft:
    """Hide equal requests among others, and ask for the text that one of them got."""
    rng, language = request.rng, request.language
    needles = request.read_int("needles", _NEEDLES)
    form, topic = rng.choice(_FORMS[language]), rng.choice(_TOPICS[language])
    code = "".join(rng.choices(_CODE_LETTERS, k=_CODE_LENGTH))
    lines = filler.prose(language, rng)
    texts = [_write_text(lines, language) for _ in range(needles)]
    asked = rng.randrange(needles)
    names = {"form": form, "topic": topic, "ordinal": _ORDINALS[language][asked], "code": code}
    counted, kept = _NOTES[language]
    passages = []
    for at, place in enumerate(sorted(rng.random() for _ in texts)):
        note = counted.format(number=at + 1, **names) if at < asked else kept.format(text=texts[at], **names)
        exchange = _write_exchange(rng, language, form, topic, texts[at])
        evidence = GoldEvidence(start=0, end=len(exchange), note=note, key="recite")
        passages.append(SourcePassage(text=f"{exchange}\n\n", place=place, evidence=(evidence,) if at <= asked else ()))
    return SampleDraft(
        question=_QUESTIONS[language].format(**names),
        golds=(texts[asked], code),
        metric="verbatim",
        body=assemble(
            _write_others(rng, language, (form, topic), lines),
            passages,
            tokens=request.tokens,
            tokenizer=request.tokenizer,
            task=request.task,
        ),
        metadata={"needles": needles, "asked": asked + 1},
    )


def _write_text(lines: Iterator[str], language: str) -> str:
    gap = "" if language == "zh" else " "
    return gap.join(next(lines).strip() for _ in range(_SENTENCES))


def _write_exchange(rng: Random, language: str, form: str, topic: str, text: str) -> str:
    user, assistant = _ROLES[language]
    asked = rng.choice(_ASKS[language]).format(form=form, topic=topic)
    return f"{user}{asked}\n{assistant}{text}"


def _write_others(rng: Random, language: str, barred: tuple[str, str], lines: Iterator[str]) -> Iterator[str]:
    while True:
        wanted = rng.choice(_FORMS[language]), rng.choice(_TOPICS[language])
        if wanted != barred:
            yield _write_exchange(rng, language, *wanted, _write_text(lines, language)) + "\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecitalOptions:
    """The option of `recite`."""

    needles: Annotated[int, Ge(1), Le(_NEEDLES)] | None = None
    """Equal requests; 8 by default."""


TASKS: Final = (
    Task(
        name="recite",
        description="the text that the n-th of eight equal requests got, word for word",
        build=build,
        languages=("en", "zh"),
        options=RecitalOptions,
    ),
)
