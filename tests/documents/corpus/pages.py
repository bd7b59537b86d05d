"""HTML and what is made of it: web pages, EPUB, email."""

from __future__ import annotations

import base64
import zipfile
from html import escape
from typing import TYPE_CHECKING

from corpus.story import Sample, Story

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAV = '<nav><ul><li><a href="/">Startseite</a></li><li><a href="/buy">Subscribe</a></li></ul></nav>'
FOOTER = "<footer><p>© Skarholm Press. All rights reserved.</p></footer>"
COOKIES = '<div id="cookie-banner" class="consent">We use cookies to annoy visitors. <button>Accept</button></div>'
DROPPED = "Startseite Subscribe Skarholm Press reserved cookies annoy Accept"


def page(body: str, title: str, head: str = "") -> str:
    return f'<!DOCTYPE html><html><head><meta charset="utf-8"><title>{title}</title>{head}</head><body>{body}</body></html>'


def saved(markup: str, encoding: str = "utf-8"):
    return lambda path: path.write_bytes(markup.encode(encoding))


def html_table(rows: list[list[str]], caption: str = "") -> str:
    head, *body = (
        "".join(f"<{'td' if i else 'th'}>{cell}</{'td' if i else 'th'}>" for cell in row) for i, row in enumerate(rows)
    )
    top = f"<caption>{caption}</caption>" if caption else ""
    return (
        f"<table>{top}<thead><tr>{head}</tr></thead><tbody>{''.join(f'<tr>{row}</tr>' for row in body)}</tbody></table>"
    )


def flat(rows: list[list[str]]) -> str:
    return " ".join(" ".join(row) for row in rows)


def article() -> Sample:
    story = Story(1)
    title, *rest = story.title(), *story.paragraphs(5)
    body = f"{COOKIES}{NAV}<article><h1>{title}</h1>{''.join(f'<p>{p}</p>' for p in rest)}</article>{FOOTER}"
    text = " ".join([title, *rest])
    return Sample(
        name="html-article.html", write=saved(page(body, title)), text=text, headings=(title,), dropped=DROPPED
    )


def manual() -> Sample:
    """Boxes of notes and tips, which a guess at the main text takes for furniture."""
    story = Story(2)
    parts: list[str] = []
    texts: list[str] = []
    headings: list[str] = []
    for kind in ("note", "tip", "warning"):
        heading, box, text, code = story.title(), story.title(), story.paragraph(), story.sentence()
        headings += [heading, box]
        parts.append(
            f'<div class="section"><h2>{heading}</h2><p>{text}</p><div class="{kind} sidebar"><h4>{box}</h4>'
            f"<p>{code.replace(' ', ' <em>', 1)}</em></p></div><aside>{code}</aside><pre>$ {code}</pre></div>"
        )
        texts += [heading, text, box, code, code, code]
    body = f"{NAV}<h1>Handbook</h1>{''.join(parts)}{FOOTER}"
    return Sample(
        name="html-manual.html",
        write=saved(page(body, "Handbook")),
        text=" ".join(["Handbook", *texts]),
        headings=("Handbook", *headings),
        dropped="Startseite Subscribe reserved",
    )


def questions() -> Sample:
    """Short questions as headings with short answers: a page with little prose."""
    story = Story(3)
    pairs = [(story.title(), story.sentence()) for _ in range(12)]
    body = "".join(f"<h3>{q}</h3><p>{a}</p>" for q, a in pairs)
    return Sample(
        name="html-questions.html",
        write=saved(page(f"<h1>Asked often</h1>{body}", "Asked often")),
        text=" ".join(["Asked often", *(f"{q} {a}" for q, a in pairs)]),
        headings=("Asked often", *(q for q, _ in pairs)),
    )


def tables() -> Sample:
    story = Story(4)
    intro, one, two = story.sentence(), story.table(6), story.table(8)
    spans = (
        '<table><tr><th colspan="2">Tides of spring</th><th>Depth</th></tr>'
        '<tr><td rowspan="2">Quay</td><td>high</td><td>41 fathoms</td></tr><tr><td>low</td><td>17 fathoms</td></tr></table>'
    )
    body = f"<p>{intro}</p>{html_table(one, 'Stores of autumn')}{html_table(two)}{spans}"
    tides = "Tides of spring Depth Quay high 41 fathoms Quay low 17 fathoms"
    text = f"{intro} Stores of autumn {flat(one)} {flat(two)} Tides of spring {tides}"
    return Sample(name="html-tables.html", write=saved(page(body, "Stores of autumn")), text=text)


