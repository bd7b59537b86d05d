"""A batch over a real Ray cluster of two nodes on this machine."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from types import SimpleNamespace

import pytest

from bookwheel.batch.cluster import ActorSettings, BudgetKeeper, _KeptModel, read_on_cluster
from bookwheel.batch.rows import make_rows
from bookwheel.batch.run import BatchSettings
from bookwheel.cli.main import main
from bookwheel.models.base import Embeddings
from bookwheel.models.registry import ModelAddress
from bookwheel.models.scripted import ScriptedModel, keyword_judge, keyword_reader
from bookwheel.plan import Budget, Plan
from bookwheel.types import Message, Usage

FACTS = {name: f"The rent of the {name} is {price} crowns." for name, price in (("pier", "nine"), ("mill", "four"))}
PLAN = Plan(chunk_tokens=100, memory_tokens=40, answer_tokens=40)


def test_the_keeper_counts_what_was_used_and_refuses_what_could_pass_the_limit():
    keeper = BudgetKeeper(asdict(Budget(tokens=100)))
    assert keeper.reserve(50, 30) == ""
    assert "limit" in keeper.reserve(20, 10)
    keeper.settle((50, 30), (40, 5))
    assert keeper.reserve(20, 10) == ""
    dear = BudgetKeeper(asdict(Budget(cost=1.0, price_in=1e6, price_out=1e6)))
    assert "limit" in dear.reserve(1, 1)
    assert dear.reserve(1, 0) == ""


@pytest.fixture(scope="module")
def cluster():
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    nodes.add_node(num_cpus=1)
    yield nodes.address
    nodes.shutdown()


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_rows_are_read_by_the_nodes_and_fail_alone(cluster, tmp_path):
    for name, fact in FACTS.items():
        (tmp_path / name).write_text("Gulls circle over the bay. " * 60 + fact)
    table = [{"source": name, "question": f"What is the rent of the {name}?"} for name in (*FACTS, "none")]
    rows = make_rows(table, [], tmp_path, "table")
    settings = ActorSettings(batch=BatchSettings(plan=PLAN, address=ModelAddress(model="scripted")), connection={})
    outcomes = {
        row.question: outcome for row, outcome in read_on_cluster(rows, cluster, settings, Budget(), most_actors=2)
    }
    assert [outcomes[row["question"]].status for row in table] == ["answered", "answered", "failed"]
    assert [outcomes[row["question"]].answer for row in table[:2]] == list(FACTS.values())
    assert "none" in outcomes[table[2]["question"]].error
    few = {
        row.question: outcome
        for row, outcome in read_on_cluster(rows[:2], cluster, settings, Budget(tokens=1500), most_actors=2)
    }
    assert "stopped" in {outcome.status for outcome in few.values()}
    assert sum(outcome.tokens for outcome in few.values()) <= 1500


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_table_in_parquet_becomes_one_with_answers(cluster, tmp_path, monkeypatch):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.setenv("BOOKWHEEL_JOURNAL", str(tmp_path / "journal.sqlite"))
    for name, fact in FACTS.items():
        (tmp_path / name).write_text("Gulls circle over the bay. " * 60 + fact)
    names = [*FACTS, "none"]
    questions = [f"What is the rent of the {name}?" for name in names]
    table = pyarrow.table({"source": names, "question": questions, "id": [7, 8, 9]})
    parquet.write_table(table, tmp_path / "rents.parquet")
    limits = ("--chunk-tokens", "100", "--memory-tokens", "40", "--answer-tokens", "40")
    out = tmp_path / "answers.parquet"
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "batch",
                str(tmp_path / "rents.parquet"),
                "--out",
                str(out),
                "--ray",
                cluster,
                "--model",
                "scripted",
                *limits,
            ]
        )
    assert ended.value.code == 5
    rows = parquet.read_table(out).to_pylist()
    assert [row["id"] for row in rows] == [7, 8, 9]
    assert [row["status"] for row in rows] == ["answered", "answered", "failed"]
    assert [row["answer"] for row in rows[:2]] == list(FACTS.values())
    assert "none" in rows[2]["error"]


def test_every_kind_of_call_is_reserved_with_the_keeper():
    keeper = BudgetKeeper(asdict(Budget(tokens=10_000)))
    asked = []

    class Remote:
        """An actor's method, called here."""

        def __init__(self, method):
            self.method = method

        async def remote(self, *values):
            asked.append(self.method.__name__)
            return self.method(*values)

    remote = SimpleNamespace(reserve=Remote(keeper.reserve), settle=Remote(keeper.settle))

    class EmbeddingModel(ScriptedModel):
        async def embed(self, texts):
            return Embeddings(vectors=((1.0,),) * len(texts), usage=Usage(calls=1, prompt_tokens=4))

    async def call():
        model = _KeptModel(EmbeddingModel(keyword_reader, judge=keyword_judge), remote)
        messages = [Message(role="user", content="Who keeps the light?")]
        await model.reply(messages, limit=10, sampling=PLAN.sampling)
        await model.judge(messages, ["yes", "no"])
        await model.embed(["a light", "a pier"])

    asyncio.run(call())
    assert asked == ["reserve", "settle"] * 3
    assert keeper._spent.tokens > 0
    assert keeper._reserved.tokens == 0
