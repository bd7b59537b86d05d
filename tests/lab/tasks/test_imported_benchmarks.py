"""RULER, LoCoMo, LongMemEval, MRCR, HELMET and index files: records of our own in their shapes."""

import gzip
import json
from collections import Counter
from functools import reduce

import pytest

from bookwheel.errors import InputError
from bookwheel.lab.tasks import Sample, read_samples
from bookwheel.lab.tasks.files import read_entries

NEEDLE = {
    "index": 4,
    "input": "Some special magic numbers are hidden here. I will quiz you about the numbers afterwards.\n"
    "Boats lie still.\nOne of the special magic numbers for ash-pier is: 7.\nBoats lie still.\n"
    "What are all the special magic numbers for ash-pier mentioned in the provided text?",
    "outputs": ["7", "8"],
    "length": 4090,
    "length_w_model_temp": 4095,
    "answer_prefix": " The numbers for ash-pier are",
}
CHAIN = {
    "index": 0,
    "input": "Track the chain hidden in the following text.\n\nVAR ABC = 1\nQuestion: Which hold 1? Answer: ABC\n\n"
    "Track the chain hidden in the following text.\n\nVAR XYZ = 2\nVAR UVW = XYZ\nQuestion: Which hold 2?",
    "outputs": ["XYZ", "UVW"],
    "length": 8000,
    "answer_prefix": " Answer: 2 hold it: ",
}
PASSAGES = {
    "index": 1,
    "input": "Answer shortly.\n\nThe following are given documents.\n\nDocument 1:\nAda signed.\n\nDocument 2:\nRain."
    "\n\nAnswer shortly.\n\nQuestion: Who signed?",
    "outputs": ["Ada", "Ada Quill"],
    "length": 16000,
}
LOCOMO = {
    "sample_id": "talk-1",
    "conversation": {
        "speaker_a": "Ada",
        "speaker_b": "Bram",
        "session_2": [{"speaker": "Bram", "dia_id": "D2:1", "text": "I sold the boat.", "blip_caption": "a pier"}],
        "session_2_date_time": "9 am on 3 May, 1904",
        "session_1": [{"speaker": "Ada", "dia_id": "D1:1", "text": "I keep bees."}],
        "session_1_date_time": "8 am on 2 May, 1904",
    },
    "qa": [
        {"question": "What does Ada keep?", "answer": "bees", "evidence": ["D1:1"], "category": 4},
        {"question": "When was it sold?", "answer": 1904, "evidence": ["D2:1; D1:1", "D9:9"], "category": 2},
        {"question": "Would Bram sail?", "answer": "no; he sold it", "evidence": ["D2:1"], "category": 3},
        {"question": "What does Bram keep?", "adversarial_answer": "bees", "evidence": ["D1:1"], "category": 5},
    ],
}
LONGMEMEVAL = {
    "question_id": "q7",
    "question_type": "knowledge-update",
    "question": "Which tram do I take?",
    "answer": 12,
    "question_date": "2023/06/01",
    "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/02 (Tue) 08:00"],
    "haystack_session_ids": ["b", "a"],
    "haystack_sessions": [
        [{"role": "user", "content": "I take tram 12 now.", "has_answer": True}],
        [{"role": "user", "content": "I take tram 3."}, {"role": "assistant", "content": "Noted."}],
    ],
}
MRCR = {
    "prompt": json.dumps(
        [
            {"role": "user", "content": "Write a riddle about rain."},
            {"role": "assistant", "content": "What falls and never climbs?"},
            {"role": "user", "content": "Begin with k3Yx and repeat the first riddle about rain."},
        ]
    ),
    "answer": "k3YxWhat falls and never climbs?",
    "random_string_to_prepend": "k3Yx",
    "n_needles": 2,
    "desired_msg_index": 1,
}
RAG = {"question": "Who signed?", "answers": ["Ada"], "ctxs": [{"title": "Lease", "text": "Ada signed."}]}


def read(tmp_path, *records, name="set.jsonl"):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(record) + "\n" for record in records)
    path.write_bytes(gzip.compress(f"\ufeff{lines}".encode()))
    return list(read_samples(path))


