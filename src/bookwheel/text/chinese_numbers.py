"""Numbers in Chinese signs, and those that mix them with digits, in Arabic digits.

二〇〇八, 三百二十, 两万五, 一百八        2008, 320, 25000, 180
2亿3千万, 1万2千, 5百万, 3.2万           230000000, 12000, 5000000, 32000
百分之五, 三分之一, 万分之五              5%, 1/3, 0.05%
壹万贰仟, 五百二十元五角                  12000, 520.5元
民国三年, 令和6年                        1914年, 2024年
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

from bookwheel.patterns import compile_late
from bookwheel.text import lexicon

CHINESE_MEASURES: Final = "箱斤袋把台支件瓶盒包套吨枚份张辆块桶公米克元圆円角分秒小户间栋页项笔升两"
"""Words by which things are counted and weighed."""
# One sign alone is part of too many words (一定, 三明治); it counts before a word of measure. At an end 两 weighs.
_CHINESE: Final = compile_late(
    rf"[〇零一二三四五六七八九十百千万亿两]{{2,}}(?<!两)|"
    rf"[二三四五六七八九十两](?=[年月日号个次岁人位名天条只本颗根尾棵株匹幅册种类楼层级届{CHINESE_MEASURES}])|"
    r"(?<=月)一(?=[日号])|(?<=年)一(?=月)"
)
# 百分之三点六, 三分之一
_SHARE: Final = compile_late(
    r"([二三四五六七八九十百千万])分之([零一二三四五六七八九十百两\d]+)(?:[点.]([零一二三四五六七八九\d]+))?"
)
FINANCIAL_SIGNS: Final = "壹贰貳叁參肆伍陆陸柒捌玖拾佰仟萬億"
"""Signs of amounts that nobody is to change by a stroke."""
_PLAIN: Final = str.maketrans(FINANCIAL_SIGNS, "一二二三三四五六六七八九十百千万亿")
_FINANCIAL: Final = compile_late(f"[{FINANCIAL_SIGNS}零〇万亿]{{2,}}|[{FINANCIAL_SIGNS}](?=[元圆円角分个年月日份套])")
_DIGITS: Final = "〇零一二三四五六七八九"
# Old forms: 二○二四, 廿三, 三萬四, 八十兩.
_CIRCLE: Final = compile_late(f"(?<=[{_DIGITS}○])○|○(?=[{_DIGITS}])")
_TENS: Final = compile_late(f"[廿卅](?=[{_DIGITS}{CHINESE_MEASURES}年月日人岁]|$)")
_OLD: Final = compile_late(f"(?<=[{_DIGITS}十百千\\d])[萬億兩]|兩(?=[百千万萬億])")
_NEW: Final = str.maketrans("萬億兩", "万亿两")
_NUMBER: Final = r"\d+(?:,\d{3})*+(?:\.\d+)?\s?"
_GROUP: Final = rf"{_NUMBER}(?:[十百千]?[万亿]|[百千])"
_MIXED: Final = compile_late(rf"(?<![\d.,])(?:{_GROUP})+(?:\d(?!\d)|\d{{4}}(?!\d))?(?![\d克米瓦])")
_MIXED_PART: Final = compile_late(rf"({_NUMBER})([十百千]?)([万亿]?)")
_MONEY: Final = compile_late(
    r"(?<![\d.,])(?:(\d[\d,]*+)[元圆块]零?)?(\d)[角毛](?:(\d)分)?|(?<![\d.,])(\d[\d,]*+)[元圆块]零?(\d)分(?!钟)"
)
_HALVES: Final = compile_late(r"(?<!\d)(\d+)个半")
# The year before each era's first one.
_ERAS: Final = {"民国": 1911, "民國": 1911, "令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867}
_ERA: Final = compile_late(rf"({'|'.join(_ERAS)})\s?(\d{{1,3}}|元)年")
_COUNTED: Final = (*CHINESE_MEASURES, "人", "名", "次")
_NO_NUMBER: Final = frozenset({"万一", "千万", "百万", "十万", "万千", "一一", "万万", "千百", "百十"})


def parse_cjk_number(text: str) -> str:
    """Return a number written in Chinese signs, in Arabic digits.

    >>> [parse_cjk_number(text) for text in ("三百二十", "一百零八", "一百八", "两万五", "二〇〇八")]
    ['320', '108', '180', '25000', '2008']
    """
    powers = lexicon.CJK_POWERS
    if not any(sign in powers for sign in text):
        return "".join(str(lexicon.CJK_DIGITS[sign]) for sign in text)
    total = section = digit = 0
    for sign in text:
        if sign in lexicon.CJK_DIGITS:
            digit = lexicon.CJK_DIGITS[sign]
        elif (power := powers[sign]) >= powers["万"]:
            # 两千万 behind 三亿 is added; 万 before 亿 is multiplied.
            below = section + digit
            total, section, digit = (total + below * power if total >= power else (total + below) * power), 0, 0
        else:
            section, digit = section + (digit or 1) * power, 0
    # What follows a power at once is its tenths: 两万五.
    last = powers.get(text[-2], 0) // 10 if digit else 0
    return str(total + section + digit * (max(1, last)))


def parse_chinese_numbers(text: str) -> str:
    """Replace numbers in Chinese signs by digits, wherever they stand in the text."""
    text = _TENS.sub(lambda found: "二十" if found[0] == "廿" else "三十", _CIRCLE.sub("〇", text))
    text = _OLD.sub(lambda found: found[0].translate(_NEW), text)
    text = _FINANCIAL.sub(lambda found: found[0].translate(_PLAIN), text)
    text = _SHARE.sub(_write_share, text)

    def write(found: re.Match[str]) -> str:
        # A word, but where it counts something: 十万火急, 十万元.
        is_word = found[0] in _NO_NUMBER and not text.startswith(_COUNTED, found.end())
        return found[0] if is_word or text[found.start() - 1 : found.start()].isdigit() else parse_cjk_number(found[0])

    return _MIXED.sub(_write_mixed, _CHINESE.sub(write, text))


def write_chinese_amounts(text: str) -> str:
    """Return a text in Arabic digits with its money, halves and years of eras as one number each."""
    text = _ERA.sub(lambda found: f"{_ERAS[found[1]] + int(found[2].replace('元', '1'))}年", text)
    return _MONEY.sub(_write_money, _HALVES.sub(r"\1.5个", text))


def _write_share(found: re.Match[str]) -> str:
    whole, part, decimals = found[1], found[2], found[3]
    share = part if part.isdigit() else parse_cjk_number(part)
    if decimals:
        share += f".{decimals if decimals.isdigit() else parse_cjk_number(decimals)}"
    if whole not in lexicon.CJK_POWERS or whole == "十":
        return f"{share}/{parse_cjk_number(whole)}"
    return f"{(Decimal(share) * 100 / lexicon.CJK_POWERS[whole]).normalize():f}%"


def _write_mixed(found: re.Match[str]) -> str:
    total = section = Decimal(0)
    power = 1
    for number, small, large in (part.groups() for part in _MIXED_PART.finditer(found[0])):
        value = Decimal(number.strip().replace(",", ""))
        if not (small or large):
            value *= power // 10 if len(number) == 1 else 1  # 3万5, but 2万3456
        section += value * lexicon.CJK_POWERS.get(small, 1)
        if large:
            total, section = total + section * lexicon.CJK_POWERS[large], Decimal(0)
        power = lexicon.CJK_POWERS.get(large or small, 1)
    return f"{(total + section).normalize():f}"


def _write_money(found: re.Match[str]) -> str:
    whole, tenths, hundredths = found[1] or found[4] or "0", found[2] or "0", found[3] or found[5] or ""
    return f"{whole.replace(',', '')}.{tenths}{hundredths}元"
