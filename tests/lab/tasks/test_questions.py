"""Questions among paragraphs."""

import json

import pytest

from bookwheel.errors import InputError
from bookwheel.lab.tasks import make_samples, questions


def made(name, tokenizer, data, *, tokens=1200, count=4, seed=1, **options):
    return list(make_samples(name, tokens=tokens, count=count, seed=seed, tokenizer=tokenizer, data=data, **options))


def titles(sample):
    return [line.removeprefix("Passage: ") for line in sample.text.split("\n") if line.startswith("Passage: ")]


def test_no_distractor_bears_the_title_of_one_of_the_questions_own_paragraphs(tokenizer, data):
    for sample in made("hqa", tokenizer, data, tokens=9000):
        names = [" ".join(title.casefold().split()) for title in titles(sample)]
        own = {found.note.split(":")[0] for found in sample.evidence}
        assert "Ada Quill" not in own or "born in Nowhere" not in sample.text
        assert len(names) == len(set(names))


@pytest.mark.slow
def write_articles(folder, *names):
    def paragraph(title, number):
        text = f"The {title} of {number} stands by the sea. It was built in {1800 + number}."
        answer = {"text": str(1800 + number), "answer_start": text.index(str(1800 + number))}
        asked = {"id": f"{title}{number}", "question": f"When was {title} {number} built?", "answers": [answer]}
        return {"context": text, "qas": [asked]}

    articles = [{"title": title, "paragraphs": [paragraph(title, n) for n in range(6)]} for title in names]
    file = folder / "mine.json"
    file.write_text(json.dumps({"data": articles}), encoding="utf-8")
    return file


def test_paragraphs_of_the_same_article_come_first_where_they_are_asked_for(tokenizer, tmp_path):
    file = write_articles(tmp_path, "Mill", "Pier")
    for sample in made("qa_1", tokenizer, file, tokens=100, article=True):
        own = sample.question.split()[2]
        assert len(titles(sample)) >= 4
        assert set(titles(sample)) == {own}
        assert len(set(sample.text.split("Passage: "))) == len(titles(sample)) + 1
    assert any(len(set(titles(sample))) == 2 for sample in made("qa_1", tokenizer, file, tokens=200, article=True))
    assert not any(titles(one).count(one.question.split()[2]) > 1 for one in made("qa_1", tokenizer, file, tokens=100))


def test_articles_that_are_left_to_measure_on_are_not_asked_about(tokenizer, tmp_path):
    file = write_articles(tmp_path, "Mill", "Pier", "Well")
    asked = {one.question.split()[2] for one in made("qa_1", tokenizer, file, tokens=200, count=6, skip_titles=2)}
    assert asked == {"Well"}
    assert {one.question.split()[2] for one in made("qa_1", tokenizer, file, tokens=200, count=18)} > asked
    with pytest.raises(InputError, match="holds 6 questions"):
        made("qa_1", tokenizer, file, tokens=200, count=7, skip_titles=2)


def test_paragraphs_can_stand_without_their_titles(tokenizer, tmp_path):
    file = write_articles(tmp_path, "Mill", "Pier")
    for sample in made("qa_1", tokenizer, file, tokens=100, titles=False):
        assert "Passage: " not in sample.text
        (found,) = sample.evidence
        assert sample.golds[0] in sample.document.slice(found.start, found.end)


def test_the_other_questions_paragraphs_are_left_alone_where_none_is_asked_for(tokenizer, data, monkeypatch):
    def load(path):
        pytest.fail("thousands of titles would be compared for every sample")

    monkeypatch.setattr(questions, "_load_neighbours", load)
    assert len(made("hqa", tokenizer, data, tokens=1200, count=2)) == 2


def test_no_paragraph_stands_in_a_document_twice(tokenizer, data):
    for sample in made("qa_2", tokenizer, data, tokens=11_000):
        assert sample.text.count("Marrow hall keeps a collection of lamps.") <= 1


