"""Answers and documents of our own making, each labelled right or wrong, for benchmarks/verdicts.py and the tests.

The document holds facts among some fifty sentences of filler. The answer is right in the document's words, right in
other words, or wrong: another value, another name, a negation, two people's facts merged, two roles exchanged. Half
the pairs are English, half Chinese.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """An answer, the document it is about, and whether it is right."""

    kind: str
    language: str
    document: str
    question: str
    answer: str
    is_right: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One fact in several wordings: the first stands in the document."""

    who: str
    value: str
    said: str
    reworded: tuple[str, ...]
    """Other wordings of the same."""
    negated: str
    question: str
    swapped: str = ""
    """The same words with the roles exchanged."""


def list_words(text: str) -> list[str]:
    """Return the words of a text."""
    return text.split()


FIRST: Final = list_words(
    "Ada Bo Cyra Dov Elin Falk Greta Hanno Ines Jory Kaja Lorn Mina Nils Oda Per Quint Runa Sten Tove"
)
LAST: Final = list_words(
    "Quill Reed Marsh Vane Holt Lunde Farrow Pell Strand Ashby Crane Dahl Eskil Frost Gale Hawk Ivers Juno Kern Lamb"
)
PLACES: Final = list_words("Skarholm Este Varnik Orlow Tamsel Brugge Kalmen Ostrand Perin Lovas Hemsund Dorne")
GOODS: Final = ("herring", "tin plates", "lamp oil", "rye flour", "slate", "copper wire", "salt cod", "blue glass")
UNITS: Final = list_words("barrels crates sacks tons bales casks")
MONTHS: Final = list_words("January February March April May June July August September October November December")
FILLER: Final = (
    "Gulls circled over the pier all day.",
    "Nobody spoke much about the weather.",
    "The road along the cliff was closed.",
    "In spring the market opened an hour earlier.",
    "Rain fell on the roofs of the lower town.",
    "The ferry was late again, as it had been all winter.",
    "A new clock was hung in the hall.",
    "Children sold lemonade by the church wall.",
    "The lighthouse lamp needed cleaning.",
    "Several letters came back unopened.",
    "The choir practised on Thursday evenings.",
    "Fog lay over the bay until noon.",
)
ZH_SURNAMES: Final = "李王张刘陈杨赵黄周吴徐孙"
ZH_GIVEN: Final = ("明远", "秋生", "雅琴", "国栋", "思敏", "德华", "文静", "志强", "玉兰", "海波", "春梅", "立新")
ZH_PLACES: Final = ("青石镇", "白河县", "云岭村", "松江港", "柳溪乡", "金沙湾", "石桥镇", "南浦县")
ZH_GOODS: Final = ("大米", "茶叶", "煤油", "棉布", "瓷器", "海盐", "铜线", "木材")
ZH_FILLER: Final = (
    "海鸥整天在码头上空盘旋。",
    "谁也不太谈论天气。",
    "沿着山崖的路封了。",
    "春天集市早开一个小时。",
    "雨落在下城的屋顶上。",
    "渡船又晚了,整个冬天都这样。",
    "大厅里挂了一座新钟。",
    "孩子们在墙边卖汽水。",
    "灯塔的灯需要擦洗。",
    "几封信原封不动地退了回来。",
    "合唱队每周四晚上排练。",
    "雾笼罩海湾直到中午。",
)


