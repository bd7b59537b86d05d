"""`refine` and `map-reduce` beside the chains that they are named after: the same chunks, prompts, replies and answer.

LangChain's chains live in langchain-classic, which is no dependency of ours: those tests run where it is installed.
"""

import re
from collections.abc import Sequence
from zlib import crc32

import pytest
from way_runs import make_pages, run_way

from bookwheel.lab.baselines.chains import _group_notes as group_notes
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.reading.prompts import prompts_for
from bookwheel.text.tokens import WordTokenizer
from bookwheel.types import Message

QUESTION = "What is the colour of Ramelli's wheel?"
PLAN = Plan(question_tokens=60, chunk_tokens=120, memory_tokens=60, answer_tokens=60)
PAGES = make_pages(40, {"The colour of the wheel of Ramelli is vermilion.": 20})


def reply_to(prompt: str) -> str:
    """A reply that no other prompt gets: where all prompts are equal, so is the answer."""
    return f"answer {crc32(fold_blanks(prompt).encode())}"


def fold_blanks(prompt: str) -> str:
    """LlamaIndex strips the blanks around each chunk."""
    return " ".join(prompt.split())


def read_ours(way: str) -> tuple[list[str], list[str], str]:
    """Our prompts in their order, the chunks, and the answer."""
    heard: list[str] = []

    def script(messages: Sequence[Message]) -> str:
        heard.append(messages[-1].content)
        return reply_to(heard[-1])

    *steps, answer = run_way(way, PAGES, QUESTION, ScriptedModel(script, window=2000), PLAN)
    chunks = [step.chunk for step in steps]
    rest = PAGES.text[chunks[-1].end :]
    return heard, [chunk.text for chunk in chunks] + ([rest] if rest else []), answer.text


def template(name: str, **names: str) -> str:
    """Our template with the places named as LlamaIndex names them, which leaves other braces alone."""
    prompts = prompts_for(PLAN, QUESTION)
    # How many words a reply has room for, as our prompts tell it.
    said = prompts.turn(name, question="", room=PLAN.memory_tokens)[-1].content
    (room,) = re.findall(r"in (\d+) words", said) or ("",)
    text = prompts.turns[name].replace("{room}", room)
    for ours, theirs in names.items():
        text = text.replace(f"{{{ours}}}", f"{{{theirs}}}")
    return text


def test_refine_is_llamaindexs():
    core = pytest.importorskip("llama_index.core")
    from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
    from llama_index.core.response_synthesizers import Refine

    theirs: list[str] = []

    class Scripted(CustomLLM):
        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata(context_window=100_000, num_output=100)

        def complete(self, prompt: str, formatted: bool = False, **_options) -> CompletionResponse:
            theirs.append(prompt)
            return CompletionResponse(text=reply_to(prompt))

        def stream_complete(self, prompt: str, formatted: bool = False, **_options):
            raise NotImplementedError

    ours, chunks, answer = read_ours("refine")
    chain = Refine(
        llm=Scripted(),
        text_qa_template=core.PromptTemplate(template("begin", question="query_str", section="context_str")),
        refine_template=core.PromptTemplate(
            template("refine", question="query_str", memory="existing_answer", section="context_msg")
        ),
    )
    said = str(chain.get_response(QUESTION, chunks))
    assert len(ours) == len(chunks) > 5
    assert list(map(fold_blanks, theirs)) == list(map(fold_blanks, ours))
    assert said == answer


def scripted_langchain():
    """LangChain's completion model of the same script, and the prompts that it hears."""
    from langchain_core.language_models.llms import LLM

    heard: list[str] = []

    class Scripted(LLM):
        @property
        def _llm_type(self) -> str:
            return "scripted"

        def _call(self, prompt: str, *_given, **_options) -> str:
            heard.append(prompt)
            return reply_to(prompt)

        def get_num_tokens(self, text: str) -> int:
            return WordTokenizer().count(text)

    return Scripted(), heard


def chain_of(name: str, llm):
    """LangChain's chain of one of our templates; its own format doubles the braces that are none of its places."""
    from langchain_classic.chains import LLMChain
    from langchain_core.prompts import PromptTemplate

    text = template(name).replace("\\boxed{}", "\\boxed{{}}")
    return LLMChain(llm=llm, prompt=PromptTemplate.from_template(text))


@pytest.mark.filterwarnings("ignore")
def test_refine_is_langchains():
    chains = pytest.importorskip("langchain_classic.chains")
    from langchain_core.documents import Document
    from langchain_core.prompts import PromptTemplate

    llm, theirs = scripted_langchain()
    ours, chunks, answer = read_ours("refine")
    chain = chains.RefineDocumentsChain(
        initial_llm_chain=chain_of("begin", llm),
        refine_llm_chain=chain_of("refine", llm),
        document_variable_name="section",
        initial_response_name="memory",
        document_prompt=PromptTemplate.from_template("{page_content}"),
    )
    documents = [Document(page_content=chunk) for chunk in chunks]
    assert chain.invoke({"input_documents": documents, "question": QUESTION})["output_text"] == answer
    assert theirs == ours


@pytest.mark.filterwarnings("ignore")
def test_map_reduce_is_langchains():
    chains = pytest.importorskip("langchain_classic.chains")
    from langchain_core.documents import Document

    llm, theirs = scripted_langchain()
    ours, chunks, answer = read_ours("map-reduce")
    combine = chains.StuffDocumentsChain(llm_chain=chain_of("combine", llm), document_variable_name="memory")
    chain = chains.MapReduceDocumentsChain(
        llm_chain=chain_of("map", llm),
        reduce_documents_chain=chains.ReduceDocumentsChain(combine_documents_chain=combine, token_max=1500),
        document_variable_name="section",
    )
    documents = [Document(page_content=chunk) for chunk in chunks]
    assert chain.invoke({"input_documents": documents, "question": QUESTION})["output_text"] == answer
    assert len(ours) == len(chunks) + 1
    assert theirs == ours


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("limit", [40, 64, 200])
def test_notes_are_grouped_as_langchain_groups_them(limit):
    reduce = pytest.importorskip("langchain_classic.chains.combine_documents.reduce")
    from langchain_core.documents import Document

    model = ScriptedModel(lambda _: "", window=2000)
    notes = [f"note {n} of " + "many words " * (n % 5) for n in range(17)]

    def count(documents, **_options) -> int:
        return model.tokenizer.count("\n\n".join(one.page_content for one in documents))

    theirs = reduce.split_list_of_docs([Document(page_content=note) for note in notes], count, limit)
    ours = [group.notes.text for group in group_notes(notes, model, limit)]
    assert ours == ["\n\n".join(one.page_content for one in group) for group in theirs]