def test_a_number_of_paragraphs_is_met_exactly_and_shuffled(tokenizer, data):
    for wanted in (10, 50, 120):
        sample = made("hqa", tokenizer, data, tokens=0, count=1, paragraphs=wanted)[0]
        assert len(titles(sample)) == wanted
        assert sample.length == 140 * wanted
        assert abs(tokenizer.count(sample.text) - sample.tokens) <= 1
    first = [titles(sample)[0] for sample in made("hqa", tokenizer, data, tokens=0, paragraphs=50)]
    assert len(set(first)) == 4


def test_more_paragraphs_than_there_are_is_an_error_with_their_number(tokenizer, data):
    with pytest.raises(InputError, match=r"there are 1\d\d paragraphs .* and 500 were"):
        made("hqa", tokenizer, data, tokens=0, count=1, paragraphs=500)
    with pytest.raises(InputError, match="ask for more paragraphs"):
        made("hqa", tokenizer, data, tokens=0, paragraphs=1)


def test_more_questions_than_there_are_is_an_error_with_their_number(tokenizer, data):
    with pytest.raises(InputError, match=r"holds 4 questions .* more were asked for: lower --count$"):
        made("hqa", tokenizer, data, count=5)


def test_every_question_of_a_seed_is_another(tokenizer, data):
    samples = made("hqa", tokenizer, data)
    assert len({sample.question for sample in samples}) == 4
    assert [sample.question for sample in made("hqa", tokenizer, data, seed=2)] != [s.question for s in samples]


def test_train_and_dev_questions_stay_apart(tokenizer, data):
    dev = {sample.question for sample in made("hqa", tokenizer, data)}
    train = {sample.question for sample in made("hqa", tokenizer, data, count=2, split="train")}
    assert not dev & train
    with pytest.raises(InputError, match="no train questions"):
        made("drcd", tokenizer, data, count=1, split="train")


def test_a_question_that_holds_its_answer_is_judged_by_what_the_answer_says(tokenizer, data):
    metrics = {sample.golds[0]: sample.metric for sample in made("hqa", tokenizer, data)}
    assert metrics == {"Quenby": "contains", "yes": "choice", "Pell mill": "choice", "green": "contains"}


def test_the_evidence_is_the_supporting_sentences(tokenizer, data):
    sample = next(one for one in made("hqa", tokenizer, data) if one.golds == ("Quenby",))
    quotes = {sample.document.slice(found.start, found.end) for found in sample.evidence}
    assert quotes == {
        "The Torvale wheel was built by Ada Quill.",
        "She was born in Quenby and never left the county for long.",
    }
    assert {found.note.split(":")[0] for found in sample.evidence} == {"Torvale wheel", "Ada Quill"}


def test_a_file_of_ones_own_is_read_in_place_of_the_folder(tokenizer, fixtures, monkeypatch):
    monkeypatch.chdir(fixtures)
    samples = made("qa_1", tokenizer, fixtures / "own_questions.jsonl", tokens=20, count=2)
    assert {sample.golds[0] for sample in samples} == {"Keziah Marrow", "under the third stone"}
    assert all(sample.metadata["source"] == "own_questions.jsonl" for sample in samples)


def test_an_offset_that_is_wrong_in_the_file_does_no_harm(tokenizer, data):
    quotes = {
        sample.document.slice(sample.evidence[0].start, sample.evidence[0].end)
        for sample in made("cmrc", tokenizer, data, count=3)
    }
    assert quotes == {"青石桥建于明代，共有九孔。", "桥头有一座钟楼，每日敲钟三次。", "墨竹书院由沈明远创办。"}


def test_questions_of_a_file_are_hidden_among_the_paragraphs_of_the_shared_folder(
    data, tokenizer, tmp_path, monkeypatch
):
    monkeypatch.setenv("BOOKWHEEL_DATA", str(data))
    path = tmp_path / "mine.jsonl"
    record = {"question": "Who winds it?", "answers": ["Keziah"], "paragraphs": ["Keziah winds it."]}
    path.write_text("\ufeff" + json.dumps(record) + "\n")
    sample = next(make_samples("hqa", tokens=600, count=1, seed=1, tokenizer=tokenizer, data=path))
    assert "Keziah winds it." in sample.text
    assert sample.tokens > 580
