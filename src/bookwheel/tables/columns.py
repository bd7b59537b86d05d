"""What a table is about: the sentence that asks for it, and its columns.

    "every obligation: who, what, until when, amount"     four columns
    "每一项义务：谁，什么，期限，金额"                        the same in Chinese

The sentence is the question of the reading, so that a reading that goes on knows its columns. Columns of a JSON Schema
stand in it as JSON, after the sentence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, Self

from bookwheel.errors import InputError
from bookwheel.text import lexicon
from bookwheel.text.numbers import find_dates, read_amount, unify_numbers
from bookwheel.verdict.parsing import blank_struck

QUOTE: Final = "quote"
"""The key of a row under which a model writes the words that the row rests on."""
_MOST_COLUMNS: Final = 40
_SEPARATOR: Final = re.compile(r"\s*[,，、;；]\s*")
_COLON: Final = re.compile(r"[:：]")
_BELONGING: Final = re.compile(r"\s(?:of|by|from|in|for|with|on|at|to|that|which|who)\s")
_DATES: Final = re.compile(
    # What is "from whom" or "from account" is no day.
    r"\b(date|day|when|until|deadline|due|since|from(?!\s+\w)|expir\w*)\b|日期|期限|时间|何时"
    r"|\b(\w*datum|\w*frist|\w*termin|stichtag|wann|fällig\w*|seit|échéance|délai|quand|fecha|plazo|vencimiento|cuándo"
    r"|scadenza|prazo)\b|時間|日付|期日|納期|締切|[签簽订訂署效期工货付止始]日\b",
    re.IGNORECASE,
)
_NUMBERS: Final = re.compile(
    r"\b(amount|price|cost|fee|sum|total|value|count|number|quantity|how many|how much|salary|rent|minutes|hours"
    r"|duration|rate|percent|score|weight|age|balance|qty)\b|金额|价|费用|数量|数目|总计|工资|租金|时长|分钟|小时|人数|次数|余额"
    r"|\b(\w*preis|\w*betrag|\w*kosten|\w*summe|\w*gebühr|anzahl|menge|gehalt|\w*miete|dauer"
    r"|montant|prix|coût|somme|quantité|nombre|salaire|loyer|durée|taux|âge"
    r"|importe|precio|coste|costo|monto|suma|cantidad|salario|alquiler|saldo|importo|prezzo|quantità|valor|preço)s?\b"
    r"|金額|價|費用|経費|數量|合計|總計|工資|料金|人數",
    re.IGNORECASE,
)
_UNITS: Final = re.compile(r"\bper \w+|(?<=amount )due\b|(?<=balance )due\b", re.IGNORECASE)
"""What says of a number for what it is: "price per day"."""
_UNIT: Final = re.compile(
    r"([$£€¥]|[A-Z]{3}(?=\s?\d))?\s?\d(?:[\d.,' ]*\d)?\s?"
    r"(?:([日美欧港]元|欧元|[^\W\d_A-Za-z]|[A-Za-z]+)|([%‰$£€¥]))?"
)
_BOUNDS: Final = ("<", ">", "≤", "≥", "&lt;", "&gt;")
"""What a value begins with that is only known to be less or more."""
NUMBER: Final = re.compile(r"[-−]?\d[\d,.\u00a0']*\d|[-−]?\d")
BARE_NUMBER: Final = re.compile(rf"(?![-−]?0\d)(?:{NUMBER.pattern})")
"""A bare number; what begins with a nought is a day, a month or a code."""
_WORDS: Final = re.compile(r"[^\W\d_]+")
_OF_DATES: Final = {*lexicon.MONTHS, "of", "the", "st", "nd", "rd", "th", "年", "月", "日"}
_SCHEMA_KINDS: Final = {"number": "number", "integer": "number", "boolean": "text", "string": "text"}


class Kind(StrEnum):
    """What the values of a column are."""

    TEXT = "text"
    NUMBER = "number"
    """A number, with whatever unit or currency stands beside it."""
    DATE = "date"


@lru_cache(maxsize=1 << 16)
def _fold(kind: Kind, value: str) -> str:
    words = " ".join(value.casefold().split()).strip(" .,;:。，；：")
    if kind is Kind.DATE and len(dates := find_dates(words)) == 1:
        others = [word for word in _WORDS.findall(words) if word not in _OF_DATES]
        return " ".join((*dates, *others)) if ":" not in words else words
    if kind is Kind.NUMBER and not NUMBER.search(words):
        words = unify_numbers(words)
    if kind is Kind.NUMBER and (found := NUMBER.search(words)) and not NUMBER.search(words, found.end()):
        number = read_amount(found[0])
        return words if number is None else f"{words[: found.start()]}{number!r}{words[found.end() :]}"
    return words


@lru_cache(maxsize=1 << 16)
def _normalize(kind: Kind, value: str) -> str | float | None:
    value = blank_struck(value)
    if kind is Kind.DATE:
        return next(iter(find_dates(value)), None)
    return None if value.lstrip().startswith(_BOUNDS) else read_amount(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table."""

    name: str
    kind: Kind = Kind.TEXT
    about: str = ""
    """What its values are, for the model; empty where the name says it."""

    def fold(self, value: str | None) -> str:
        """Return what makes two values the same: dates and numbers in one form, words without case and end signs."""
        return _fold(self.kind, value or "")

    def sort_key(self, value: str) -> tuple[bool, str | float, str]:
        """Return what sorts values by their number or date, those without one last; the same of what `fold` joins."""
        known = self.normalize(value)
        return known is None, "" if known is None else known, self.fold(value)

    def find_unit(self, value: str) -> str:
        """Return what a number counts or is paid in, as "£" or "crown"; empty where it says neither.

        >>> [Column(name="fee").find_unit(fee) for fee in ("£1,200", "12 crowns a year", "186.4万元", "28.8")]
        ['£', 'crown', '元', '']
        """
        found = _UNIT.search(unify_numbers(value))
        unit = next(filter(None, found.groups()), "") if found else ""
        return unit.rstrip("s") if len(unit) > len("s") else unit

    def normalize(self, value: str | None) -> str | float | None:
        """Return the value as its kind: a number, an ISO date, or the text; None where it has none of the kind."""
        return value if value is None or self.kind is Kind.TEXT else _normalize(self.kind, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRequest:
    """A sentence, and the columns that it names."""

    sentence: str
    columns: tuple[Column, ...]
    is_written: bool = False
    """Its rows must be written: parts of the document alone are none."""
    chinese: TableRequest | None = None
    """The same for a document in Chinese."""

    def of_language(self, language: str) -> TableRequest:
        return self.chinese if language == "zh" and self.chinese else self

    @classmethod
    def parse(cls, question: str) -> Self:
        """Return the request that a question states; InputError where it names no columns."""
        sentence, brace, tail = question.partition("\n{")
        if brace:
            return cls.from_schema(sentence, json.loads("{" + tail))
        names = _split_names(question)
        if not names:
            kind = question.strip(" .:：")
            raise InputError(f'say which columns the table has: "{kind}: name, date, amount", or give --schema FILE')
        columns = [Column(name=name, kind=_guess_kind(name)) for name in names]
        return cls(sentence=question, columns=_make_columns(columns))

    @classmethod
    def from_schema(cls, sentence: str, schema: Mapping[str, Any]) -> Self:
        """Return the request of a JSON Schema of one row."""
        properties = schema.get("properties")
        if not isinstance(properties, dict) or not properties:
            raise InputError('a row\'s JSON Schema is an object with "properties", one for each column')
        return cls(
            sentence=sentence,
            columns=_make_columns([_read_property(name, one) for name, one in properties.items()]),
            is_written=schema.get("written") is True,
        )

    @property
    def thing(self) -> str:
        """What a row is of: "every boat of the club", without its columns."""
        return _COLON.split(self.sentence, maxsplit=1)[0]

    @property
    def noun(self) -> str:
        """What a row is, without what that belongs to: "every boat", of 俱乐部的每艘船 the last."""
        return _BELONGING.split(self.thing, maxsplit=1)[0].rpartition("的")[2]

    @property
    def head(self) -> str:
        """Return what a row is called, without what is said of it: of "every unpaid invoice" the last word.

        >>> [TableRequest.parse(f"{one}: a, b").head for one in ("every unpaid invoice of May", "每张未付发票")]
        ['invoice', '发票']
        """
        word = (self.noun.split() or [""])[-1]
        return word if word.isascii() else word[-2:]

    def to_question(self) -> str:
        """Return the request as the question of a reading; `parse` reads it again."""
        is_told = [column.name for column in self.columns] == _split_names(self.sentence)
        if is_told and all(column.kind is _guess_kind(column.name) and not column.about for column in self.columns):
            return self.sentence
        properties = {
            column.name: {"type": "string", "kind": column.kind.value, "description": column.about}
            for column in self.columns
        }
        written = {"written": True} if self.is_written else {}
        return f"{self.sentence}\n{json.dumps({'properties': properties, **written}, ensure_ascii=False)}"

    def to_prompt(self) -> str:
        """Return what a model is told: the sentence, and the columns a line each."""
        return f"{self.sentence}\n{self.describe()}"

    def describe(self) -> str:
        """Return the columns for a prompt, a line each."""
        return "\n".join(f"- {column.name}{': ' if column.about else ''}{column.about}" for column in self.columns)


def names_columns(question: str) -> bool:
    """Return whether a question names columns, after a colon or in a JSON Schema."""
    return bool(_split_names(question)) or "\n{" in question


def _split_names(question: str) -> list[str]:
    _, *parts = _COLON.split(question, maxsplit=1)
    return [name for name in _SEPARATOR.split(parts[0].strip(" .。")) if name] if parts else []


def _make_columns(columns: list[Column]) -> tuple[Column, ...]:
    names = [column.name.casefold() for column in columns]
    for name in names:
        if name == QUOTE:
            raise InputError(f"no column can be called {QUOTE!r}: each row has its quote under that name")
        if names.count(name) > 1:
            raise InputError(f"the column {name!r} is named twice")
    if len(columns) > _MOST_COLUMNS:
        raise InputError(f"a table has {_MOST_COLUMNS} columns at most, not {len(columns)}")
    return tuple(columns)


def _guess_kind(name: str) -> Kind:
    if _DATES.search(_UNITS.sub("", name)):
        return Kind.DATE
    return Kind.NUMBER if _NUMBERS.search(name) else Kind.TEXT


def _read_property(name: str, schema: Any) -> Column:
    if not isinstance(schema, dict):
        raise InputError(f"the column {name!r} of the schema is no object")
    given = schema.get("kind") or ("date" if schema.get("format") in {"date", "date-time"} else "")
    kind = given or _SCHEMA_KINDS.get(str(schema.get("type", "string")), "text")
    if kind not in set(Kind):
        raise InputError(f"the column {name!r}: kind is one of {', '.join(Kind)}, not {kind!r}")
    return Column(name=name, kind=Kind(kind), about=str(schema.get("description", "")))
