"""Slides: charts are tables of numbers, diagrams are lists of their texts, pictures have their descriptions."""

import io

from conversion import convert
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.oxml import parse_xml
from pptx.util import Inches

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)
RELATIONSHIPS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006"
SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"


def begin():
    show = Presentation()
    return show, show.slides.add_slide(show.slide_layouts[6])


def text_of_slides(show, tmp_path):
    show.save(str(tmp_path / "a.pptx"))
    return "".join(part.text for part in convert(tmp_path / "a.pptx")[0])


def add_diagram(slide, texts, name="/ppt/diagrams/data1.xml"):
    points = "".join(f"<dgm:pt><dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>" for text in texts)
    spaces = f'xmlns:dgm="{DRAWING}/diagram" xmlns:a="{DRAWING}/main"'
    data = f"<dgm:dataModel {spaces}><dgm:ptLst>{points}</dgm:ptLst></dgm:dataModel>"
    media = "application/vnd.openxmlformats-officedocument.drawingml.diagramData+xml"
    part = Part(PackURI(name), media, slide.part.package, data.encode())
    identity = slide.part.relate_to(part, f"{RELATIONSHIPS}/diagramData")
    frame = f"""<p:graphicFrame xmlns:p="{SLIDES}" xmlns:a="{DRAWING}/main" xmlns:r="{RELATIONSHIPS}">
        <p:nvGraphicFramePr><p:cNvPr id="9" name="D"/><p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr>
        <p:xfrm><a:off x="0" y="0"/><a:ext cx="9" cy="9"/></p:xfrm>
        <a:graphic><a:graphicData uri="{DRAWING}/diagram">
        <dgm:relIds xmlns:dgm="{DRAWING}/diagram" r:dm="{identity}"/></a:graphicData></a:graphic></p:graphicFrame>"""
    slide.shapes._spTree.append(parse_xml(frame))


def test_the_texts_of_a_diagram_are_a_list_one_a_line(tmp_path):
    show, slide = begin()
    add_diagram(slide, ["Wind the clock", " ", "Trim the lamp", "Write the log"])
    text = text_of_slides(show, tmp_path)
    assert "- Wind the clock\n- Trim the lamp\n- Write the log" in text


def test_each_diagram_of_a_slide_is_read_once(tmp_path):
    show, slide = begin()
    add_diagram(slide, ["Wind the clock"])
    add_diagram(slide, ["Trim the lamp"], "/ppt/diagrams/data2.xml")
    text = text_of_slides(show, tmp_path)
    assert text.count("Wind the clock") == text.count("Trim the lamp") == 1


def test_a_chart_is_a_table_of_its_numbers_under_its_title(tmp_path):
    show, slide = begin()
    data = CategoryChartData()
    data.categories = ["May", "June"]
    data.add_series("Barrels of oil", (4, None))
    data.add_series("Wicks", (1.5, 12))
    chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, Inches(3), Inches(3), data).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "Stores"
    text = text_of_slides(show, tmp_path)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "|" in line]
    assert text.index("Stores") < text.index("May")
    assert [row for row in rows if not set("".join(row)) <= set("-: ")] == [
        ["", "May", "June"],
        ["Barrels of oil", "4", ""],
        ["Wicks", "1.5", "12"],
    ]


def test_a_picture_says_what_it_shows(tmp_path):
    show, slide = begin()
    picture = slide.shapes.add_picture(io.BytesIO(PIXEL), 0, 0)
    picture._element.nvPicPr.cNvPr.set("descr", "The  tower\nat night")
    assert "![The tower at night]" in text_of_slides(show, tmp_path)
