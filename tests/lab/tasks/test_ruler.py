"""RULER's own construction: its random numbers, its grid, its length, and sentences from a checkout."""

import json
import sys
import types

import pytest

from bookwheel.errors import InputError
from bookwheel.lab.tasks import TASKS, make_samples, sample_series
from bookwheel.lab.tasks.ruler import resources
from bookwheel.lab.tasks.ruler.families import DEPTHS, zeta
from bookwheel.lab.tasks.ruler.prompts import LegacyNumpy
from bookwheel.lab.tasks.ruler.resources import KeyNames, read_word_lists, write_splitter

RULER = [name for name in TASKS if name.startswith("ruler_")]
LENGTH = 4200


def make(name, data, tokenizer, *, tokens=LENGTH, count=2, seed=42, **options):
    return list(make_samples(name, tokens=tokens, count=count, seed=seed, tokenizer=tokenizer, data=data, **options))


@pytest.fixture
def checkout(tmp_path, data):
    """A checkout with sentences and files of our own, in RULER's layout."""
    scripts = tmp_path / "RULER" / "scripts" / "data" / "synthetic"
    (scripts / "json").mkdir(parents=True)
    families = ("niah", "variable_tracking", "common_words_extraction", "freq_words_extraction", "qa")
    tasks = {
        name: {
            "tokens_to_generate": 40,
            "template": f"Some {name} head.\n{{context}}\nQuestion: What are all of {name}?",
            "answer_prefix": " Answer: they are",
        }
        for name in families
    }
    (scripts / "constants.py").write_text(f"TASKS = {tasks!r}\n")
    (scripts / "niah.py").write_text(
        "import os\nneedle = 'The {type_needle_v} of {key} is {value}!'\n"
        "if os:\n    haystack = json.load(open(os))\nelif 1:\n    haystack = 'Rain. Rain.'\n"
    )
    words = " ".join(f"Word {number} stands here." for number in range(400))
    (scripts / "json" / "PaulGrahamEssays.json").write_text(json.dumps({"text": words}))
    (scripts / "json" / "english_words.json").write_text(json.dumps({str(n): f"w{n}" for n in range(20_000)}))
    paragraphs = [
        {
            "context": f"Article {a}, paragraph {p}, of rain.",
            "qas": [{"question": f"{a}.{p}?", "answers": [{"text": "rain"}]}],
        }
        for a in range(9)
        for p in range(40)
    ]
    articles = [{"title": str(a), "paragraphs": paragraphs[40 * a : 40 * a + 40]} for a in range(9)]
    (scripts / "json" / "squad.json").write_text(json.dumps({"data": articles}))
    return tmp_path / "RULER"


QUICK = {"ruler_niah_multivalue", "ruler_vt"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in RULER if "qa" not in name],
)
def test_a_prompt_with_its_answer_fits_the_length_and_nearly_fills_it(name, checkout, data, tokenizer):
    for sample in make(name, data, tokenizer, ruler=str(checkout), splitter="ours"):
        assert 0.8 * LENGTH < sample.metadata["prompt_tokens"] <= LENGTH
        assert sample.metric == "string_match_all"
        assert sample.score(", ".join(sample.golds)).score == 1
        assert sample.question.endswith("they are") or sample.question.endswith("they is")
        assert sample.evidence


def test_a_sample_is_the_same_alone_and_in_a_row(checkout, data, tokenizer):
    row = make("ruler_vt", data, tokenizer, count=3)
    series = sample_series("ruler_vt", tokens=LENGTH, count=3, seed=42, tokenizer=tokenizer, data=data)
    assert [series[place] for place in (2, 0, 1)] == [row[2], row[0], row[1]]
    assert len({sample.text for sample in row}) == 3


def test_paragraphs_of_the_same_article_come_first(checkout, data, tokenizer):
    (sample,) = make("ruler_qa_1", data, tokenizer, tokens=400, count=1, ruler=str(checkout))
    assert "Document 1:\n" in sample.text
    articles = {line.split(",")[0] for line in sample.text.splitlines() if line.startswith("Article")}
    assert articles == {"Article 0"}
    assert sample.document.slice(sample.evidence[0].start, sample.evidence[0].end) == "Article 0, paragraph 0, of rain."
    assert sample.metric == "string_match_part"


def test_an_example_with_other_names_leads_every_chain(checkout, data, tokenizer):
    first, second = make("ruler_vt", data, tokenizer, hops=2, ruler=str(checkout))
    assert len(first.golds) == 3
    for sample in (first, second):
        assert sample.metadata["head"].count("VAR ") >= 3
        assert not any(gold in sample.metadata["head"] for gold in sample.golds)
    assert first.metadata["head"] != second.metadata["head"]


def test_our_own_sentences_need_no_checkout(data, tokenizer):
    (sample,) = make("ruler_niah_multivalue", data, tokenizer, count=1)
    assert len(sample.golds) == 4
    assert all(gold in sample.text for gold in sample.golds)
    assert "secret numbers" in sample.question


def test_a_sample_says_what_it_is_made_from(checkout, data, tokenizer):
    (ours,) = make("ruler_niah_single_1", data, tokenizer, count=1)
    assert ours.metadata["made_from"]["sentences"] == "ours"
    assert ours.metadata["made_from"]["words"].startswith("a list of ")
    (theirs,) = make("ruler_niah_single_1", data, tokenizer, count=1, ruler=str(checkout))
    assert (theirs.metadata["made_from"]["sentences"], theirs.metadata["made_from"]["splitter"]) == ("RULER", "punkt")


