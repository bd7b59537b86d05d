"""Tables come out as they went in, in every format."""

import csv
import json

import pytest

from bookwheel.cli.ask import read_questions
from bookwheel.errors import InputError
from bookwheel.tables.files import read_table, write_table

ROWS = [
    {"source": "a.txt", "question": 'Who, "exactly"?\nAnd when?', "page": 3},
    {"source": "b.txt", "question": "谁？", "page": None, "cost": 0.5},
]


def test_json_lines_keep_their_values(tmp_path):
    path = tmp_path / "t.jsonl"
    write_table(path, ROWS)
    assert read_table(path) == ROWS


def test_csv_keeps_its_texts(tmp_path):
    path = tmp_path / "t.csv"
    write_table(path, ROWS)
    assert read_table(path) == [
        {"source": "a.txt", "question": 'Who, "exactly"?\nAnd when?', "page": "3", "cost": ""},
        {"source": "b.txt", "question": "谁？", "page": "", "cost": "0.5"},
    ]
    # As Excel writes it, and as it must be where there is Chinese, or it shows other signs.
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    write_table(path, ROWS[:1])
    assert path.read_bytes().startswith(b"source")


def test_parquet_keeps_its_values(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    write_table(path, ROWS)
    assert read_table(path) == [{**ROWS[0], "cost": None}, ROWS[1]]


FORMULAS = [
    *("=HYPERLINK(1)", "+1+1", "@SUM(1)", "-1+1", "-cmd", "\t=1", "\r=1", "\n=1", "\nplain", "  =1", "\u00a0=1"),
    *("＝1", "＋1", "＠1", "－1+1", "﹦1", "\ufeff=1", "\u200b=1", "\u2060=1", "\u00ad=1", "\0=1", "−1+1"),
]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_of_a_document_cannot_become_a_formula(tmp_path, text):
    path = tmp_path / "t.csv"
    write_table(path, [{text: text}])
    with path.open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [[f"'{text}"], [f"'{text}"]]


@pytest.mark.parametrize(
    "text",
    [
        "-3",
        "-3.5",
        "-1,000.25",
        "-25 %",
        "+1 %",
        "−26 % (−35 to −16 %)",
        "-5 kg",
        "a=b",
        "",
        "words",
        "(=1)",
        "'=1",
        "谁？",
    ],
)
def test_numbers_and_words_stay_as_they_are(tmp_path, text):
    path = tmp_path / "t.csv"
    write_table(path, [{"answer": text, "n": 1}])
    assert read_table(path)[0]["answer"] == text


@pytest.mark.parametrize("content", [b"{'a': 1}", b"{" * 9000, b"[1]", b"\xff\xfe\0", b'{"a": ' + b"9" * 9000 + b"}"])
def test_damage_is_told_in_words_of_ours(tmp_path, content):
    path = tmp_path / "t.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"t\.jsonl cannot be read: (line 1 |it is not in UTF-8)") as caught:
        read_table(path)
    assert not any(word in str(caught.value) for word in ("Expecting", "codec", "char 1", "digits"))


def test_lone_surrogates_can_be_written(tmp_path):
    for name in ("t.csv", "t.jsonl"):
        write_table(tmp_path / name, [{"answer": "a\ud800b"}])
        assert read_table(tmp_path / name)[0]["answer"].startswith("a")


@pytest.mark.parametrize(
    ("name", "content"),
    [("t.xlsx", "x"), ("t", "x"), ("t.jsonl", "[1]"), ("t.jsonl", "{"), ("t.csv", ""), ("t.jsonl", ""), ("t.csv", "a")],
)
def test_what_is_no_table_is_refused_by_name(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(InputError, match=name):
        read_table(path)


def test_a_missing_or_binary_file_is_refused(tmp_path):
    (tmp_path / "b.jsonl").write_bytes(b"\xff\xfe\x00")
    for name in ("b.jsonl", "none.csv"):
        with pytest.raises(InputError, match=name):
            read_table(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "message"), [("none/folder", "does not exist"), ("twice.csv", "names 'source' twice")]
)
def test_what_is_wrong_with_a_table_is_said(tmp_path, name, message):
    (tmp_path / "twice.csv").write_text("source,question,source\na.txt,Who?,b.txt\n")
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / name)


def test_the_old_table_stays_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "t.jsonl"
    write_table(path, [{"a": 1}])
    with pytest.raises(TypeError):
        write_table(path, [{(1, 2): "no key of JSON"}])
    assert json.loads(path.read_text()) == {"a": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_a_table_behind_a_link_is_replaced_and_the_link_stays(tmp_path):
    (tmp_path / "shared").mkdir()
    file, link = tmp_path / "shared" / "t.jsonl", tmp_path / "t.jsonl"
    link.symlink_to(file)
    write_table(link, [{"a": 1}])
    assert link.is_symlink()
    assert json.loads(file.read_text()) == {"a": 1}


def test_a_line_separator_inside_a_text_ends_no_json_line(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('\ufeff{"question": "Who?\u2028And when?"}\n{"question": "Why?"}\n', encoding="utf-8")
    assert [row["question"] for row in read_table(path)] == ["Who?\u2028And when?", "Why?"]


@pytest.mark.parametrize("encoding", ["gbk", "gb18030", "utf-8-sig"])
def test_what_a_chinese_spreadsheet_saves_is_read(tmp_path, encoding):
    (tmp_path / "t.csv").write_bytes("source,question\r\n租约.txt,押金是多少？\r\n".encode(encoding))
    assert read_table(tmp_path / "t.csv") == [{"source": "租约.txt", "question": "押金是多少？"}]
    (tmp_path / "q.txt").write_bytes("押金是多少？\r\n谁是出租方？\r\n".encode(encoding))
    assert read_questions(tmp_path / "q.txt") == ["押金是多少？", "谁是出租方？"]


def test_a_row_with_more_cells_than_columns_loses_nothing_silently(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("source,question\na.txt,Who?\nb.txt,When does it end, and who signed?\n")
    with pytest.raises(InputError, match="row 2 has more cells"):
        read_table(path)


@pytest.mark.parametrize(
    ("answer", "cell"),
    [("-2+3+cmd|' /C calc'!A0", "'-2+3+cmd|' /C calc'!A0"), ("-12,400.5", "-12,400.5"), ("-7", "-7")],
)
def test_a_minus_is_quoted_unless_it_belongs_to_a_number(tmp_path, answer, cell):
    path = tmp_path / "t.csv"
    write_table(path, [{"answer": answer}])
    assert read_table(path)[0]["answer"] == cell
