"""Show the numbers of a workbook as its cells do: 0.6 as 60%, -1200 as (1,200.00 €).

    positive;negative;zero;text        0.0%    #,##0.00 "€";(#,##0.00 "€")    0.00E+00    # ?/?    0.0,,"M"

A format that is not as simple as these, with conditions or letters between digits, shows nothing: the number is then
told with all of its digits. So is one that shows no number at all, and a zero is one even where a dash is drawn for it.
Dates are not of here: they are read as days and times.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final

Show = Callable[[float], tuple[str, bool]]
"""Returns a number as its cell shows it, and whether it has more digits than that."""
# Those that every workbook has; the currency of the others is the reader's own, and not told.
_BUILT_IN: Final = {
    1: "0",
    2: "0.00",
    3: "#,##0",
    4: "#,##0.00",
    9: "0%",
    10: "0.00%",
    11: "0.00E+00",
    12: "# ?/?",
    13: "# ??/??",
    **dict.fromkeys((5, 6), "#,##0;-#,##0"),
    **dict.fromkeys((7, 8), "#,##0.00;-#,##0.00"),
    **dict.fromkeys((37, 38, 41, 42), "#,##0;(#,##0)"),
    **dict.fromkeys((39, 40, 43, 44), "#,##0.00;(#,##0.00)"),
}
_LONGEST: Final = 255
_SECTION: Final = re.compile(r'((?:"[^"]*"|\\.|\[[^\]]*\]|[^;"\\\[])*)(?:;|$)')
_TOKEN: Final = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|\[\$(?P<currency>[^\]-]*)(?:-[^\]]*)?\]|(?P<plain>[-+$£€¥():% \u00a0])|'
    r"(?P<unseen>[_*].|\[(?:black|blue|cyan|green|magenta|red|white|yellow|color ?\d+)\])|"
    r"(?P<number>(?P<whole>(?:[#0?]|,(?=,*[#0?]))*[#0?])(?:\.(?P<part>[#0?]*))?(?P<scale>,*)(?:E(?P<sign>[-+])(?P<power>0+))?)",
    re.IGNORECASE | re.DOTALL,
)
_FRACTION: Final = re.compile(r"#? *[?#]+/(?:(\?+)|([1-9]\d{0,3}))")
# What is written 1.005 is a little less as a binary fraction, and a cell rounds what is written.
_AS_WRITTEN: Final = 1 + 4e-16
# Of the last digit shown: less is the noise of binary fractions.
_NOISE: Final = 1e-6


def read_formats(styles: Any, *, keeps_digits: bool = False) -> dict[int, Show]:
    """Return what shows the numbers of each style of cells that shows them otherwise than plainly."""
    codes: Mapping[int, str] = _BUILT_IN | {
        int(one.get("numFmtId", 0)): one.get("formatCode", "") for one in styles.iter("{*}numFmt")
    }
    of_cells = styles.find("{*}cellXfs")
    numbers = [int(one.get("numFmtId", 0)) for one in (() if of_cells is None else of_cells.iter("{*}xf"))]
    shown = {number: show for number in {*numbers} if (show := compile_format(codes.get(number, ""), keeps_digits))}
    return {style: shown[number] for style, number in enumerate(numbers) if number in shown}


def find_struck(styles: Any) -> set[int]:
    """Return the styles of cells whose words are struck out."""
    marks = [font.find("{*}strike") for font in styles.iterfind("{*}fonts/{*}font")]
    fonts = {at for at, mark in enumerate(marks) if mark is not None and mark.get("val", "1") in {"1", "true"}}
    cells = enumerate(styles.iterfind("{*}cellXfs/{*}xf"))
    return {style for style, one in cells if int(one.get("fontId", 0)) in fonts}


def compile_format(code: str, keeps_digits: bool = False) -> Show | None:
    """Return what shows a number by a format, perhaps with the digits that its cell cuts; None if it is not simple.

    >>> [compile_format(code)(-1234.5)[0] for code in ("#,##0.00", '0.0" kg"', "#,##0;(#,##0)", "$0.0;[Red]$0.0", "0%")]
    ['-1,234.50', '-1234.5 kg', '(1,235)', '-$1234.5', '-123450%']
    >>> [compile_format(code)(0.375)[0] for code in ("0%", "0.0##", "# ?/?", "0.0E+00", "000", "[$CHF-807] 0.00")]
    ['38%', '0.375', '3/8', '3.8E-01', '000', 'CHF 0.38']
    """
    sections = _SECTION.findall(code)[:2] if len(code) <= _LONGEST else []
    positive, negative = (*(_compile_section(one, keeps_digits) for one in sections), None, None)[:2]
    if positive is None:
        return None
    # A minus where a colour alone tells a debt.
    is_told = negative is not None and bool(re.search("[-(]", re.sub(r"\[[^\]]*\]|_.", "", sections[1])))

    def show(value: float) -> tuple[str, bool]:
        if value >= 0:
            return positive(value)
        text, is_cut = (negative or positive)(-value)
        return text if is_told or not re.search("[1-9]", text) else f"-{text}", is_cut

    return show


def _compile_section(section: str, keeps_digits: bool) -> Show | None:
    if found := _FRACTION.fullmatch(section.strip()):
        return None if keeps_digits else _show_fraction(10 ** len(found[1]) - 1 if found[1] else 0, int(found[2] or 0))
    before, after, number, at = "", "", None, 0
    while at < len(section):
        token = _TOKEN.match(section, at)
        if not token or (number and token["number"]):
            return None
        at = token.end()
        text = "".join(filter(None, token.group("quoted", "escaped", "currency", "plain")))
        number = number or (token if token["number"] else None)
        before, after = (before, after + text) if number else (before + text, after)
    digits = _show_digits(number) if number else None
    if not number or not digits:
        return None
    before, after = before.lstrip(), after.rstrip()
    scale = 10.0 ** (2 * (before + after).count("%") - 3 * len(number["scale"]))

    def show(value: float) -> tuple[str, bool]:
        text, is_cut = digits(value * scale)
        if is_cut and keeps_digits:
            text, is_cut = f"{value * scale:.15g}", False
        return f"{before}{text}{after}", is_cut

    return show


def _show_digits(number: re.Match[str]) -> Show | None:
    """Return what shows the digits of a positive number."""
    whole, part, power = number["whole"], number["part"] or "", number["power"]
    count, optional = len(part), len(part) - len(part.rstrip("#?"))
    least, unit = whole.count("0"), 10.0**count
    if power:
        return _show_power(count, len(power), number["sign"]) if whole == "0" else None
    if "," in whole and least > 1:
        return None
    form = f",.{count}f" if "," in whole else f"0{least + count + bool(count)}.{count}f"

    def show(value: float) -> tuple[str, bool]:
        text = f"{value * _AS_WRITTEN:{form}}"
        if optional:
            kept = len(text) - optional
            text = (text[:kept] + text[kept:].rstrip("0")).removesuffix(".")
        units = value * unit
        return text, abs(units - round(units)) > _NOISE

    return show


def _show_power(count: int, least: int, sign: str) -> Show:
    def show(value: float) -> tuple[str, bool]:
        text = f"{value * _AS_WRITTEN:.{count}e}"
        digits, power = text.split("e")
        shown = f"{int(power):+0{least + 1}d}"
        return f"{digits}E{shown if sign == '+' else shown.removeprefix('+')}", abs(float(text) - value) > 1e-14 * value

    return show


def _show_fraction(most: int, under: int) -> Show:
    def show(value: float) -> tuple[str, bool]:
        rest = value % 1
        part = Fraction(round(rest * under), under) if under else Fraction(rest).limit_denominator(most)
        whole = int(value) + (part == 1)
        shown = f"{part.numerator * under // part.denominator}/{under}" if under else str(part)
        text = str(whole) if part in {0, 1} else f"{whole} {shown}" if whole else shown
        return text, abs(float(part) - rest) > _NOISE

    return show
