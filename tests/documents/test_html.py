import logging
import sys

import docx
import pytest
from conversion import convert
from docx.oxml import parse_xml

from bookwheel.documents.opening import open_document
from bookwheel.errors import MissingExtra, SourceError

STORY = [
    f"In year {year} the lighthouse keeper of Saint Orrin wrote that the winter store held {year * 3} barrels of lamp "
    f"oil, that the supply boat came late because of ice, and that the lamp had burned every night all the same."
    for year in range(7, 19)
]


def text_of(path):
    return "".join(part.text for part in open_document([path]).parts())


def article(tmp_path, charset="utf-8", word="lamp"):
    body = "".join(f"<p>{p.replace('lamp', word)}</p>" for p in STORY)
    page = f"""<!DOCTYPE html><html><head><meta charset="{charset}"><title>The Keeper's Log</title>
    <script>var hidden = "never shown";</script></head><body>
    <nav><ul><li><a href="/">Home</a></li><li><a href="/buy">Subscribe now</a></li></ul></nav>
    <article><h1>The Keeper's Log</h1>{body}</article><footer>Cookies and imprint</footer></body></html>"""
    path = tmp_path / "log.html"
    path.write_bytes(page.encode(charset))
    return path


def test_a_page_gives_its_main_text_without_menus_and_scripts(tmp_path):
    text = text_of(article(tmp_path))
    assert all(paragraph in text for paragraph in STORY)
    assert "The Keeper's Log" in text
    assert not any(noise in text for noise in ("Subscribe", "never shown", "Cookies", "<p>"))


def test_a_page_is_read_in_the_encoding_that_it_declares(tmp_path):
    assert text_of(article(tmp_path, "iso-8859-1", "lampe à huile")).count("lampe à huile") >= len(STORY)
    assert text_of(article(tmp_path, "gb18030", "油灯")).count("油灯") >= len(STORY)


@pytest.mark.parametrize(
    "around", ["article", "main", "section", "blockquote", "figure", "td", "li", "aside", "dialog"]
)
def test_a_footer_of_a_part_of_a_page_is_text_and_the_pages_own_is_not(tmp_path, around):
    path = tmp_path / "log.html"
    inner = f"<{around}><p>Nine barrels.</p><footer>Copyright of the keeper</footer></{around}>"
    before, after = {"td": ("<table><tr>", "</tr></table>"), "li": ("<ul>", "</ul>")}.get(around, ("", ""))
    path.write_text(f"<body>{before}{inner}{after}<footer>Copyright of the club</footer></body>")
    text = text_of(path)
    assert "Copyright of the keeper" in text
    assert "Copyright of the club" not in text


@pytest.mark.parametrize(
    ("bar", "is_text"),
    [
        ("<button>Delivery</button>", False),
        ("<button aria-expanded='true'>Delivery</button>", True),
        ("<h3><button>Delivery</button></h3>", True),
        ("<details><summary><button>Delivery</button></summary></details>", True),
        ("<dl><dt><button>Delivery</button></dt></dl>", True),
    ],
)
def test_a_bar_of_buttons_is_a_menu_unless_they_are_titles(tmp_path, bar, is_text):
    path = tmp_path / "shop.html"
    path.write_text(f"<body><p>It takes two days.</p><nav>{bar}</nav></body>")
    assert ("Delivery" in text_of(path)) is is_text


def test_a_table_that_is_the_whole_page_is_not_lost(tmp_path):
    rows = "".join(f"<tr><td>Station {i}</td><td>{i * 17} barrels</td></tr>" for i in range(1, 60))
    path = tmp_path / "t.html"
    path.write_text(f"<html><head><title>Stores</title></head><body><table>{rows}</table></body></html>")
    text = text_of(path)
    assert text.startswith("# Stores\n\n")
    assert all(f"| Station {i} | {i * 17} barrels |" in text for i in range(1, 60))


@pytest.mark.parametrize(
    ("rows", "begins"),
    [
        ("<tr><td>pane</td><td>EUR 74.00</td></tr><tr><td>putty</td><td>EUR 9.50</td></tr>", "|  |  |"),
        ("<tr><th>Height</th><td>300 m</td></tr><tr><th>Built</th><td>1889</td></tr>", "|  |  |"),
        ("<tr><th>A1</th><th>2</th></tr><tr><td>A2</td><td>3</td></tr>", "| A1 | 2 |"),
        ("<thead><tr><td>A1</td><td>2</td></tr></thead><tr><td>A2</td><td>3</td></tr>", "| A1 | 2 |"),
        ("<tr><td><b>1</b></td><td><b>2</b></td></tr><tr><td>3</td><td>4</td></tr>", "| 1 | 2 |"),
        ("<tr><td><b><strong>1</strong></b></td><td><b>2</b></td></tr><tr><td>3</td><td>4</td></tr>", "| 1 | 2 |"),
        ("<tr><td>who</td><td>where</td></tr><tr><td>Ada</td><td>shed</td></tr>", "| who | where |"),
    ],
)
def test_a_table_has_a_header_where_one_is_marked_or_its_first_row_is_no_row(tmp_path, rows, begins):
    path = tmp_path / "t.html"
    path.write_text(f"<p>Bill</p><table>{rows}</table>")
    lines = text_of(path).splitlines()
    assert lines[2:4] == [begins, "| --- | --- |"]
    assert len(lines) == (6 if begins == "|  |  |" else 5)


def test_bold_names_of_a_book_in_its_own_namespace_are_a_header() -> None:
    from lxml import etree

    from bookwheel.documents.readers.markup import to_markdown

    rows = "<tr><td><b>1</b></td><td><b>2</b></td></tr><tr><td>3</td><td>4</td></tr>"
    page = etree.fromstring(f'<html xmlns="http://www.w3.org/1999/xhtml"><body><table>{rows}</table></body></html>')
    assert to_markdown(page).startswith("| 1 | 2 |")


