"""Quantities, times and dates in one form, however a text writes them; for texts in lower case.

    $4.2m, 4.2 million dollars            4.2 million usd
    €71k, 71,000 euros                    71000 eur
    190 °C, 190 degrees celsius           190 celsius
    6:45 pm, 6.45 p.m., 18:45             18h45
    2 hours 20 minutes, 2 h 20 min        140 minute
    ¥45                                   45 jpycny, which is yen or yuan
    14/07/1871, 14th of july, 1871        1871-07-14, 14th july 1871
    half, 50 %, one third                 50 percent, 50 percent, 33.3 percent
    two and a half hours, half an hour    2.5 hour, 0.5 hour
    two dozen, half a dozen               24, 6
    45万元, 1.5公里, 2024年5月1日           450000 cny, 1.5 km, 2024-05-01

A unit stands behind its number as a token of its own (`UNITS`).
"""

import re
from decimal import Decimal
from typing import Final

from bookwheel.patterns import compile_late
from bookwheel.text import lexicon
from bookwheel.text.chinese_numbers import parse_cjk_number
from bookwheel.text.numbers import compose_numbers, find_dates

_FORMS: Final = {
    "usd": "usd dollar dollars",
    "eur": "eur euro euros",
    "gbp": "gbp pound pounds",
    "jpy": "jpy yen",
    "jpycny": "jpycny",
    "cny": "cny rmb yuan",
    "dkk": "dkk",
    "nok": "nok",
    "sek": "sek",
    "kr": "kr kroner kronor",
    "cent": "cent cents pence",
    "percent": "percent",
    "celsius": "celsius centigrade",
    "fahrenheit": "fahrenheit",
    "km": "km kilometre kilometres kilometer kilometers",
    "m": "m metre metres meter meters",
    "cm": "cm centimetre centimetres centimeter centimeters",
    "mm": "mm millimetre millimetres millimeter millimeters",
    "mile": "mile miles",
    "foot": "foot feet ft",
    "t": "t tonne tonnes ton tons",
    "kg": "kg kilogram kilograms kilo kilos",
    "g": "g gram grams gramme grammes",
    "mg": "mg milligram milligrams",
    "l": "l litre litres liter liters",
    "cl": "cl centilitre centilitres",
    "mah": "mah",
    "w": "w watt watts",
    "kw": "kw kilowatt kilowatts",
    "v": "v volt volts",
    "sqm": "sqm m2",
    "ml": "ml millilitre millilitres milliliter milliliters",
    "year": "year years yr yrs",
    "month": "month months mth mths",
    "week": "week weeks wk wks",
    "day": "day days",
    "hour": "hour hours hr hrs h",
    "minute": "minute minutes min mins",
    # A second alone is an ordinal.
    "second": "seconds sec secs",
}
_CANONICAL: Final = {form: unit for unit, forms in _FORMS.items() for form in forms.split()}
UNITS: Final = frozenset(_FORMS)
"""The tokens of units."""
_NUMBER: Final = compile_late(r"\d+(?:\.\d+)?")
_SMALLER: Final[dict[str, tuple[int | str, str]]] = {
    "km": (1000, "m"),
    "cm": ("0.01", "m"),
    "mm": ("0.001", "m"),
    "t": (1_000_000, "g"),
    "kg": (1000, "g"),
    "mg": ("0.001", "g"),
    "ml": ("0.001", "l"),
    "cl": ("0.01", "l"),
    "kw": (1000, "w"),
    "year": (12, "month"),
    "week": (604_800, "second"),
    "day": (86_400, "second"),
    "hour": (3600, "second"),
    "minute": (60, "second"),
    "cent": ("0.01", "coin"),
}
SYMBOLS: Final = {"$": "usd", "us$": "usd", "€": "eur", "£": "gbp", "¥": "jpycny"}
_SCALES: Final = {"k": "thousand", "m": "million", "mn": "million", "bn": "billion", "b": "billion"}
# Possessive, and only from the beginning of a number: a row of digits is walked once.
_AMOUNT: Final = r"(?<![\d.,])(\d++(?:[.,]\d++)*+)"
_SCALE: Final = r"(?:\s?(k|mn?|bn?|thousand|million|billion|trillion)\b)?"
_BEFORE: Final = compile_late(rf"(us\$|[$€£¥]|\b(?:usd|eur|gbp|dkk|nok|sek|kr)\b)\.?\s?{_AMOUNT}{_SCALE}")
_AFTER: Final = compile_late(rf"{_AMOUNT}{_SCALE}\s?(us\$|us dollars\b|[$€£¥])")
_HALF_DAY: Final = compile_late(r"(?<![\d:])(\d{1,2})(?:[:.](\d{2})(?::(\d{2}))?)?\s?([ap])(?:\.\s?m\.|m\b)")
# "Quarter past nine in the evening", with the number as a word.
_HOURS: Final = lexicon.SMALL_NUMBERS[1:13]
_PAST: Final = compile_late(
    rf"\b(?:a )?(quarter|half|ten|twenty|five) (past|to) (\d{{1,2}}|{'|'.join(_HOURS)})\b"
    r"(?: (?:o.?clock )?(?:in the (morning|afternoon|evening)|at (night)|([ap])\.?m\.?))?"
)
_PAST_MINUTES: Final = {"quarter": 15, "half": 30, "five": 5, "ten": 10, "twenty": 20}
_CLOCK: Final = compile_late(r"(?<![\d:.])(\d{1,2}):(\d{2})(?::(\d{2}))?(?![\d:])")
_SLASH: Final = compile_late(r"(?<![\d/.])\d{1,2}([/.])\d{1,2}\1\d{4}(?![\d/])")
_MONTH_YEAR: Final = compile_late(r"(?<![\d/.])(0?[1-9]|1[0-2])/([12]\d{3})(?![\d/])")
_CHINESE_DATE: Final = compile_late(r"(\d{4})年(\d{1,2})月(\d{1,2})[日号]")
_MONTH: Final = rf"(?:{'|'.join(lexicon.MONTH_NAMES)})"
_OF_MONTH: Final = compile_late(rf"(\d(?:st|nd|rd|th)?) of (?={_MONTH}\b)")
_MONTH_COMMA: Final = compile_late(rf"\b({_MONTH}(?: \d{{1,2}})?)(?:,| of)\s+(?=\d{{4}}\b)")
_SHORT_MONTHS: Final = {name[:3]: name for name in lexicon.MONTH_NAMES if name != "may"} | {"sept": "september"}
_SHORT_MONTH: Final = compile_late(rf"\b({'|'.join(sorted(_SHORT_MONTHS, key=len, reverse=True))})\b\.?(?=\s+\d)")
_SHORT_AFTER: Final = compile_late(rf"(?<=\d)\s+({'|'.join(sorted(_SHORT_MONTHS, key=len, reverse=True))})\b\.?")
# "€7.650,50", "1.250.000 €": only so is it sure that a point parts thousands, for fuel and power have three decimals.
_CONTINENTAL: Final = compile_late(
    r"(?<![\d.,])(?:(?<=€)|(?<=€ )|(?=[\d.,]*+\s?(?:€|eur\b|euros?\b)))"
    r"\d{1,3}(?:(?:\.\d{3}){2,}+(?:,\d{2})?|\.\d{3},\d{2})(?![\d.,]\d)"
)
_DECIMAL_COMMA: Final = compile_late(r"(?<![\d.,])(\d++),(\d{1,2})(?=\s?(?:%|€|(?:eur|celsius|[kcm]?m|k?g|m?l)\b))")
_COUNTS: Final = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_PARTS: Final = {"half": 2, "halve": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "tenth": 10}
_FRACTION: Final = compile_late(
    r"\b(a|one|two|three|four|five|six)[\s-](half|halves|thirds?|quarters?|fourths?|fifths?|sixths?|tenths?)\b"
    r"(?!\s(?:past|to|an?|hours?|dozen|of an?\b))"
)
_SLASH_FRACTION: Final = compile_late(r"(?<![\d/.])([1-9])/([2-9]|10)(?![\d/])")
_HALF: Final = compile_late(
    r"(?<!first )(?<!second )(?<!other )(?<!and a )(?<!-)\bhalf\b(?!\s(?:past|an?|hours?|dozen|way)\b|-)"
)
_DOZEN: Final = compile_late(r"\b(half a|a half|a|one|two|three|four|five|six|\d++)\s?dozen\b")
_HAN_SCALES: Final = {"千": 1000, "万": 10_000, "百万": 1_000_000, "千万": 10_000_000, "亿": 100_000_000}
_HAN_NUMBER: Final = compile_late(r"(?<![\d.,])(\d++(?:,\d{3})*+(?:\.\d++)?+)\s?(百万|千万|[千万亿])(?!克|米|瓦)")
_HAN_FORMS: Final = {
    "usd": "美元",
    "eur": "欧元",
    "gbp": "英镑",
    "jpy": "日元",
    "cny": "人民币 元 块钱",
    "km": "公里 千米",
    "cm": "厘米",
    "m": "米",
    "t": "吨",
    "kg": "公斤 千克",
    "mg": "毫克",
    "g": "克",
    "l": "升",
    "ml": "毫升",
    "mah": "毫安时",
    "w": "瓦",
    "kw": "千瓦",
    "v": "伏",
    "sqm": "平方米 平米",
    "celsius": "摄氏度",
    "hour": "小时 个小时",
    "minute": "分钟",
    "month": "个月",
    "week": "个星期",
}
_HAN_UNITS: Final = {form: unit for unit, forms in _HAN_FORMS.items() for form in forms.split()}
_HAN_UNIT: Final = compile_late(rf"(?<=\d)\s?({'|'.join(sorted(_HAN_UNITS, key=len, reverse=True))})")
# 半小时, 两个半小时
_HAN_HALVES: Final = compile_late(r"(?<![\d个])半(?=个?(?:小时|月))|(?<=\d)个半(?=小时|月)")
# 18号 is a house, but a day behind a month.
_HAN_DAY: Final = compile_late(r"(?<=月\d)号|(?<=月\d\d)号")
# The point of "33,200 kr. or 38,200 kr." ends no sentence.
_CROWNS: Final = compile_late(r"(?<=\d)\s?kr\.(?=\s(?:or|and|to|but|not)\b)")
_KWH: Final = compile_late(r"(?<=\d)\s?kilowatt[ -]?hours?\b")
_SQUARE_METRES: Final = compile_late(r"(?<=\d)\s?(?:square met(?:re|er)s?|sq\.? ?m)\b")
# "two and a half hours", "a day and a half", "half an hour", "three quarters of a million".
_MEASURED: Final = (
    "(minute|hour|day|week|month|year|mile|kilomet(?:re|er)|met(?:re|er)|lit(?:re|er)|thousand|million|billion)s?"
)
_WHOLES: Final = {"a": 1, "an": 1} | {word: at for at, word in enumerate(lexicon.SMALL_NUMBERS)}
_WHOLE: Final = rf"\b({'|'.join(_WHOLES)}|\d+)"
_AND_A_HALF: Final = compile_late(rf"{_WHOLE}[ -]and[ -]a[ -]half[ -]{_MEASURED}\b|{_WHOLE} {_MEASURED} and a half\b")
_PART_OF: Final = compile_late(rf"\b(half|(?:a )?quarter of|three[ -]quarters of) an? {_MEASURED}\b")
_PARTS_OF: Final = {"h": "0.5", "q": "0.25", "a": "0.25", "t": "0.75"}
_COINED: Final = frozenset({"usd", "eur", "gbp"})
# ¥ is either of two, a cent and kr. are of three.
_EITHER: Final = {"jpycny": frozenset({"jpy", "cny"}), "coin": _COINED, "kr": frozenset({"dkk", "nok", "sek"})}
_SPEED: Final = compile_late(
    r"(?<=\d)\s?(?:(miles (?:per|an) hour)|(met(?:re|er)s (?:per|a) second)|"
    r"kilomet(?:re|er)s (?:per|an) hour|kph|kmph)\b"
)
# "thirty (30) days", as contracts have it; "Part two (1984)" is another thing.
_SPELLED: Final = "|".join(lexicon.NUMBER_WORDS)
_TWICE: Final = compile_late(rf"\b((?:{_SPELLED})(?:[\s-](?:{_SPELLED})\b){{0,4}}+)\s?\((\d{{1,4}})\)")
_GLUED: Final = compile_late(
    r"(?<=\d)(?=(?:km|kg|cm|mm|mg|ml|cl|ft|mah|kw|[mglktwv]|am|pm|mph|gb|mb|tb|hz|kwh|h(?:rs?)?|mins?|secs?)\b)"
)
# The hours that lie behind noon; 晚上12点 is midnight.
_HAN_LATE: Final = {"下午": range(1, 13), "傍晚": range(1, 13), "晚上": range(1, 12), "中午": (12, 1, 2, 3)}
# Minutes without a sign end the time: 晚上8点30人参加 has thirty people.
_HAN_TIME: Final = compile_late(
    "(凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上)([一二三四五六七八九十两]{1,3}|1?\\d|2[0-4])"
    "(?:[点时](?:(半)|([0-5]?\\d)分|([0-5]\\d)(?![\\d\u4e00-\u9fff]))?整?|[:：]([0-5]\\d)(?!\\d))"
)
# Without a part of the day only the later hours are sure.
_HAN_CLOCK: Final = compile_late(r"(?<!\d)(1[3-9]|2[0-4])[点时]([0-5]\d)分")
_DEGREES: Final = compile_late(
    r"(?<=\d)\s?(?:°\s?|degrees?\s)(c(?:elsius|entigrade)?|f(?:ahrenheit)?)\b|(?<=\d) (c|f)\b"
)