def lists() -> Sample:
    story = Story(5)
    a, b, c, d, e, f = (story.sentence() for _ in range(6))
    code = "for barrel in hold:\n    count += 1"
    body = (
        f"<ol><li>{a}<ul><li>{b}</li><li><p>{c}</p><pre>{code}</pre></li></ul></li><li>{d}</li></ol>"
        f"<dl><dt>Fathom</dt><dd>{e}</dd><dd>Six feet</dd><div><dt>League</dt><dd>{f}</dd></div></dl>"
    )
    text = f"1 {a} {b} {c} {code} 2 {d} Fathom {e} Six feet League {f}"
    return Sample(name="html-lists.html", write=saved(page(body, "")), text=text)


def figures() -> Sample:
    story = Story(6)
    alt, caption, text, label = story.sentence(), story.sentence(), story.paragraph(), "North pier"
    body = (
        f'<p>{text}</p><figure><img src="a.png" alt="{escape(alt)}"><figcaption>{caption}</figcaption></figure>'
        f"<svg><g><text>{label}</text></g></svg><details><summary>Unfold the chart</summary><p>Depths in feet</p></details>"
        '<h3><button aria-expanded="false">Folded chapter</button></h3><div style="display:none"><p>Unfolded words</p></div>'
    )
    gold = f"{text} {alt} {caption} {label} Unfold the chart Depths in feet Folded chapter Unfolded words"
    return Sample(name="html-figures.html", write=saved(page(body, "")), text=gold, headings=("Folded chapter",))


def layout() -> Sample:
    """A page of the old web: its layout is a table, and half of its tags are never closed."""
    story = Story(7)
    paragraphs = story.paragraphs(4)
    inner = "".join(f"<p>{p}" for p in paragraphs)
    body = (
        "<table><tr><td width=100><a href=1>Back</a><br><a href=2>Forth</a><td><h2>The old web</h2>"
        f"{inner}<ul><li>one<li>two</ul></table><center>The end"
    )
    text = " ".join(["Back Forth The old web", *paragraphs, "one two The end"])
    return Sample(name="html-layout.html", write=saved(page(body, "The old web")), text=text, headings=("The old web",))


def notes() -> Sample:
    """Footnotes in the page's own footer, which are content."""
    story = Story(8)
    text, note = story.paragraph(), story.paragraph(6)
    body = (
        f'<article><p>{text}<sup><a href="#n1">1</a></sup> It grew by 10<sup>6</sup> and H<sub>2</sub>O.</p>'
        f'<footer><ol><li id="n1">{note}</li></ol></footer></article>'
    )
    gold = f"{text} 1 It grew by 10 6 and H2O 1 {note}"  # the list's number is written out
    return Sample(name="html-footnotes.html", write=saved(page(body, "")), text=gold)


def chinese() -> Sample:
    story = Story(9, "zh_own.txt")
    paragraphs = story.paragraphs(6)
    markup = page(f"{NAV}<h1>渡口</h1>{''.join(f'<p>{p}</p>' for p in paragraphs)}", "渡口").replace("utf-8", "gb18030")
    return Sample(
        name="html-chinese.html",
        write=saved(markup, "gb18030"),
        text="渡口" + "".join(paragraphs),
        headings=("渡口",),
        dropped="Startseite Subscribe",
    )


def xhtml() -> Sample:
    story = Story(10)
    paragraphs = story.paragraphs(3)
    body = "".join(f'<p><a id="x"/>{p}<br/></p>' for p in paragraphs)
    markup = (
        '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head><title>X'
        f"</title></head><body>{body}<p>caf&eacute;&nbsp;au lait</p></body></html>"
    )
    return Sample(name="html-strict.xhtml", write=saved(markup), text=" ".join(["X", *paragraphs, "café au lait"]))