class EnglishMaker:
    """Facts in English."""

    language = "en"
    filler = FILLER

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.people = [f"{a} {b}" for a, b in zip(rng.sample(FIRST, 16), rng.sample(LAST, 16), strict=True)]
        self.places = rng.sample(PLACES, len(PLACES))
        self.numbers = rng.sample(range(12, 9000), 40)

    def facts(self) -> list[Fact]:
        """Return ten facts about ten people."""
        makers = [self.cargo, self.office, self.birth, self.payment, self.building, self.letter]
        makers += [self.election, self.depth]
        self.rng.shuffle(makers)
        return [make(self.people[at], str(self.numbers[at]), at) for at, make in enumerate((*makers, *makers[:2]))]

    def cargo(self, who: str, value: str, at: int) -> Fact:
        """Someone delivered goods."""
        unit, goods, place = self.rng.choice(UNITS), self.rng.choice(GOODS), self.places[at]
        day = f"{self.rng.randint(1, 28)} {self.rng.choice(MONTHS)} {self.rng.randint(1700, 1990)}"
        return Fact(
            who=who,
            value=value,
            said=f"On {day}, {who} delivered {value} {unit} of {goods} to the harbour of {place}.",
            reworded=(
                f"{who} delivered {value} {unit} of {goods} to the harbour of {place} on {day}.",
                f"{value} {unit} of {goods} were delivered to the harbour of {place} by {who}.",
                f"The harbour of {place} received {value} {unit} of {goods} from {who}.",
            ),
            negated=f"{who} did not deliver {value} {unit} of {goods} to the harbour of {place}.",
            question=f"How many {unit} of {goods} did {who} deliver to the harbour of {place}?",
        )

    def office(self, who: str, value: str, at: int) -> Fact:
        """Someone holds an office since a year."""
        place, year = self.places[at], self._year(value)
        office = self.rng.choice(("harbour master", "town clerk", "chief engineer", "school inspector"))
        return Fact(
            who=who,
            value=year,
            said=f"{who} has been the {office} of {place} since {year}.",
            reworded=(
                f"The {office} of {place} since {year} has been {who}.",
                f"Since {year} {who} has been the {office} of {place}.",
                f"{place} has had {who} as its {office} from {year} on.",
            ),
            negated=f"{who} has never been the {office} of {place}.",
            question=f"Who has been the {office} of {place} since {year}?",
        )

    def birth(self, who: str, value: str, at: int) -> Fact:
        """Someone was born and died somewhere."""
        place, year = self.places[at], self._year(value)
        return Fact(
            who=who,
            value=year,
            said=f"{who}, a maker of sails, was born in {place} in {year} and moved away young.",
            reworded=(
                f"{who} was born in {place} in {year}.",
                f"In {year} {who} was born in {place}.",
                f"{place} is where {who} came into the world in {year}.",
            ),
            negated=f"{who} was not born in {place} in {year}.",
            question=f"In which year was {who} born in {place}?",
        )

    def payment(self, who: str, value: str, at: int) -> Fact:
        """One paid another."""
        other = self.people[at + 1 if at < len(self.people) - 1 else 0]
        goods = self.rng.choice(GOODS)
        return Fact(
            who=who,
            value=value,
            said=f"{who} paid {other} {value} crowns for the {goods}.",
            reworded=(
                f"{other} was paid {value} crowns for the {goods} by {who}.",
                f"For the {goods}, {who} paid {other} {value} crowns.",
                f"The {goods} cost {who} {value} crowns, which went to {other}.",
            ),
            negated=f"{who} refused to pay {other} {value} crowns for the {goods}.",
            question=f"How many crowns did {who} pay {other} for the {goods}?",
            swapped=f"{other} paid {who} {value} crowns for the {goods}.",
        )

    def building(self, who: str, value: str, at: int) -> Fact:
        """Someone built something."""
        place, year = self.places[at], self._year(value)
        what = self.rng.choice(("stone bridge", "water mill", "customs house", "bell tower"))
        return Fact(
            who=who,
            value=year,
            said=f"The {what} of {place} was built by {who} in {year} and still stands.",
            reworded=(
                f"{who} built the {what} of {place} in {year}.",
                f"The {what} of {place} was constructed in {year} by {who}.",
                f"It was {who} to whom {place} owed its {what} in {year}.",
            ),
            negated=f"The {what} of {place} was not built by {who} in {year}.",
            question=f"Who built the {what} of {place}?",
        )

    def letter(self, who: str, value: str, at: int) -> Fact:
        """Someone wrote to another about something."""
        other, place = self.people[at + 2 if at < len(self.people) - 2 else 1], self.places[at]
        return Fact(
            who=who,
            value=value,
            said=f"In letter {value}, {who} warned {other} about the flood at {place}.",
            reworded=(
                f"{who} warned {other} about the flood at {place} in letter {value}.",
                f"{other} was warned about the flood at {place} by {who} in letter {value}.",
                f"Letter {value} from {who} told {other} to beware of the flood at {place}.",
            ),
            negated=f"In letter {value}, {who} never warned {other} about the flood at {place}.",
            question=f"Who warned {other} about the flood at {place}?",
            swapped=f"In letter {value}, {other} warned {who} about the flood at {place}.",
        )

    def election(self, who: str, value: str, at: int) -> Fact:
        """Someone won by so many votes."""
        place = self.places[at]
        return Fact(
            who=who,
            value=value,
            said=f"With {value} votes, {who} won the election in {place} before the thaw.",
            reworded=(
                f"{who} won the election in {place} with {value} votes.",
                f"The election in {place} was won by {who} with {value} votes.",
                f"{value} voters in {place} chose {who}, enough for victory.",
            ),
            negated=f"{who} did not win the election in {place} with {value} votes.",
            question=f"How many votes did {who} win the election in {place} with?",
        )

    def depth(self, who: str, value: str, at: int) -> Fact:
        """Someone measured something."""
        place = self.places[at]
        return Fact(
            who=who,
            value=value,
            said=f"{who} measured the depth of the well at {place}: {value} feet.",
            reworded=(
                f"The depth of the well at {place} is {value} feet.",
                f"The well at {place} has a depth of {value} feet, measured by {who}.",
                f"According to {who}, one must go down {value} feet in the well at {place}.",
            ),
            negated=f"The depth of the well at {place} is not {value} feet.",
            question=f"What is the depth of the well at {place} in feet?",
        )

    def _year(self, value: str) -> str:
        return str(1500 + int(value) % 480)

    def replace_value(self, text: str, fact: Fact) -> str:
        """Return the text with another value in the place of the fact's."""
        other = str(int(fact.value) + self.rng.choice((-11, -3, 1, 7, 10)))
        return text.replace(fact.value, other)


