"""A sample as published: the benchmark's own prompt, limit and sampling, read from the record or from a checkout."""

import asyncio
import json

import pytest

from bookwheel.errors import InputError
from bookwheel.lab.evaluation.layout import build_sections
from bookwheel.lab.evaluation.records import SampleOutcome
from bookwheel.lab.evaluation.report import build_report
from bookwheel.lab.evaluation.results import Results
from bookwheel.lab.evaluation.run import evaluate
from bookwheel.lab.evaluation.sections import to_markdown
from bookwheel.lab.evaluation.settings import Evaluation, ModelSpec, SettingsError
from bookwheel.lab.tasks import Sample
from bookwheel.lab.tasks.files import read_entries
from bookwheel.lab.tasks.published import SPECS, PublishedSpecs, find_spec
from bookwheel.models.base import ModelWrapper
from bookwheel.models.scripted import ScriptedModel


@pytest.fixture
def official(tmp_path):
    """Return a folder with checkouts, in the shape of the benchmarks' own."""
    texts = {
        "LongBench/LongBench/config/dataset2prompt.json": json.dumps(
            {"trec": "Text: {context}\nAsked: {input}\nType:"}
        ),
        "LongBench/LongBench/config/dataset2maxlen.json": json.dumps({"trec": 64}),
        "LongBench/prompts/0shot.txt": "<t>$DOC$</t> $Q$ (A) $C_A$ (B) $C_B$ (C) $C_C$ (D) $C_D$",
        "InfiniteBench/src/prompt.py": 'gpt4_templates = {"code_run": "{func}: {context} {func_call}", "math_calc": ""}',
        "InfiniteBench/src/eval_utils.py": 'DATA_NAME_TO_MAX_NEW_TOKENS = {"code_run": 5, "math_calc": 30}\n'
        'def f():\n    return "You are a calculator [3, 4]"\nshown = ["1 + 2 - 4", "[1, 3, -1]"]',
        "LongMemEval/src/generation/run_generation.py": 'answer_prompt_template = "I will give you several history chats '
        'of relevant chat history.\\n{}{}{}\\nAnswer:"',
        "LongMemEval/src/evaluation/evaluate_qa.py": 'template = "an unanswerable question {}|{}|{}"\n'
        'template = "a subset of the information required by the answer, answer no. \\n\\nQuestion: {}|{}|{}"',
        "MMLongBench-Doc/eval/prompt_for_answer_extraction.md": "Cut it out.",
        "babilong/babilong/prompts.py": 'TASK_TEMPLATE = "{instruction} {examples} {post_prompt}"\n'
        'USER_TEMPLATE = "C: {context} Q: {question}"\n'
        'DEFAULT_PROMPTS = {"qa1": {"instruction": "I", "examples": "E", "post_prompt": "P"}}',
        "babilong/babilong/metrics.py": 'TASK_LABELS = {"qa1": ["garden", "kitchen"]}',
    }
    for name, text in texts.items():
        path = tmp_path / "official" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "official"


def publish(tmp_path, official, record, name="file.jsonl"):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record) + "\n")
    (sample,) = read_entries(path, None, PublishedSpecs(official))
    assert isinstance(sample, Sample)
    return sample


CLASSES = {
    "input": "Why?",
    "context": "Because.",
    "answers": ["Reason"],
    "all_classes": ["Reason", "Place"],
    "dataset": "trec",
    "_id": "1",
}


def test_longbench_fills_its_own_template_and_compares_the_first_line(tmp_path, official):
    sample = publish(tmp_path, official, CLASSES)
    call = sample.published
    assert [one.content for one in call.messages] == ["Text: Because.\nAsked: Why?\nType:"]
    assert (call.reply_tokens, call.temperature, sample.metric) == (64, 0.0, "classification")
    assert sample.score("\nReason\nPlace").score == 1


HELMET = (
    'def one():\n    user_template = "Use the given documents to answer the question. Write your answer: {demos}{context}"\n'
    'def two():\n    user_template = "You are provided with a list of documents {demos}{context} {question}"\n'
    'def three():\n    user_template = "{context} Extract the value corresponding {demos}{question}"\n'
    'def four():\n    user_template = "{demo_text}{instruction} {question} {context}"\n'
)


def read_helmet(tmp_path, official, name, records, examples=()):
    (official / "HELMET" / "prompts").mkdir(parents=True, exist_ok=True)
    (official / "HELMET" / "data.py").write_text(HELMET)
    parts = {"instruction": "Cite.", "demo_prompt": "{question} {answer}", "doc_prompt": "[{ID}] {text}", "demos": []}
    (official / "HELMET" / "prompts" / "asqa_revised.json").write_text(json.dumps(parts))
    for file, rows in ((name, records), *examples):
        (tmp_path / file).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return list(read_entries(tmp_path / name, None, PublishedSpecs(official)))