def epub(name: str, chapters: list[tuple[str, str, str]], toc: str, book: str = "en") -> Sample:
    """Make a book of chapters (title, markup, text)."""

    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("mimetype", "application/epub+zip")
            archive.writestr(
                "META-INF/container.xml",
                '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
                '<rootfile full-path="OPS/book.opf"/></rootfiles></container>',
            )
            files = [f"c{number}.xhtml" for number in range(len(chapters))]
            items = "".join(f'<item id="{f}" href="{f}" media-type="application/xhtml+xml"/>' for f in files)
            refs = "".join(f'<itemref idref="{f}"/>' for f in files)
            kind = 'href="nav.xhtml" properties="nav"' if toc == "nav" else 'href="toc.ncx"'
            media = "application/xhtml+xml" if toc == "nav" else "application/x-dtbncx+xml"
            archive.writestr(
                "OPS/book.opf",
                f'<package xmlns="http://www.idpf.org/2007/opf"><manifest>{items}<item id="t" {kind} media-type="{media}"/>'
                f"</manifest><spine>{refs}</spine></package>",
            )
            links = [f'<li><a href="{f}">{t}</a></li>' for f, (t, _, _) in zip(files, chapters, strict=True)]
            archive.writestr(
                "OPS/nav.xhtml",
                f'<html xmlns="http://www.w3.org/1999/xhtml"><body><nav><ol>{"".join(links)}</ol></nav></body></html>',
            )
            points = [
                f'<navPoint><navLabel><text>{t}</text></navLabel><content src="{f}"/></navPoint>'
                for f, (t, _, _) in zip(files, chapters, strict=True)
            ]
            archive.writestr(
                "OPS/toc.ncx",
                f'<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap>{"".join(points)}</navMap></ncx>',
            )
            for file, (title, markup, _) in zip(files, chapters, strict=True):
                archive.writestr(
                    f"OPS/{file}",
                    f'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head>'
                    f"<body><h1>{title}</h1>{markup}</body></html>",
                )

    return Sample(
        name=name,
        write=write,
        text=" ".join(f"{title} {text}" for title, _, text in chapters),
        headings=tuple(title for title, _, _ in chapters),
    )


def books() -> Iterator[Sample]:
    story = Story(20)
    plain = [(f"Chapter of {t}", f"<p>{p}</p>", p) for t, p in ((story.title(), story.paragraph(8)) for _ in range(4))]
    yield epub("epub-novel.epub", plain, "nav")
    chapters = []
    for _ in range(3):
        title, text, note, table = story.title(), story.paragraph(), story.sentence(), story.table(4)
        markup = (
            f'<p>{text}<a href="#n">*</a></p><aside epub:type="footnote" xmlns:epub="http://www.idpf.org/2007/ops">'
            f"{note}</aside>{html_table(table)}"
        )
        chapters.append((title, markup, f"{text} {note} {flat(table)}"))
    yield epub("epub-notes.epub", chapters, "ncx")
    text = story.paragraph()
    yield epub("epub-entities.epub", [("Café", f"<p>&ldquo;{text}&rdquo;&nbsp;caf&eacute;</p>", f"{text} café")], "nav")
    zh = Story(21, "zh_own.txt")
    yield epub("epub-chinese.epub", [(f"第{n}章", f"<p>{p}</p>", p) for n, p in enumerate(zh.paragraphs(3, 6))], "ncx")


def mails() -> Iterator[Sample]:
    story = Story(30)
    text, rest, table = story.paragraph(), story.paragraph(), story.table(4)
    head = "From: Ada Quill <ada@skarholm.example>\r\nTo: Ben <ben@skarholm.example>\r\nSubject: Stores of winter\r\n"
    heads = "From: Ada Quill <ada@skarholm.example> To: Ben <ben@skarholm.example> Subject: Stores of winter"
    plain = f"{head}Content-Type: text/plain; charset=utf-8\r\n\r\n{text}\r\n"
    yield Sample(name="eml-plain.eml", write=saved(plain), text=f"{heads} {text}")
    markup = f"<html><body><p>{text}</p>{html_table(table)}</body></html>"
    html = f"{head}MIME-Version: 1.0\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{markup}"
    yield Sample(name="eml-html.eml", write=saved(html), text=f"{heads} {text} {flat(table)}")
    packed = base64.b64encode(rest.encode()).decode()
    mixed = (
        f"{head}MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=zz\r\n\r\n--zz\r\n"
        f"Content-Type: multipart/alternative; boundary=yy\r\n\r\n--yy\r\nContent-Type: text/plain\r\n\r\n{text}\r\n"
        f"--yy\r\nContent-Type: text/html\r\n\r\n<p>{text}</p>\r\n--yy--\r\n--zz\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Disposition: attachment; filename=stores.txt\r\nContent-Transfer-Encoding: base64\r\n\r\n{packed}\r\n"
        "--zz--\r\n"
    )
    yield Sample(name="eml-attachment.eml", write=saved(mixed), text=f"{heads} {text} stores.txt {rest}")


def samples() -> Iterator[Sample]:
    for make in (article, manual, questions, tables, lists, figures, layout, notes, chinese, xhtml):
        yield make()
    yield from books()
    yield from mails()