class ChineseMaker:
    """Facts in Chinese."""

    language = "zh"
    filler = ZH_FILLER

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        surnames = rng.sample(ZH_SURNAMES, 12)
        self.people = [a + b for a, b in zip(surnames, rng.sample(ZH_GIVEN, 12), strict=True)]
        self.places = rng.sample(ZH_PLACES, len(ZH_PLACES)) * 2
        self.numbers = rng.sample(range(12, 900), 40)

    def facts(self) -> list[Fact]:
        """Return eight facts about eight people."""
        makers = [self.cargo, self.office, self.birth, self.payment, self.building, self.election]
        self.rng.shuffle(makers)
        return [make(self.people[at], str(self.numbers[at]), at) for at, make in enumerate((*makers, *makers[:2]))]

    def cargo(self, who: str, value: str, at: int) -> Fact:
        """Someone delivered goods."""
        goods, place, year = self.rng.choice(ZH_GOODS), self.places[at], 1700 + self.rng.randint(1, 250)
        return Fact(
            who=who,
            value=value,
            said=f"{year}年春天,{who}把{value}袋{goods}运到了{place}的仓库。",
            reworded=(
                f"{who}把{value}袋{goods}运到了{place}的仓库。",
                f"{value}袋{goods}被{who}运到了{place}的仓库。",
                f"{place}的仓库收到了{who}的{value}袋{goods}。",
            ),
            negated=f"{who}没有把{value}袋{goods}运到{place}的仓库。",
            question=f"{who}把多少袋{goods}运到了{place}的仓库?",
        )

    def office(self, who: str, value: str, at: int) -> Fact:
        """Someone holds an office."""
        place, year = self.places[at], str(1500 + int(value) % 480)
        office = self.rng.choice(("港务长", "总工程师", "小学校长", "邮政局长"))
        return Fact(
            who=who,
            value=year,
            said=f"自{year}年起,{place}的{office}一直是{who}。",
            reworded=(
                f"{place}的{office}是{who}。",
                f"{who}自{year}年起一直是{place}的{office}。",
                f"{year}年以来担任{place}{office}职务的人叫{who}。",
            ),
            negated=f"{place}的{office}不是{who}。",
            question=f"自{year}年起谁是{place}的{office}?",
        )

    def birth(self, who: str, value: str, at: int) -> Fact:
        """Someone was born somewhere."""
        place, year = self.places[at], str(1500 + int(value) % 480)
        return Fact(
            who=who,
            value=year,
            said=f"{who}于{year}年出生在{place},后来搬走了。",
            reworded=(
                f"{year}年,{who}出生在{place}。",
                f"{who}出生在{place}。",
                f"{place}是{who}{year}年的诞生之地。",
            ),
            negated=f"{who}不是{year}年出生在{place}的。",
            question=f"{who}是哪一年出生在{place}的?",
        )

    def payment(self, who: str, value: str, at: int) -> Fact:
        """One paid another."""
        other, goods = self.people[at + 1], self.rng.choice(ZH_GOODS)
        return Fact(
            who=who,
            value=value,
            said=f"为了那批{goods},{who}付给{other}{value}元。",
            reworded=(
                f"{who}付给{other}{value}元。",
                f"{who}为了那批{goods}付给{other}{value}元。",
                f"{other}从{who}那里得到{value}元货款。",
            ),
            negated=f"{who}没有付给{other}{value}元。",
            question=f"{who}付给{other}多少元?",
            swapped=f"{other}付给{who}{value}元。",
        )

    def building(self, who: str, value: str, at: int) -> Fact:
        """Someone built something."""
        place, year = self.places[at], str(1500 + int(value) % 480)
        what = self.rng.choice(("石拱桥", "水磨坊", "钟楼", "海关楼"))
        return Fact(
            who=who,
            value=year,
            said=f"{place}的{what}由{who}于{year}年建造,至今还在。",
            reworded=(
                f"{place}的{what}由{who}建造。",
                f"{year}年,{who}建造了{place}的{what}。",
                f"{place}能有{what},全靠{who}在{year}年的努力。",
            ),
            negated=f"{place}的{what}不是由{who}建造的。",
            question=f"{place}的{what}由谁建造?",
        )

    def election(self, who: str, value: str, at: int) -> Fact:
        """Someone won by so many votes."""
        place = self.places[at]
        return Fact(
            who=who,
            value=value,
            said=f"{who}以{value}票赢得了{place}的选举。",
            reworded=(
                f"{who}赢得了{place}的选举。",
                f"{place}的选举由{who}以{value}票赢得。",
                f"在{place},投给{who}的{value}票足以获胜。",
            ),
            negated=f"{who}没有赢得{place}的选举。",
            question=f"{who}以多少票赢得了{place}的选举?",
        )

    def replace_value(self, text: str, fact: Fact) -> str:
        """Return the text with another value in the place of the fact's."""
        return text.replace(fact.value, str(int(fact.value) + self.rng.choice((-11, -3, 1, 7, 10))))


