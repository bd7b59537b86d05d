"""Facts in Chinese for verdict_pairs.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from verdict_facts import Fact, FactMaker, make_year

if TYPE_CHECKING:
    import random
    from collections.abc import Callable


SURNAMES: Final = "李王张刘陈杨赵黄周吴徐孙"
GIVEN: Final = ("明远", "秋生", "雅琴", "国栋", "思敏", "德华", "文静", "志强", "玉兰", "海波", "春梅", "立新")
PLACES: Final = ("青石镇", "白河县", "云岭村", "松江港", "柳溪乡", "金沙湾", "石桥镇", "南浦县")
GOODS: Final = ("大米", "茶叶", "煤油", "棉布", "瓷器", "海盐", "铜线", "木材")
FILLER: Final = (
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


class ChineseMaker(FactMaker):
    """Facts in Chinese."""

    language = "zh"
    filler = FILLER

    def __init__(self, rng: random.Random) -> None:
        people = [a + b for a, b in zip(rng.sample(SURNAMES, 12), rng.sample(GIVEN, 12), strict=True)]
        super().__init__(rng, people, rng.sample(PLACES, len(PLACES)) * 2, 900)

    def list_makers(self) -> list[Callable[[str, str, int], Fact]]:
        """Return the kinds of facts."""
        return [self.cargo, self.office, self.birth, self.payment, self.building, self.election]

    def cargo(self, who: str, value: str, at: int) -> Fact:
        """Someone delivered goods."""
        goods, place, year = self.rng.choice(GOODS), self.places[at], 1700 + self.rng.randint(1, 250)
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
        place, year = self.places[at], make_year(value)
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
        place, year = self.places[at], make_year(value)
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
        other, goods = self.people[at + 1], self.rng.choice(GOODS)
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
        place, year = self.places[at], make_year(value)
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
