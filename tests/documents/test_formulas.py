"""A formula is read with its fractions and powers, once."""

import docx
import pytest
from docx.oxml import parse_xml
from lxml import html

from bookwheel.documents.opening import open_document
from bookwheel.documents.readers.formulas import to_formula
from bookwheel.documents.readers.markup import to_markdown

KINETIC = (
    "<semantics><mrow><mi>E</mi><mo>=</mo><mrow><mfrac><mn>1</mn><mn>2</mn></mfrac><mo>\u2062</mo><mi>m</mi><mo>\u2062</mo>"
    "<msup><mi>v</mi><mn>2</mn></msup></mrow></mrow>"
    '<annotation encoding="application/x-tex">E=\\frac{1}{2}mv^{2}</annotation></semantics>'
)


def render(page):
    return to_markdown(html.fromstring(f"<div>{page}</div>"))


@pytest.mark.parametrize(
    ("inner", "line"),
    [
        (KINETIC, "E=(1)/(2)mv^2"),
        ("<mi>k</mi><mo>&#xb7;</mo><mfrac>C / (K_m + C)</mfrac>", "k·(C / (K_m + C))"),
        ("<msup><mi>e</mi><mrow><mo>-</mo><mi>k</mi><mi>t</mi></mrow></msup>", "e^(-kt)"),
        ("<msup><mn>10</mn><mrow><mo>−</mo><mn>3</mn></mrow></msup><mtext>mol</mtext>", "10^−3 mol"),
        ("<mi>sin</mi><mi>x</mi><mo>+</mo><mn>2</mn><mi>y</mi>", "sin x+2y"),
        ("<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><msub><mi>x</mi><mi>i</mi></msub>", "∑_(i=1)^nx_i"),
        ("<msqrt><mi>a</mi><mo>+</mo><mi>b</mi></msqrt><mroot><mi>c</mi><mn>3</mn></mroot>", "√(a+b)√[3](c)"),
        ("<mover><mi>x</mi><mo>¯</mo></mover><mfenced><mi>a</mi><mi>b</mi></mfenced>", "x¯(a,b)"),
        ("<mmultiscripts><mi>C</mi><mprescripts/><mn>6</mn><mn>14</mn></mmultiscripts>", "_6^14C"),
        ("<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr><mtr><mtd><mn>3</mn></mtd></mtr></mtable>", "1, 2; 3"),
    ],
)  # fmt: skip
def test_a_formula_of_a_page_keeps_its_shape(inner, line):
    assert to_formula(html.fromstring(f"<math>{inner}</math>")) == line


def test_a_formula_that_a_script_painted_beside_it_is_read_once():
    katex = f'<span class="katex"><span><math>{KINETIC}</math></span><span aria-hidden="true">E=21mv2</span></span>'
    mathjax = f"<mjx-container><mjx-math aria-hidden='true'>E=12</mjx-math><span><math>{KINETIC}</math></span></mjx-container>"
    empty = '<math alttext="E=\\frac{1}{2}"></math>'
    assert render(f"<p>By {katex}, {mathjax} or {empty}.</p>") == "By E=(1)/(2)mv^2, E=(1)/(2)mv^2 or E=\\frac{1}{2}."
    assert render("<p>It is <i>so</i><b aria-hidden='true'>!</b></p>") == "It is so!"


@pytest.mark.parametrize(
    ("written", "line"),
    [
        ("10<sup>-3</sup> mol in h<sup>−1</sup> and m<sup>2</sup>", "10^-3 mol in h^−1 and m^2"),
        ("x<sup>n</sup> + x<sup>n+1</sup> + x<sub>i</sub>, <i>K</i><sub>m</sub>, V<sub>max</sub>", "x^n + x^(n+1) + x_i, K_m, V_max"),
        ("CO<sub>2</sub>, NO<sub>x</sub>, Ca<sup>2+</sup>, PM<sub>2.5</sub>", "CO2, NOx, Ca^2+, PM2.5"),
        ("the 1<sup>st</sup> and 2<sup>e</sup>, n<sup>o</sup> 5, Acme<sup>TM</sup>, M<sup>lle</sup>", "the 1st and 2e, no 5, AcmeTM, Mlle"),
        ('left out<a href="#fn1"><sup>a</sup></a>.', "left out[a]."),
    ],
)  # fmt: skip
def test_small_raised_and_lowered_signs_are_told_from_words(written, line):
    assert render(f"<p>{written}</p>") == line


def test_a_formula_of_word_keeps_its_shape(tmp_path):
    def run(text):
        return f"<m:r><m:t>{text}</m:t></m:r>"

    file = docx.Document()
    math = "http://schemas.openxmlformats.org/officeDocument/2006/math"
    inner = (
        f"{run('E=')}<m:f><m:fPr><m:ctrlPr/></m:fPr><m:num>{run('1')}</m:num><m:den>{run('2')}</m:den></m:f>"
        f"<m:sSup><m:e>{run('v')}</m:e><m:sup>{run('2')}</m:sup></m:sSup>{run('+')}"
        f"<m:d><m:dPr><m:begChr m:val='['/><m:endChr m:val=']'/></m:dPr><m:e>{run('a')}</m:e></m:d>"
        f"<m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr><m:sub>{run('i=1')}</m:sub><m:sup>{run('n')}</m:sup>"
        f"<m:e>{run('x')}</m:e></m:nary><m:rad><m:deg/><m:e>{run('b')}</m:e></m:rad>"
    )
    file.add_paragraph("The energy: ")._p.append(parse_xml(f'<m:oMath xmlns:m="{math}">{inner}</m:oMath>'))
    file.save(tmp_path / "a.docx")
    text = "".join(part.text for part in open_document([tmp_path / "a.docx"]).parts())
    assert "The energy: E=(1)/(2)v^2+[a]∑_(i=1)^nx√(b)" in text