KINDS: Final = (
    "right",
    "short",
    "reworded",
    "wrong value",
    "wrong name",
    "negated",
    "merged",
    "exchanged",
    "short wrong",
)


def make_pair(kind: str, language: str, rng: random.Random) -> Pair | None:
    """Return a pair of this kind; None where the drawn fact has none."""
    maker = EnglishMaker(rng) if language == "en" else ChineseMaker(rng)
    facts = maker.facts()
    sentences = [fact.said for fact in facts] + rng.choices(maker.filler, k=50)
    rng.shuffle(sentences)
    document = (" " if language == "en" else "").join(sentences)
    fact, other = rng.sample(facts, 2)
    text = rng.choice((fact.said, *fact.reworded))
    asks_name = fact.question.startswith("Who") or "谁" in fact.question
    short = fact.who if asks_name else fact.value
    answers: dict[str, Callable[[], str]] = {
        "right": lambda: fact.said,
        "short": lambda: short,
        "reworded": lambda: rng.choice(fact.reworded),
        "wrong value": lambda: maker.replace_value(text, fact),
        "wrong name": lambda: text.replace(fact.who, other.who),
        "negated": lambda: fact.negated,
        "merged": lambda: other.said.replace(other.who, fact.who),
        "exchanged": lambda: fact.swapped,
        "short wrong": lambda: other.who if asks_name else other.value,
    }
    answer = answers[kind]()
    is_right = kind in {"right", "short", "reworded"}
    if not answer or (not is_right and answer in {short, fact.said, *fact.reworded}):
        return None
    return Pair(
        kind=kind, language=language, document=document, question=fact.question, answer=answer, is_right=is_right
    )


def make_pairs(count: int, seed: int) -> list[Pair]:
    """Return so many pairs, all kinds and both languages in turn."""
    rng = random.Random(seed)
    pairs: list[Pair] = []
    while len(pairs) < count:
        kind, language = KINDS[len(pairs) % len(KINDS)], ("en", "zh")[len(pairs) // len(KINDS) % 2]
        pair = make_pair(kind, language, rng)
        if pair:
            pairs.append(pair)
    return pairs
