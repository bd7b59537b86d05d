"""The JSON of listed readings that is kept."""

from bookwheel import TextDocument, read
from bookwheel.journal import Journal
from bookwheel.models.scripted import ScriptedModel
from bookwheel.serve.engine import summaries
from bookwheel.serve.engine.summaries import Summaries


def test_a_list_keeps_nothing_of_what_is_deleted_meanwhile(tmp_path, monkeypatch) -> None:
    path, made = tmp_path / "journal.sqlite", list[object]()
    read(
        TextDocument("Ada Quill keeps the lamp.", "lamp"),
        "Who keeps it?",
        model=ScriptedModel(lambda _: "Ada"),
        journal=path,
    )
    monkeypatch.setattr(summaries, "summary_to_json", lambda reading: made.append(reading) or {})
    with Journal(path) as journal:
        kept, (row,) = Summaries(), journal.list_rows(limit=5)
        dump = kept.begin()
        kept.clear()
        assert [dump(row, None) for _ in range(2)] == ["{}"] * 2
        assert len(made) == 1
        kept.begin()(row, None)
        assert len(made) == 2, "nothing was put back"