def spell_quantities(text: str) -> str:
    """Return the text with symbols, scales, times, dates and fractions in words and numbers."""
    text = _SPEED.sub(lambda match: "mph" if match[1] else "m/s" if match[2] else "km/h", text)
    text = _SQUARE_METRES.sub(" sqm", _KWH.sub(" kwh", _CROWNS.sub(" kr", text)))
    text = _AND_A_HALF.sub(_write_and_a_half, text)
    text = _PART_OF.sub(lambda match: f"{_PARTS_OF[match[1][0]]} {match[2]}", text)
    text = _TWICE.sub(_write_once, text)
    text = _SHORT_MONTH.sub(lambda match: _SHORT_MONTHS[match[1]], text)
    text = _SHORT_AFTER.sub(lambda match: f" {_SHORT_MONTHS[match[1]]}", text)
    text = _MONTH_COMMA.sub(r"\1 ", _OF_MONTH.sub(r"\1 ", text))
    text = _SLASH.sub(lambda match: next(iter(find_dates(match[0])), match[0]), text)
    text = _MONTH_YEAR.sub(lambda match: f"{lexicon.MONTH_NAMES[int(match[1]) - 1]} {match[2]}", text)
    text = _CHINESE_DATE.sub(lambda match: f" {match[1]}-{int(match[2]):02}-{int(match[3]):02} ", text)
    text = _HAN_CLOCK.sub(lambda match: _write_time(int(match[1]), match[2]), _HAN_TIME.sub(_write_han_time, text))
    text = _PAST.sub(_write_past, text)
    text = _HALF_DAY.sub(
        lambda match: _write_time(int(match[1]) % 12 + 12 * (match[4] == "p"), match[2] or "00", match[3]), text
    )
    text = _CLOCK.sub(lambda match: _write_time(int(match[1]), match[2], match[3]), text)
    text = _CONTINENTAL.sub(lambda match: match[0].replace(".", "").replace(",", "."), text)
    text = _DECIMAL_COMMA.sub(r"\1.\2", text)
    text = _HAN_NUMBER.sub(lambda match: _round(Decimal(match[1].replace(",", "")) * _HAN_SCALES[match[2]]), text)
    text = _HAN_DAY.sub("日", text)
    text = _HAN_HALVES.sub(lambda match: "0.5" if match[0] == "半" else ".5", text)
    text = _HAN_UNIT.sub(lambda match: f" {_HAN_UNITS[match[1]]} ", text)
    text = _BEFORE.sub(lambda match: _write_money(match[2], match[3], match[1]), text)
    text = _AFTER.sub(lambda match: _write_money(match[1], match[2], match[3]), text)
    text = _DEGREES.sub(lambda match: " celsius" if (match[1] or match[2])[0] == "c" else " fahrenheit", text)
    text = _DOZEN.sub(lambda match: str(6 if "half" in match[1] else 12 * int(_COUNTS.get(match[1], match[1]))), text)
    text = re.sub(r"(?<=\d)\s*(?:%|pct\b)|\bper cent\b", " percent", text)
    text = _FRACTION.sub(lambda match: _write_share(_COUNTS[match[1]], _PARTS[match[2].removesuffix("s")]), text)
    text = _SLASH_FRACTION.sub(lambda match: _write_share(int(match[1]), int(match[2])), text)
    return _GLUED.sub(" ", _HALF.sub("50 percent", text))