def test_a_prompt_of_ruler_is_document_and_question(tmp_path):
    (sample,) = read(tmp_path, NEEDLE, name="niah_multivalue/validation.jsonl")
    assert sample.text.startswith("Boats lie still.")
    assert sample.text.endswith("Boats lie still.")
    assert sample.question.startswith("What are all the special magic numbers for ash-pier")
    assert sample.question.endswith("\nThe numbers for ash-pier are")
    assert (sample.task, sample.length, sample.tokens, sample.metric) == (
        "niah_multivalue",
        4096,
        4095,
        "string_match_all",
    )
    assert [sample.score(answer).score for answer in ("7, 8", "7", "9")] == [1, 0.5, 0]


def test_examples_of_ruler_are_no_part_of_the_document(tmp_path):
    (sample,) = read(tmp_path, CHAIN)
    assert sample.text == "VAR XYZ = 2\nVAR UVW = XYZ"
    assert sample.question == "Which hold 2?\nAnswer: 2 hold it:"
    assert "ABC" in sample.metadata["head"]
    assert sample.length == 8192


def test_a_prompt_of_ruler_without_its_length_has_none(tmp_path):
    record = {name: value for name, value in NEEDLE.items() if not name.startswith("length")}
    (sample,) = read(tmp_path, record)
    assert (sample.length, sample.tokens) == (0, 0)


def test_a_question_of_ruler_takes_any_gold(tmp_path):
    (sample,) = read(tmp_path, PASSAGES)
    assert sample.text == "Document 1:\nAda signed.\n\nDocument 2:\nRain."
    assert (sample.question, sample.length) == ("Who signed?", 16384)
    assert sample.score("It was Ada.").score == 1


def test_a_conversation_of_locomo_is_a_sample_for_each_question(tmp_path):
    kept, sold, would, absent = read(tmp_path, LOCOMO)
    assert kept.text.index("Ada: I keep bees.") < kept.text.index("Bram: I sold the boat. (shows a picture: a pier)")
    assert [kept.document.slice(one.start, one.end) for one in kept.evidence] == ["I keep bees."]
    assert [one.start for one in sold.evidence] == sorted(one.start for one in sold.evidence)
    assert len(sold.evidence) == 2
    assert (sold.golds, would.golds) == (("1904",), ("no",))
    assert [one.task for one in (kept, sold, would)] == ["locomo-single-hop", "locomo-temporal", "locomo-open-domain"]
    assert (absent.metric, absent.score("It is not mentioned.").score, absent.score("bees").score) == (
        "unanswerable",
        1,
        0,
    )
    assert len({sample.id for sample in (kept, sold, would, absent)}) == 4


def test_sessions_of_longmemeval_stand_by_date_with_their_marked_turns(tmp_path):
    (sample,) = read(tmp_path, LONGMEMEVAL)
    assert sample.text.index("tram 3") < sample.text.index("tram 12")
    assert [sample.document.slice(one.start, one.end) for one in sample.evidence] == ["I take tram 12 now."]
    assert sample.golds == ("12",)
    assert sample.task == "longmemeval-knowledge-update"
    (absent,) = read(tmp_path, {**LONGMEMEVAL, "question_id": "q7_abs"})
    assert (absent.metric, absent.task, absent.evidence) == ("unanswerable", "longmemeval-abstention", ())


