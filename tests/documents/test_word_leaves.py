"""What a Word document's converter passes over is read or named."""

import re
import zipfile

from conversion import convert
from docx import Document
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from test_corners import change

SPACES = nsdecls("w", "wp", "a", "r")


def read(tmp_path, document):
    document.save(tmp_path / "a.docx")
    parts, notes = convert(tmp_path / "a.docx")
    return "".join(part.text for part in parts), notes


def test_what_a_tracked_change_deletes_is_counted_and_no_text(tmp_path):
    document = Document()
    paragraph = document.add_paragraph("The rent is ")
    paragraph._p.append(parse_xml(f"<w:del {SPACES}><w:r><w:delText>£64,000 a year</w:delText></w:r></w:del>"))
    paragraph._p.append(parse_xml(f"<w:ins {SPACES}><w:r><w:t>£61,500</w:t></w:r></w:ins>"))
    text, notes = read(tmp_path, document)
    assert text == "The rent is £61,500\n"
    assert notes == ("words that tracked changes delete left out: a.docx (3)",)


def test_an_answer_to_a_comment_is_read(tmp_path):
    document = Document()
    run = document.add_paragraph("The rent is reviewed.").runs[0]
    document.add_comment(run, text="Capped at 3%?", author="Orla")
    other = document.add_comment(run, text="No less than 4%.", author="Dev")
    (reference,) = document.element.body.xpath(f"//w:commentReference[@w:id='{other.comment_id}']")
    reference.getparent().remove(reference)
    text, _ = read(tmp_path, document)
    assert "Capped at 3%?" in text
    assert "Comment of Dev: No less than 4%." in text


def test_paragraphs_and_lines_of_an_answer_stay_apart(tmp_path):
    document = Document()
    answer = document.add_comment(document.add_paragraph("The rent.").runs[0], text="Yes.", author="Bob")
    answer.add_paragraph("Paid in May").add_run().add_break()
    answer.paragraphs[-1].add_run("by Cy\tand Di")
    (reference,) = document.element.body.xpath("//w:commentReference")
    reference.getparent().remove(reference)
    assert "Comment of Bob: Yes. Paid in May by Cy and Di" in read(tmp_path, document)[0]


def test_a_comment_in_a_footnote_is_read_once(tmp_path):
    document = Document()
    run = document.add_paragraph("The rent is reviewed.").runs[0]
    document.add_comment(run, text="Capped at 3%?", author="Orla")
    document.save(tmp_path / "a.docx")
    mark, word = "<w:footnoteReference w:id='2'/>", "application/vnd.openxmlformats-officedocument.wordprocessingml"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    with zipfile.ZipFile(tmp_path / "a.docx") as archive:
        (comment,) = re.findall(rb"<w:commentReference[^>]*>", archive.read("word/document.xml"))
    note = f"<w:footnote w:id='2'><w:p><w:r><w:t>in June</w:t></w:r><w:r>{comment.decode()}</w:r></w:p></w:footnote>"
    notes = f"<w:footnotes {SPACES}>{note}</w:footnotes>"
    kind = f"<Override PartName='/word/footnotes.xml' ContentType='{word}.footnotes+xml'/></Types>"
    link = f"<Relationship Id='n' Type='{office}/footnotes' Target='footnotes.xml'/></Relationships>"
    change(tmp_path / "a.docx", "word/document.xml", (comment, mark.encode()), **{"word/footnotes.xml": notes})
    change(tmp_path / "a.docx", "[Content_Types].xml", (b"</Types>", kind.encode()))
    change(tmp_path / "a.docx", "word/_rels/document.xml.rels", (b"</Relationships>", link.encode()))
    text = "".join(part.text for part in convert(tmp_path / "a.docx")[0])
    assert "in June" in text
    assert text.count("Capped at 3%?") == 1


def test_a_description_without_its_picture_is_read(tmp_path):
    document = Document()
    drawing = (
        "<w:drawing><wp:inline><wp:docPr id='1' name='x' descr='a door of 2.4 m'/><a:graphic/></wp:inline></w:drawing>"
    )
    document.add_paragraph("Plan:")._p.append(parse_xml(f"<w:r {SPACES}>{drawing}</w:r>"))
    assert "[a door of 2.4 m]" in read(tmp_path, document)[0]


def test_a_row_that_begins_behind_the_first_column_stays_there(tmp_path):
    document = Document()
    table = document.add_table(2, 3)
    for cell, words in zip(table._cells, ["time", "east", "west", "gone", "9", "7"], strict=True):
        cell.text = words
    late = table.rows[1]._tr
    late.remove(late.tc_lst[0])
    late.insert(0, parse_xml(f"<w:trPr {SPACES}><w:gridBefore w:val='1'/></w:trPr>"))
    assert "|  | 9 | 7 |" in read(tmp_path, document)[0]