def _write_once(match: re.Match[str]) -> str:
    """Return a number in words without its digits in brackets; where these are another number, both."""
    value = lexicon.NUMBER_WORDS.get(match[1]) or "".join(compose_numbers(re.split(r"[\s-]", match[1]), ""))
    return match[1] if value == match[2] else match[0]


def _write_and_a_half(match: re.Match[str]) -> str:
    whole, unit = match[1] or match[3], match[2] or match[4]
    return f"{_WHOLES.get(whole, whole)}.5 {unit}"


def _write_past(match: re.Match[str]) -> str:
    hour = int(match[3]) if match[3].isdigit() else _HOURS.index(match[3]) + 1
    minutes = 60 * (hour % 12) + (1 if match[2] == "past" else -1) * _PAST_MINUTES[match[1]]
    is_late = match[4] in {"afternoon", "evening"} or match[5] or match[6] == "p"
    if not (match[4] or match[5] or match[6]):
        minutes += 12 * 60 * (hour == 12)  # noqa: PLR2004 - noon
    minutes = (minutes + 12 * 60 * bool(is_late)) % (24 * 60)
    return _write_time(minutes // 60, f"{minutes % 60:02}")


def _write_han_time(match: re.Match[str]) -> str:
    hour = int(match[2]) if match[2].isdigit() else int(parse_cjk_number(match[2]))
    if hour > 24:  # noqa: PLR2004 - of the clock
        return match[0]
    is_late = hour in _HAN_LATE.get(match[1], ()) or 12 < hour < 24  # noqa: PLR2004 - of the clock
    minutes = "30" if match[3] else f"{int(match[4] or match[5] or match[6] or 0):02}"
    return _write_time(hour % 12 + 12 * is_late, minutes)


def _write_time(hour: int, minutes: str, seconds: str | None = None) -> str:
    return f" {hour:02}h{minutes} " + (f"{seconds} " if seconds else "")


def _write_money(amount: str, scale: str | None, currency: str) -> str:
    named = SYMBOLS.get(currency, "usd" if currency.startswith("us") else currency)
    return f" {amount} {_SCALES.get(scale or '', scale or '')} {named} "


def _write_share(part: int, whole: int) -> str:
    return f"{_round(Decimal(100 * part) / whole)} percent"


def _round(value: Decimal) -> str:
    text = f"{value:.3f}" if value < 1 else f"{value:.1f}" if value % 1 else f"{value:.0f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def name_units(tokens: list[str]) -> list[str]:
    """Return the tokens with the unit behind each number in its one form, and what two units make in one of them.

    >>> name_units("2 hours and 20 minutes at 18 dollars 50 cents".split())
    ['140', 'minute', 'at', '18.5', 'usd']
    """
    named = [
        _CANONICAL.get(token, token) if _NUMBER.fullmatch(before) else token
        for before, token in zip(["", *tokens], tokens, strict=False)
    ]
    added: list[str] = []
    for token in named:
        added.append(token)
        tail = added[-5:] if added[-3:-2] == ["and"] else added[-4:]
        if token in UNITS and len(tail) > 3 and (total := _add(*tail[:2], *tail[-2:])):  # noqa: PLR2004 - two quantities
            added[-len(tail) :] = total
    return added


def _add(number: str, unit: str, rest: str, part: str) -> list[str]:
    """Return a number of one unit and a rest in a smaller one as one quantity; nothing where they are none."""
    if not (_NUMBER.fullmatch(number) and _NUMBER.fullmatch(rest)):
        return []
    if part == "cent" and unit in _COINED:
        return [f"{(Decimal(number) + Decimal(rest) / 100).normalize():f}", unit]
    factor, base = _SMALLER.get(unit, (1, unit))
    smaller, part_base = _SMALLER.get(part, (1, part))
    if base != part_base or Decimal(factor) <= Decimal(smaller):
        return []
    return [f"{(Decimal(number) * Decimal(factor) / Decimal(smaller) + Decimal(rest)).normalize():f}", part]


def same_quantity(number: str, unit: str, other: str, other_unit: str) -> bool:
    """Return whether two numbers with units in their one form are the same quantity: 1.5 km is 1500 m."""
    if not (_NUMBER.fullmatch(number) and _NUMBER.fullmatch(other)):
        return False
    (value, base), (other_value, other_base) = to_base(Decimal(number), unit), to_base(Decimal(other), other_unit)
    is_same = base == other_base or other_base in _EITHER.get(base, ()) or base in _EITHER.get(other_base, ())
    return is_same and value == other_value


def to_base(number: Decimal, unit: str) -> tuple[Decimal, str]:
    """Return a quantity in the unit in which those of its kind are compared: 1.5 km as 1500 m."""
    factor, base = _SMALLER.get(unit, (1, unit))
    return number * Decimal(factor), base