@pytest.mark.parametrize("name", ["longmemeval_oracle", "longmemeval_s_cleaned.json", "longmemeval_m.json"])
def test_every_type_of_question_and_every_form_of_longmemeval_is_read(tmp_path, name):
    kinds = ["temporal-reasoning", "knowledge-update", "multi-session"]
    kinds += [f"single-session-{who}" for who in ("user", "assistant", "preference")]
    others = {"oracle": 0, "s": 40, "m": 500}[name.removesuffix(".json").split("_")[1]]
    filler = [{"role": "user", "content": "It rains."}, {"role": "assistant", "content": "Take a coat."}]
    record = {
        **LONGMEMEVAL,
        "answer_session_ids": ["b"],
        "haystack_session_ids": ["b", "a", *(f"filler_{at}" for at in range(others))],
        "haystack_dates": [*LONGMEMEVAL["haystack_dates"], *["2023/05/10 (Wed) 09:00"] * others],
        "haystack_sessions": [*LONGMEMEVAL["haystack_sessions"], *[filler] * others],
    }
    records = [{**record, "question_id": f"gpt4_{at}", "question_type": kind} for at, kind in enumerate(kinds)]
    path = tmp_path / name
    path.write_text(json.dumps([*records, {**records[0], "question_id": "gpt4_0_abs"}]), "utf-8")
    samples = list(read_samples(path))
    assert [sample.task for sample in samples] == [f"longmemeval-{kind}" for kind in (*kinds, "abstention")]
    assert [sample.metric for sample in samples] == [*["contains"] * 5, "f1", "unanswerable"]
    assert all(sample.text.count("[Session ") == others + 2 for sample in samples)
    assert all(sample.question.endswith("(Asked on 2023/06/01.)") for sample in samples)


def test_mrcr_wants_its_string_first_and_the_text_word_for_word(tmp_path):
    (sample,) = read(tmp_path, MRCR)
    assert sample.question.startswith("Begin with k3Yx")
    assert "k3Yx" not in sample.text
    assert [sample.document.slice(one.start, one.end) for one in sample.evidence] == ["What falls and never climbs?"]
    assert sample.score(MRCR["answer"]).score == 1
    assert sample.score("What falls and never climbs?").score == 0
    assert 0.5 < sample.score("k3YxWhat falls and never dives?").score < 1
    assert sample.length == 4096


def test_files_of_helmet_are_read(tmp_path):
    pairs = {"context": '{"a": "1"}', "question": "a", "answer": "1", "num_kvs": 1, "demos": []}
    needles = {"context": "magic", "query": "ash", "type_needle_v": "numbers", "outputs": ["7"]}
    rag, kv, niah = read(tmp_path, RAG, pairs, needles)
    assert rag.text == "Passage: Lease\nAda signed.\n\n"
    assert "key a" in kv.question
    assert (niah.metric, niah.golds) == ("string_match_all", ("7",))
    listed = {"question": "q", "docs": [{"title": "T", "text": "x"}], "answers": [["pier", "quay"], ["bell"]]}
    (cited,) = read(tmp_path, listed)
    assert (cited.task, cited.metric) == ("helmet-cite-qampari", "alce_qampari")
    assert cited.score("A quay [1], a lamp.").score == 0.5


def test_sets_of_longbench_have_their_measures_and_a_question(tmp_path):
    common = {"context": "Ada signed.", "length": 9, "language": "en", "_id": "1"}
    report, code, kind, answer = read(
        tmp_path,
        {**common, "input": "", "answers": ["Signed."], "dataset": "gov_report_e"},
        {**common, "input": "x = 1", "answers": ["y = 2"], "dataset": "repobench-p"},
        {
            **common,
            "input": "Question: who?",
            "answers": ["Person"],
            "all_classes": ["Person", "Place"],
            "dataset": "trec",
        },
        {**common, "input": "Who?", "answers": ["Ada"], "dataset": "hotpotqa"},
    )
    assert (report.metric, report.question) == ("rouge_l", "Write a one-page summary of the document.")
    assert (code.metric, code.question) == ("code_similarity", "x = 1\nWrite the next line of the code.")
    assert (kind.metric, kind.golds, kind.question) == ("classification", ("Person", "Place"), "Question: who?")
    assert (answer.metric, answer.task) == ("contains", "hotpotqa")


def test_graphs_and_counts_of_other_benchmarks_are_read(tmp_path):
    prompt = "Example.\nOperation: none\n\nEdges:\na -> b\n\nOperation:\nPerform a BFS from a.\n"
    graph, count = read(
        tmp_path,
        {"prompt": prompt, "answer_nodes": ["a", "b"], "problem_type": "bfs", "prompt_chars": 60},
        {
            "context_window_text": "x: spam",
            "question": "How many?",
            "answer": "[3]",
            "task_group": "counting",
            "id": 4,
            "answer_type": "ANSWER_TYPE.NUMERIC",
        },
    )
    assert graph.text.endswith("a -> b")
    assert (graph.task, graph.question, graph.golds) == ("graphwalks-bfs", "Perform a BFS from a.", ("a", "b"))
    assert graph.score("Final Answer: [b, a]").score == 1
    assert (count.task, count.golds, count.score("Answer: 4").score) == ("oolong-counting-number", ("3",), 0.75)


