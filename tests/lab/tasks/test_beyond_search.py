"""The tasks that a search hardly passes: what their documents say, worked out from the text alone."""

import re
from collections import Counter

import pytest

from bookwheel.errors import InputError
from bookwheel.lab.tasks import make_samples


def make(name, tokenizer, *, tokens=900, count=6, **options):
    return list(make_samples(name, tokens=tokens, count=count, seed=3, tokenizer=tokenizer, **options))


EVENTS = {
    "en": (
        r"(?P<who>[A-Z]\w+ [A-Z]\w+) (?:(?:went to|made for|walked over to) the (?P<place>\w+)\.|"
        r"(?:picked|took)(?: up)? the (?P<take>[\w ]+?)(?: along)?\.|"
        r"(?:put|left) the (?P<drop>[\w ]+?) (?:down there|behind)\.)"
    ),
    "zh": (
        r"(?P<who>[沈陆顾纪苏谢温秦罗方叶邵薛贺宋严]..)(?:(?:去了|走到)(?P<place>..)里?。|"
        r"(?:拿起了(?P<take>..)。|把(?P<carry>..)带在身上。)|(?:在那里放下了(?P<drop>..)。|把(?P<leave>..)留在了那里。))"
    ),
}
PLACES = "granary chapel boathouse orchard cellar smithy courtyard stable 粮仓 祠堂 船坞 果园 地窖 铁铺 院子 马厩"


def trace(text, language):
    """Where everybody is in the end, and the places of each thing in order."""
    where, holder, trails = {}, {}, {}
    for match in re.finditer(EVENTS[language], text):
        found = {name: value for name, value in match.groupdict().items() if value}
        who = found["who"]
        if "place" in found:
            if found["place"] not in PLACES.split():
                continue
            where[who] = found["place"]
            for thing in [thing for thing, one in holder.items() if one == who]:
                trails[thing].append(where[who])
        elif taken := found.get("take") or found.get("carry"):
            holder[taken] = who
            trails.setdefault(taken, [where[who]])
        else:
            holder.pop(found.get("drop") or found["leave"], None)
    return where, trails


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("hops", [1, 2, 3])
def test_people_and_things_are_where_their_chain_of_events_leads(hops, language, tokenizer):
    for sample in make("whereabouts", tokenizer, hops=hops, language=language, events=30):
        where, trails = trace(sample.text, language)
        (gold,) = sample.golds
        if hops == 1:
            assert where[next(who for who in where if who in sample.question)] == gold
            assert len(sample.evidence) == 1
            continue
        trail = trails[next(thing for thing in trails if thing in sample.question)]
        if hops == 2:
            assert trail[-1] == gold
        else:
            place = next(place for place in PLACES.split() if place in sample.question)
            arrival = max(at for at, one in enumerate(trail) if one == place and at)
            assert trail[arrival - 1] == gold
        assert len(sample.evidence) >= hops


def test_chains_stand_in_a_book_from_its_first_page_on(data, tokenizer):
    (sample,) = make("whereabouts", tokenizer, count=1, data=data)
    assert sample.metadata["book"].startswith("en_")


@pytest.mark.parametrize(
    ("language", "request_text"), [("en", "User: .*{form} about {topic}"), ("zh", "用户：.*{topic}.*{form}")]
)
def test_the_recital_is_that_of_the_request_with_its_number(language, request_text, tokenizer):
    for sample in make("recite", tokenizer, language=language):
        form, topic = re.search(
            r"a (?P<f>[\w ]+) about (?P<t>[\w ]+) more|关于(?P<zt>.+?)的(?P<zf>.+?)。", sample.question
        ).group(*(("f", "t") if language == "en" else ("zf", "zt")))
        exchanges = re.split(r"\n\n(?=User: |用户：)", sample.text)
        alike = [one for one in exchanges if re.match(request_text.format(form=form, topic=topic), one)]
        assert len(alike) == 8
        answer = re.split(": |：", alike[sample.metadata["asked"] - 1].split("\n", 1)[1], maxsplit=1)[1].strip()
        assert answer == sample.golds[0]
        assert sample.score(sample.golds[1] + answer).score == 1
        assert sample.score(answer).score == 0
        others = [re.split(": |：", one.split("\n", 1)[1], maxsplit=1)[1].strip() for one in alike]
        assert sum(sample.score(sample.golds[1] + other).score == 1 for other in others) == 1


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("ask", ["count", "who", "most", "least"])
def test_a_ledger_is_counted_over_all_of_its_lines(ask, language, tokenizer):
    for tokens in (600, 5000):
        for sample in make("ledger", tokenizer, tokens=tokens, count=2, ask=ask, language=language):
            rows = [re.split(r" ?[|｜] ?", line) for line in sample.text.split("\n")]
            rows = [row for row in rows if len(row) == 4]
            assert len(rows) == sample.metadata["entries"]
            label = re.search("“(.+?)”", sample.question)
            if ask == "count":
                assert sample.golds == (str(sum(row[2] == label[1] for row in rows)),)
                continue
            column = 1 if ask == "who" else 2
            counts = Counter(row[column] for row in rows if ask != "who" or row[2] == label[1])
            extreme = (min if ask == "least" else max)(counts.values())
            assert set(sample.golds) == {name for name, n in counts.items() if n == extreme}


def test_one_ledger_has_one_question_at_every_length(tokenizer):
    short, long = (make("ledger", tokenizer, tokens=tokens, count=1)[0] for tokens in (600, 6000))
    assert short.question == long.question
    assert long.text.startswith(short.text[:1000])


def test_a_ledgers_option_is_one_of_four(tokenizer):
    with pytest.raises(InputError, match="ask"):
        make("ledger", tokenizer, ask="sum")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_half_of_the_answerable_have_an_answer_and_all_look_alike(language, tokenizer):
    samples = make("answerable", tokenizer, tokens=300, count=60, language=language)
    answered = [sample for sample in samples if sample.metric == "contains"]
    assert 20 <= len(answered) <= 40
    for sample in samples:
        asked = re.search(r"did (\w+ \w+) pay for the ([\w ]+)\?|(...)买那件(.+?)付了", sample.question)
        who, thing = [part for part in asked.groups() if part]
        bought = [line for line in re.split(r"(?<=[.。])", sample.text) if who in line and thing in line]
        assert len(bought) == (sample in answered)
        assert all(gold in line for gold in sample.golds for line in bought)
        assert len(re.findall(re.escape(thing), sample.text)) >= 3


def test_the_share_without_an_answer_can_be_set(tokenizer):
    for share, metric in ((0, "contains"), (100, "unanswerable")):
        assert {one.metric for one in make("answerable", tokenizer, unanswerable=share)} == {metric}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_profile_names_the_thing_once_and_goes_on_by_its_values(language, tokenizer, oracle):
    ends = Counter()
    for sample in make("profile", tokenizer, count=24, language=language, changes=2):
        ends[sample.metadata["end"]] += 1
        quotes = [sample.document.slice(piece.start, piece.end) for piece in sample.evidence]
        assert len(quotes) == 3 + {"changed": 0, "withdrawn": 1, "restored": 2}[sample.metadata["end"]]
        thing = sample.evidence[0].key
        assert [thing in quote for quote in quotes] == [True] + [False] * (len(quotes) - 1)
        assert sample.score(oracle(sample)).score == 1
        assert ("withdrawn" in sample.golds or "已撤回" in sample.golds) == (sample.metadata["end"] == "withdrawn")
    assert set(ends) == {"changed", "withdrawn", "restored"}