def test_nothing_falls_back_beside_a_checkout(checkout, data, tokenizer, tmp_path, monkeypatch):
    (tmp_path / "bare").mkdir()
    with pytest.raises(InputError, match="bookwheel data words"):
        make("ruler_niah_single_1", tmp_path / "bare", tokenizer, count=1, ruler=str(checkout))
    monkeypatch.setitem(sys.modules, "nltk.tokenize", None)
    with pytest.raises(InputError, match="splitter=ours"):
        make("ruler_niah_single_2", data, tokenizer, count=1, ruler=str(checkout))


def test_a_splitter_that_cannot_be_had_is_an_error_that_says_what_to_install(tmp_path, monkeypatch):
    nltk = pytest.importorskip("nltk")
    monkeypatch.setattr(nltk, "download", lambda *_args, **_named: False)
    monkeypatch.setattr(resources, "_WITH_PUNKT", (("nowhere.core", "tokenizers"),))
    with pytest.raises(InputError, match="pip install llama-index-core"):
        write_splitter(tmp_path)


def test_essays_are_split_as_ruler_splits_them(checkout, data, tokenizer, monkeypatch):
    asked = []
    module = types.ModuleType("nltk")
    module.data = types.SimpleNamespace(path=[])
    module.sent_tokenize = lambda text: asked.append(text) or [one + "." for one in text.split(".") if one]
    monkeypatch.setitem(sys.modules, "nltk", module)
    make("ruler_niah_single_2", data, tokenizer, count=1, ruler=str(checkout))
    assert asked
    assert module.data.path == [str(data / "nltk_data")]


@pytest.mark.parametrize("name", ["ruler_vt", "ruler_cwe", "ruler_niah_single_1"])
def test_the_whole_prompt_can_be_the_document(name, checkout, data, tokenizer):
    (sample,) = make(name, data, tokenizer, count=1, ruler=str(checkout), prompt=True)
    (plain,) = make(name, data, tokenizer, count=1, ruler=str(checkout))
    assert sample.text == plain.metadata["head"] + plain.text
    assert (sample.question, sample.golds) == (plain.question, plain.golds)
    notes = [sample.document.slice(found.start, found.end) for found in sample.evidence]
    assert notes == [plain.document.slice(found.start, found.end) for found in plain.evidence]


def test_words_are_read_without_their_blanks(tmp_path, monkeypatch):
    assets = tmp_path / "wonderwords" / "assets"
    assets.mkdir(parents=True)
    (tmp_path / "wonderwords" / "__init__.py").touch()
    (assets / "__init__.py").touch()
    for kind in ("noun", "adjective", "verb"):
        (assets / f"{kind}list.txt").write_text(f"blue-eyed \n{kind}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "wonderwords", raising=False)
    assert read_word_lists()["adjectives"] == ["blue-eyed", "adjective"]


def test_a_word_list_with_blanks_gives_the_same_names(data, tokenizer, tmp_path):
    lists = {"nouns": ["hat", "pie"], "adjectives": ["blue", "wet ", "blue-eyed "], "verbs": ["run"]}
    texts = []
    for name, strip in (("raw", str), ("bare", str.rstrip)):
        path = tmp_path / name / "wordlists" / "wonderwords_lists.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({kind: [strip(word) for word in words] for kind, words in lists.items()}))
        texts.append([sample.text for sample in make("ruler_niah_multikey_2", tmp_path / name, tokenizer)])
    assert texts[0] == texts[1]


def test_what_is_no_checkout_is_told(data, tokenizer, tmp_path):
    with pytest.raises(InputError, match=r"no checkout of RULER: it has no scripts/data/synthetic/constants.py"):
        make("ruler_cwe", data, tokenizer, ruler=str(tmp_path))


def test_a_length_that_holds_no_prompt_is_infeasible(data, tokenizer):
    with pytest.raises(InputError, match="ask for longer documents"):
        make("ruler_niah_single_1", data, tokenizer, tokens=100, count=1)


def test_numbers_are_those_of_numpys_older_generator():
    numpy = pytest.importorskip("numpy")
    theirs, ours = numpy.random.RandomState(42), LegacyNumpy(42)
    spans = [(10000, 99999), (0, 2), (5, 1000)] * 50
    assert [ours.randint(*span) for span in spans] == [int(theirs.randint(*span)) for span in spans]


def test_depths_are_forty_from_0_to_100():
    assert (len(DEPTHS), DEPTHS[:3], DEPTHS[-2:]) == (40, [0, 3, 5], [97, 100])


def test_names_are_sorted_without_being_made():
    adjectives, nouns = ["blue", "blue-eyed ", "red", "amber"], ["hat", "eyed z", "pie", "pie", "eyed -hat"]
    names = KeyNames(adjectives, nouns)
    assert [names[place] for place in range(len(names))] == sorted({f"{a}-{n}" for a in adjectives for n in nouns})


@pytest.mark.parametrize(
    ("alpha", "value"), [(2.0, 1.6449340668482264), (3.0, 1.2020569031595942), (1.5, 2.612375348685488)]
)
def test_the_zeta_function_is_right(alpha, value):
    assert zeta(alpha) == pytest.approx(value, abs=1e-13)