def test_a_very_short_page_is_read_whole(tmp_path):
    path = tmp_path / "s.html"
    path.write_text("<html><body><div>Gate code: 4471</div><span>Valid_until *Friday*</span></body></html>")
    assert "Gate code: 4471" in text_of(path)
    assert "Valid_until *Friday*" in text_of(path)


@pytest.mark.parametrize("page", ["<html><body><script>x</script></body></html>", "<html></html>", "<!-- nothing -->"])
def test_a_page_that_shows_nothing_is_refused(tmp_path, page):
    (tmp_path / "e.html").write_text(page)
    with pytest.raises(SourceError, match=r"e\.html holds no text"):
        open_document([tmp_path / "e.html"])


def test_markup_nested_without_end_is_read_or_refused_but_never_crashes(tmp_path):
    path = tmp_path / "deep.html"
    path.write_text("<html><body>" + "<div>" * 20_000 + "bottom" + "</div>" * 20_000)
    try:
        assert "bottom" in text_of(path)
    except SourceError as error:
        assert "nested too deeply" in str(error)  # noqa: PT017


def word(path):
    document = docx.Document()
    document.add_heading("Minutes", 1)
    document.add_paragraph("Ada Quill opened the meeting_room at *nine*.")
    document.add_paragraph("buy oil", style="List Bullet")
    table = document.add_table(2, 2)
    for i, cell in enumerate(table._cells):
        cell.text = f"cell {i}"
    document.save(path)
    return path


def test_a_word_file_keeps_headings_lists_and_tables(tmp_path):
    text = text_of(word(tmp_path / "m.docx"))
    assert text.startswith("# Minutes\n\nAda Quill opened the meeting_room at *nine*.\n\n- buy oil\n")
    assert "| cell 0 | cell 1 |" in text
    assert "| cell 2 | cell 3 |" in text


def test_a_formula_in_a_word_file_is_read_as_text(tmp_path):
    document = docx.Document()
    paragraph = document.add_paragraph("The ratio is ")
    math = "http://schemas.openxmlformats.org/officeDocument/2006/math"
    paragraph._p.append(parse_xml(f'<m:oMath xmlns:m="{math}"><m:r><m:t>a/b</m:t></m:r></m:oMath>'))
    paragraph.add_run(" of the oil.")
    document.save(tmp_path / "f.docx")
    assert text_of(tmp_path / "f.docx") == "The ratio is a/b of the oil.\n"


def test_what_a_word_file_holds_beyond_text_is_told(tmp_path):
    document = docx.Document()
    paragraph = document.add_paragraph("The oil lasts.")
    paragraph._p.append(parse_xml('<x:odd xmlns:x="urn:odd"/>'))
    document.save(tmp_path / "f.docx")
    opened = open_document([tmp_path / "f.docx"])
    assert list(opened.parts())
    assert opened.notes == ("Word elements of the kind odd are not shown: f.docx",)


def test_a_word_file_that_changed_is_converted_anew(tmp_path):
    path = word(tmp_path / "m.docx")
    assert "Ada Quill" in text_of(path)
    changed = docx.Document()
    changed.add_paragraph("Quite another text.")
    changed.save(path)
    assert text_of(path) == "Quite another text.\n"


def test_a_torn_word_file_is_told_so(tmp_path):
    data = word(tmp_path / "m.docx").read_bytes()
    (tmp_path / "t.docx").write_bytes(data[: len(data) // 2])
    with pytest.raises(SourceError, match=r"t\.docx is a damaged archive"):
        open_document([tmp_path / "t.docx"])


def test_an_empty_word_file_is_refused(tmp_path):
    docx.Document().save(tmp_path / "e.docx")
    with pytest.raises(SourceError, match=r"e\.docx holds no text"):
        open_document([tmp_path / "e.docx"])


@pytest.mark.parametrize(("module", "purpose"), [("lxml", "HTML"), ("mammoth", "DOCX")])
def test_without_the_optional_part_the_error_names_it(tmp_path, monkeypatch, module, purpose):
    path = word(tmp_path / "m.docx") if purpose == "DOCX" else article(tmp_path)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"reading {purpose} .*\[documents\]"):
        convert(path)


def test_extracting_prints_no_log_lines(tmp_path, caplog, capfd):
    (tmp_path / "e.html").write_text("<html><body></body></html>")
    with pytest.raises(SourceError), caplog.at_level(logging.CRITICAL):
        open_document([tmp_path / "e.html"])
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "body",
    [
        "<nav><a href=/>Home</a></nav><main><h1>Ferry</h1><p>It leaves at 6:40.</p></main><footer>Cookies</footer>",
        "<meta name=a content=b><section>Ferry<p>It leaves</p></section> at 6:40.",
        "<body><main>Ferry. It leaves at 6:40.</main>",
        "Ferry <article>leaves at 6:40.</article>",
    ],
)
def test_a_page_without_the_tag_of_its_body_keeps_its_text(tmp_path, body):
    path = tmp_path / "ferry.html"
    path.write_text(f"<!doctype html><title>Ferry</title><script>alert(1)</script>{body}")
    text = " ".join("".join(part.text for part in open_document([path]).parts()).split())
    assert text.index("Ferry") < text.index("leaves") < text.index("at 6:40.")
    assert "alert" not in text


def test_what_is_struck_out_is_marked(tmp_path):
    path = tmp_path / "price.html"
    path.write_text("<p>Rolls at <del>38 cents</del> <ins>34 cents</ins>, <s></s>as <strike>new</strike> ever.</p>")
    assert text_of(path) == "Rolls at ~~38 cents~~ 34 cents, as ~~new~~ ever.\n"