def test_a_graph_may_have_no_node_that_answers_and_call_its_nodes_otherwise(tmp_path):
    prompt = "a -> b\n\nOperation:\nFind the parents of a."
    empty, older = read(
        tmp_path,
        {"prompt": prompt, "answer_nodes": [], "problem_type": "parents"},
        {"prompt": prompt, "answer": ["b"], "problem_type": "parents"},
    )
    assert [empty.score(f"Final Answer: {said}").score for said in ("[]", "[b]", "none")] == [1, 0, 0]
    assert (older.task, older.golds) == ("graphwalks-parents", ("b",))


def test_options_of_infinitebench_become_letters(tmp_path):
    record = {"context": "Ada signed.", "input": "Who?", "answer": ["Ada"], "options": ["Bram", "Ada"]}
    (sample,) = read(tmp_path, record)
    assert sample.golds == ("B", "Ada")
    assert "(A) Bram\n(B) Ada" in sample.question


@pytest.mark.parametrize("asked", [{"question": "Who?", "answer": "Ada"}, {"input": "Who?", "answers": ["Ada"]}])
def test_supporting_facts_beside_a_plain_context_are_a_field_more(asked, tmp_path):
    (sample,) = read(tmp_path, {**asked, "context": "Ada signed.", "supporting_facts": [["Lease", 0]]})
    assert (sample.text, sample.question, sample.golds) == ("Ada signed.", "Who?", ("Ada",))


HOTPOT = [
    {"question": "Who signed?", "context": [["Lease", ["Ada signed. ", "In May."]], ["Rain", ["It rained."]]]},
    {"question": "Who left?", "context": [["Boat", ["Bram left."]], ["Rain", ["It rained."]]]},
]


def test_an_index_file_is_filled_from_its_pool(tmp_path):
    pool = tmp_path / "hotpot.json"
    pool.write_text(json.dumps(HOTPOT, indent=1))
    record = {"context": [2, 0], "input": "Who left?", "answers": ["Bram"], "num_docs": 2, "index": 1}
    path = tmp_path / "eval_2.json"
    path.write_text(json.dumps([record]))
    (sample,) = read_samples(path, pool)
    assert sample.text == "Document 1:\nRain\nIt rained.\n\nDocument 2:\nBoat\nBram left."
    for wrong, message in (({"context": [9]}, "another file"), ({"index": 0}, "another file")):
        path.write_text(json.dumps([{**record, **wrong}]))
        with pytest.raises(InputError, match=message):
            list(read_samples(path, pool))


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({**NEEDLE, "input": "Tell me."}, "thirteen tasks"),
        ({**LONGMEMEVAL, "haystack_dates": []}, "haystack_dates"),
        ({**MRCR, "prompt": "[]"}, "list of messages"),
        (
            {"question": "q", "answer": "a", "context": [["T", ["a"]]], "supporting_facts": []},
            "give the file by --data",
        ),
        ({"title": "T", "paragraphs": [{"context": "a", "qas": []}]}, "give the file by --data"),
        ({**MRCR, "answer": None}, "gold answer is null"),
        ({**LONGMEMEVAL, "answer": None}, "gold answer is null"),
        ({"context_window_text": "x", "question": "q", "answer": None}, "gold answer is null"),
        ({"prompt": "a -> b\nOperation: x", "answer_nodes": [None]}, "gold answer is null"),
        ({"prompt": "a -> b\nOperation: x", "answer_nodes": None}, "must be a list, not None"),
        ({"prompt": "a -> b\nOperation: x", "answer": "b1c2", "problem_type": "parents"}, "must be a list, not 'b1c2'"),
        ({**MRCR, "prompt": [{"role": "user", "content": [{"text": "q"}]}]}, "'content' of each message"),
        ({"context_window_text": "x", "question": "q", "answer": "['ham"}, r"writing of Python: \['ham"),
        ({name: value for name, value in LONGMEMEVAL.items() if name != "question_date"}, "'question_date' is missing"),
    ],
)
def test_a_bad_record_is_named_by_line_where_no_other_can_be_used(record, message, tmp_path):
    with pytest.raises(InputError, match=rf"set.jsonl, line 1: .*{message}"):
        read(tmp_path, record)
    assert len(read(tmp_path, RAG, record, name="both.jsonl")) == 1