def test_helmet_puts_two_examples_of_its_own_file_before_a_question(tmp_path, official):
    def ask(number, key="q"):
        titled = [{"title": "T", "text": f"text {number}"}]
        return {"question": f"{key}{number}?", "answers": [f"answer {number}"], "ctxs": titled}

    name, beside = "nq-dev-multikilt_1000_k9_dep6.jsonl", "nq-train-multikilt_1000_k3_dep6.jsonl"
    examples = [(beside, [ask(number // 2, "e") for number in range(20)])]
    (sample,) = read_helmet(tmp_path, official, name, [ask(1)], examples)
    (text,) = (one.content for one in sample.published.messages)
    assert text.count("Question: e") == 2
    assert text.endswith("Document (Title: T): text 1")
    assert (sample.published.reply_tokens, sample.metric) == (20, "helmet_match")
    assert sample.score("Answer: answer 1").score == 1
    (again,) = read_helmet(tmp_path, official, name, [ask(1)], examples)
    assert again.published == sample.published
    (tmp_path / beside).unlink()
    with pytest.raises(InputError, match=f"two examples before each prompt, from {beside}"):
        read_helmet(tmp_path, official, name, [ask(1)])


def test_a_record_that_lacks_what_its_prompt_needs_is_left_out_with_the_reason(tmp_path, official):
    pair = {"context": '{"a": "1"}', "question": "a", "answer": "1", "num_kvs": 1, "demos": [["b", "2"], ["c", "3"]]}
    bare = {name: value for name, value in pair.items() if name != "demos"}
    odd, sample = read_helmet(tmp_path, official, "kv.jsonl", [bare, pair])
    assert (odd.reason, sample.task) == ("the field 'demos' is missing", "helmet-json-kv")
    with pytest.raises(InputError, match=r"kv\.jsonl, line 1: not a sample: the field 'demos' is missing"):
        read_helmet(tmp_path, official, "kv.jsonl", [bare])


def test_helmet_ranks_behind_rankings_of_other_questions(tmp_path, official):
    def rank(number):
        return {
            "qid": str(number),
            "query": f"pier {number}",
            "ctxs": [{"id": str(one), "text": "t", "label": one} for one in (1, 3, 2)],
        }

    name, beside = "test_reranking_data_k50_dep3.jsonl", "test_reranking_data_k10_dep3.jsonl"
    examples = [(beside, [rank(number) for number in (7, 8, 9)])]
    (sample,) = read_helmet(tmp_path, official, name, [rank(7)], examples)
    text = sample.published.messages[0].content
    assert text.count("Ranking: 3 > 2 > 1") == 2
    assert text.count("pier 7") == 1
    assert sample.score("3 > 2 > 1\n1 > 2 > 3 > 4").score == 1


def test_helmet_asks_for_pairs_and_for_answers_with_citations(tmp_path, official):
    pair = {"context": '{"a": "1"}', "question": "a", "answer": "1", "num_kvs": 1, "demos": [["b", "2"], ["c", "3"]]}
    (sample,) = read_helmet(tmp_path, official, "kv.jsonl", [pair])
    assert "Key: b\nCorresponding value: 2\n\nKey: c" in sample.published.messages[0].content
    documents = [{"title": "T", "text": "The pier."}]
    cited = {
        "question": "q?",
        "docs": documents,
        "qa_pairs": [{"short_answers": ["pier"]}, {"short_answers": ["quay"]}],
    }
    (sample,) = read_helmet(tmp_path, official, "asqa.jsonl", [cited])
    assert sample.published.messages[0].content.endswith("Cite. q? [1] The pier.")
    assert sample.score("It is the pier [1].").score == 0.5


def test_choices_babilong_and_code_get_their_own_prompts(tmp_path, official):
    choices = {f"choice_{one}": one.lower() for one in "ABCD"}
    sample = publish(tmp_path, official, {"context": "T ", "question": "q", "answer": "B", "_id": "2", **choices})
    assert sample.published.messages[0].content == "<t>T</t> q (A) a (B) b (C) c (D) d"
    assert (sample.published.temperature, sample.score("The correct answer is (B).").score) == (0.1, 1)
    record = {"input": " Ada went. ", "question": "Where is Ada?", "target": "garden"}
    sample = publish(tmp_path, official, record, "qa1/0k.jsonl")
    assert sample.published.messages[0].content == "I E P\n\nC: Ada went. Q: Where is Ada?"
    assert (sample.published.reply_tokens, sample.golds) == (20, ("garden", "garden", "kitchen"))
    record = {"context": "def func_1", "input": "Give func_1(-3).", "answer": 7, "options": [], "id": 1}
    sample = publish(tmp_path, official, record, "code_run.jsonl")
    assert [one.role for one in sample.published.messages] == ["system", "user"]
    assert sample.published.messages[1].content == "func_1: def func_1 func_1(-3)"
    assert sample.score("It is 7").score == 1


def test_sums_are_asked_behind_an_example(tmp_path, official):
    record = {"context": "7 + 8", "input": "", "answer": [7, 15], "options": [], "id": 1}
    call = publish(tmp_path, official, record, "math_calc.jsonl").published
    assert [one.role for one in call.messages] == ["system", "user", "system", "user"]
    assert [one.content for one in call.messages][1:] == ["1 + 2 - 4", "[1, 3, -1]", "7 + 8"]


REMEMBERED = {
    "question_id": "q1",
    "question_type": "multi-session",
    "question": "Which tram?",
    "answer": 12,
    "question_date": "2023/06/01",
    "haystack_dates": ["2023/05/20 (Sat) 02:21"],
    "haystack_sessions": [[{"role": "user", "content": "I take tram 12."}]],
}


def run(tmp_path, official, record, replies, plan=None):
    """Evaluate one record as published; return its newest record, and what every call was sent."""
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps(record) + "\n")
    calls = []

    async def open_model(spec):
        return ScriptedModel(lambda messages: calls.append(messages) or replies[spec.name])

    evaluation = Evaluation(
        samples=(str(path),),
        models=(ModelSpec(name="reader"),),
        judge=ModelSpec(name="judge"),
        ways=("as-published",),
        as_published=True,
        official=str(official),
        plan=plan or {},
    )
    results = asyncio.run(evaluate(evaluation, tmp_path / "out" / "results.jsonl", open_model))
    (record,) = results.records
    return record, calls


def test_a_judge_is_asked_in_the_words_of_its_benchmark(tmp_path, official):
    record, calls = run(tmp_path, official, REMEMBERED, {"reader": "Tram 12", "judge": "Yes."})
    assert calls[-1][0].content.endswith("Question: Which tram?|12|Tram 12")
    assert (record.judged, record.official) == (1.0, None)
    report = build_report(Results.load(tmp_path / "out" / "results.jsonl"))
    assert "verdict, in the benchmark's words" in to_markdown("Report", build_sections(report))
    absent = {**REMEMBERED, "question_id": "q1_abs"}
    (tmp_path / "absent").mkdir()
    record, calls = run(tmp_path / "absent", official, absent, {"reader": "12", "judge": "no"})
    assert calls[-1][0].content == "an unanswerable question Which tram?|12|12"
    assert record.judged == 0


@pytest.mark.parametrize(
    ("said", "metric", "score"),
    [
        ("Extracted answer: 12\nAnswer format: Integer", "mmlongbench_int", 1),
        ("Extracted answer: Not answerable\nAnswer format: String", "mmlongbench_none", 1),
        ("Extracted answer: bees\nAnswer format: String", "mmlongbench", 0),
        ("It is 12.", "mmlongbench_int", None),
    ],
)
def test_a_judge_cuts_the_answer_out_of_a_reply(said, metric, score):
    golds = ("Not answerable",) if metric == "mmlongbench_none" else ("12",)
    assert find_spec("mmlongbench-doc").verdict(said, metric, golds) == score


EPISODE = {
    "episode_id": "pl_1",
    "sessions": [
        {"timestamp": f"2023/03/0{day} (Fri) 11:55", "conversation": [{"role": "user", "content": said}]}
        for day, said in ((3, "I drive a Zyvanta."), (4, "I sold it."))
    ],
    "before_questions": {
        "timestamp": "2023/03/03 (Fri) 12:00",
        "position_after_session": 0,
        "questions": [{"task_type": "Cas", "question": "What do I drive?", "expected_answer": "a Zyvanta"}],
    },
    "after_questions": {
        "timestamp": "2023/03/05 (Sun) 12:00",
        "position_after_session": 1,
        "questions": [
            {"task_type": "Abs", "question": "What do I drive?", "gold_answer": "not certain"},
            {"task_type": "X", "question": "What?", "gold_answer": "a"},
        ],
    },
}


def test_an_episode_is_asked_after_the_sessions_that_came_before_the_question(tmp_path):
    path = tmp_path / "meme.json"
    path.write_text(json.dumps([EPISODE]))
    before, after, odd = read_entries(path, None, PublishedSpecs(None))
    assert (before.task, before.golds, "sold" in before.text) == ("meme-cascade-before", ("a Zyvanta",), False)
    assert (after.task, "sold" in after.text, after.published.way) == ("meme-absence", True, "memory")
    assert "task_type" in odd.reason


def test_memagent_reads_by_its_way_in_its_own_words(tmp_path, official):
    record = {"index": 0, "input": "Who signed?", "context": "Ada signed.", "answers": ["Ada"], "num_docs": 1}
    words = tmp_path / "words.toml"
    words.write_text('answer = "{question} {memory}"\n[update]\nmemory-first = "{question} {memory} {section}"\n')
    (tmp_path / "plain").mkdir()
    with pytest.raises(InputError, match="bookwheel data prompts"):
        run(tmp_path / "plain", official, {**record, "dataset": "eval_50"}, {"reader": "Ada", "judge": "GRADE: C"})
    plan = {"prompts": str(words)}
    record, calls = run(
        tmp_path, official, {**record, "dataset": "eval_50"}, {"reader": "Ada", "judge": "GRADE: C"}, plan
    )
    assert (record.metric, record.official, record.steps) == ("official", 1.0, 1)
    assert calls[0][-1].content.startswith("Who signed?")


def test_prompts_of_records_need_no_checkout(tmp_path):
    turns = [{"role": "user", "content": "a poem"}, {"role": "assistant", "content": "la"}]
    record = {"prompt": json.dumps([*turns, {"role": "user", "content": "again"}]), "answer": "x1la"}
    sample = publish(tmp_path, None, {**record, "random_string_to_prepend": "x1"})
    assert [one.content for one in sample.published.messages] == ["a poem", "la", "again"]
    assert sample.published.temperature is None
    graph = {"prompt": "a -> b\nOperation: parents of b", "answer_nodes": ["a"]}
    assert publish(tmp_path, None, graph).published.messages[0].content == graph["prompt"]
    counted = {"context_window_text": "x: spam", "question": "How many?", "answer": "[3]"}
    sent = publish(tmp_path, None, counted).published.messages
    assert [(one.role, one.content.rpartition("\n")[2]) for one in sent] == [
        ("system", "x: spam"),
        ("user", "How many?"),
    ]
    needle = {
        "input": "I will quiz you about the x afterwards.\nOne.\nWhat is the special x?",
        "outputs": ["7"],
        "answer_prefix": " It is",
    }
    sample = publish(tmp_path, None, needle, "niah_single_1/validation.jsonl")
    assert sample.published.messages[0].content == f"{needle['input']} It is"
    assert sample.published.reply_tokens == 128


def test_what_is_missing_is_said(tmp_path, official):
    with pytest.raises(InputError, match=r"git clone https://github\.com/THUDM/LongBench"):
        publish(tmp_path, None, CLASSES)
    own = {"question": "q", "document": "d", "answers": ["a"]}
    with pytest.raises(InputError, match="nothing is published for the task"):
        publish(tmp_path, official, own)
    with pytest.raises(InputError, match="name the file or its folder qa1"):
        publish(tmp_path, official, {"input": "a", "question": "q", "target": "garden"})
    with pytest.raises(SettingsError, match="is for --as-published"):
        Evaluation(samples=("f",), ways=("as-published",))


def test_every_row_has_a_measure_or_a_judge():
    assert all(spec.metric or "--judge" in spec.differs for spec in SPECS)
    assert find_spec("locomo-adversarial").metric == "locomo_absent"
    assert find_spec("passage_count_e").metric == "number_share"
    assert find_spec("eval_50").metric == find_spec("eval_qa_1_8192").metric == "official"
    assert find_spec("eval_niah_multikey_1_16384").metric == "string_match_all"


@pytest.mark.parametrize("limit", [64, 6])
def test_an_evaluation_sends_the_published_messages_under_the_published_limit(tmp_path, official, limit):
    (official / "LongBench/LongBench/config/dataset2maxlen.json").write_text(json.dumps({"trec": limit}))
    path = tmp_path / "trec.jsonl"
    path.write_text(json.dumps(CLASSES) + "\n")
    calls = []

    class Heard(ModelWrapper):
        async def reply(self, messages, *, limit, sampling):
            calls.append((tuple(messages), limit, sampling.temperature))
            return await super().reply(messages, limit=limit, sampling=sampling)

    async def open_model(_spec):
        return Heard(ScriptedModel(lambda _call: "Reason"))

    evaluation = Evaluation(
        samples=(str(path),),
        models=(ModelSpec(name="scripted"),),
        ways=("as-published",),
        as_published=True,
        official=str(official),
    )
    results = asyncio.run(evaluate(evaluation, tmp_path / "out" / "results.jsonl", open_model))
    ((messages, most, temperature),) = calls
    assert messages[0].content == "Text: Because.\nAsked: Why?\nType:"
    assert (most, temperature) == (limit, 0.0)
    (record,) = results.records
    assert (record.outcome, record.way, record.metric) == (SampleOutcome.SCORED, "as-published", "classification")
    assert record.official == record.score
