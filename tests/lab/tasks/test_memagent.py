"""MemAgent's documents: numbered paragraphs of one pool, and the slots that all questions share."""

import json

import pytest

from bookwheel.errors import InputError
from bookwheel.lab.tasks import make_samples


@pytest.fixture
def hotpot(tmp_path):
    records = [
        {
            "id": f"q{number}",
            "question": f"Who has lamp {number}?",
            "answer": f"Ada {number}",
            "supporting_facts": [[f"Lamp {number}", 0]],
            "context": [
                [f"Lamp {number}", [f"Lamp {number} belongs to Ada {number}.", " It is old."]],
                ["Rain", ["It rained."]],
            ],
        }
        for number in range(30)
    ]
    path = tmp_path / "hotpot.json"
    path.write_text(json.dumps(records))
    return path


def test_paragraphs_are_numbered_and_the_own_ones_share_their_slots(hotpot, tokenizer):
    samples = list(make_samples("memagent_hqa", tokens=1400, count=3, seed=0, tokenizer=tokenizer, data=hotpot))
    assert [sample.question for sample in samples] == [f"Who has lamp {number}?" for number in range(3)]
    assert {tuple(sample.metadata["slots"]) for sample in samples} == {tuple(samples[0].metadata["slots"])}
    for number, sample in enumerate(samples):
        assert sample.text.count("Document ") == 10
        assert sample.text.startswith("Document 1:\n")
        assert f"Lamp {number}\nLamp {number} belongs to Ada {number}. It is old." in sample.text
        (evidence,) = sample.evidence
        assert sample.document.slice(evidence.start, evidence.end) == f"Lamp {number} belongs to Ada {number}."
        assert sample.score(f"Ada {number}").score == 1


def test_the_number_of_paragraphs_may_be_given(hotpot, tokenizer):
    (sample,) = make_samples("memagent_hqa", tokens=0, count=1, seed=0, tokenizer=tokenizer, data=hotpot, paragraphs=5)
    assert (sample.text.count("Document "), sample.length) == (5, 700)
    (everything,) = make_samples(
        "memagent_hqa", tokens=0, count=1, seed=0, tokenizer=tokenizer, data=hotpot, paragraphs=99
    )
    assert everything.text.count("Document ") == 31


@pytest.mark.parametrize(
    ("options", "message"),
    [({"tokens": 200}, "brings 2 paragraphs and 1 were"), ({"tokens": 1400, "count": 31}, "holds 30 questions")],
)
def test_what_cannot_be_made_is_told(options, message, hotpot, tokenizer):
    with pytest.raises(InputError, match=message):
        list(make_samples("memagent_hqa", **{"count": 1, **options}, seed=0, tokenizer=tokenizer, data=hotpot))