def test_an_odd_question_of_a_conversation_is_left_out_alone(tmp_path):
    odd = [{"question": "q", "answer": "a", "category": 9}, {"question": "q", "category": 1}]
    path = tmp_path / "talk.jsonl"
    path.write_text(json.dumps({**LOCOMO, "qa": [*odd, *LOCOMO["qa"]]}))
    skipped = Counter()
    assert len(list(read_samples(path, skipped=skipped))) == len(LOCOMO["qa"])
    assert sorted(skipped) == ["'answer' is missing", "'category' must be one of 1 to 5, not 9"]


def test_records_of_an_array_are_named_by_the_line_they_begin_on(tmp_path):
    path = tmp_path / "set.json"
    bad = {**RAG, "answers": []}
    path.write_text(json.dumps([bad, bad], indent=2))
    with pytest.raises(InputError, match=r"set.json, line 2 \(record 1\)"):
        list(read_samples(path))
    path.write_text(json.dumps({"version": 1, "data": [RAG, RAG]}))
    assert len(list(read_samples(path))) == 2
    path.write_text(f"[{json.dumps(RAG)} {json.dumps(RAG)}]")
    with pytest.raises(InputError, match="comma"):
        list(read_samples(path))


def list_places(value, place=()):
    """Yield the path of each value inside a record."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*place, key)
        yield from list_places(inner, (*place, key))


@pytest.mark.parametrize(
    "record", [NEEDLE, CHAIN, PASSAGES, LOCOMO, LONGMEMEVAL, MRCR, RAG], ids=lambda one: str(len(one))
)
def test_a_record_of_any_other_shape_is_read_or_left_out_with_a_reason(record, tmp_path):
    path = tmp_path / "set.jsonl"
    for place in list_places(record):
        for wrong in (None, "", {}):
            copy = json.loads(json.dumps(record))
            around = reduce(lambda one, key: one[key], place[:-1], copy)
            around[place[-1]] = wrong
            path.write_text(f"{json.dumps(RAG)}\n{json.dumps(copy)}\n")
            first, *others = read_entries(path)
            assert isinstance(first, Sample)
            assert others
            assert all(isinstance(one, Sample) or one.reason for one in others)


def test_sets_of_infinitebench_without_a_question_get_one_of_ours(tmp_path):
    common = {"id": 1, "input": "", "options": []}
    mask, values, book = read(
        tmp_path,
        {**common, "context": "ADA: hi\n$$MASK$$: ho", "answer": ["BRAM"]},
        {**common, "id": 2, "context": "1 + 2 - 4", "answer": [1, 3, -1]},
        {**common, "id": 3, "context": "It was a day.", "answer": "A day."},
    )
    assert "$$MASK$$" in mask.question
    assert ("operation" in values.question, values.golds) == (True, ("1", "3", "-1"))
    assert "summary" in book.question


def test_documents_to_be_ranked_are_judged_by_their_order(tmp_path):
    documents = [{"id": name, "text": "t", "label": label} for name, label in (("1", 0), ("2", 3))]
    (sample,) = read(tmp_path, {"qid": "9", "query": "pier?", "ctxs": documents})
    assert (sample.task, sample.metric, sample.golds) == ("helmet-rerank", "ranking", ("1=0", "2=3"))
    assert sample.score("Ranking: ID2 > ID1").score == 1
    first, second = read(
        tmp_path, *({"qid": "9", "query": "pier?", "ctxs": row} for row in (documents, documents[::-1]))
    )
    assert first.id != second.id
