"""One message holds document and question: the question may stand first, last, around or within."""

import pytest

from bookwheel.serve.openai.question_split import find_source_name, split_message

TEXT = "The rent is nine crowns.\n\nIt is due in May."
ASKED = "What is the rent?"


@pytest.mark.parametrize(
    ("message", "document", "question"),
    [
        (f"{TEXT}\n\n{ASKED}", TEXT, ASKED),
        (f"{TEXT}\n{ASKED}", "The rent is nine crowns.", f"It is due in May.\n{ASKED}"),
        (f"{ASKED}\n\n{TEXT}", TEXT, ASKED),
        (f"{ASKED}\n{TEXT}", TEXT, ASKED),
        (f"{ASKED} Here is the lease:\n\n{TEXT}\n\nPage 7", f"{TEXT}\n\nPage 7", f"{ASKED} Here is the lease:"),
        (f"{ASKED} Here is the text: {TEXT}", TEXT, f"{ASKED} Here is the text:"),
        (f"Summarise the lease below.\n\n{TEXT}", TEXT, "Summarise the lease below."),
        (f"Summarise the following:\n\n{TEXT}\n\nWho pays?", TEXT, "Summarise the following:\n\nWho pays?"),
        (f"Title\n\n{TEXT}\n\nPlease list what is due.", f"Title\n\n{TEXT}", "Please list what is due."),
        (f"<context>\n{TEXT}\n</context>\n\n{ASKED}", TEXT + "\n", ASKED),
        (f"Be exact.\n<document name='x'>{TEXT}</document>\n{ASKED}", TEXT, f"Be exact.\n\n{ASKED}"),
        (f'{ASKED}\n"""\n{TEXT}\n"""', TEXT + "\n", ASKED),
        (f"{ASKED}\n\n```\n{TEXT}\n```", TEXT + "\n", ASKED),
        (f"租金是多少？\n\n{TEXT}", TEXT, "租金是多少？"),
        (f"{TEXT}\n\n请总结这份合同", TEXT, "请总结这份合同"),
        (f"¿Cuánto es la renta?\n\n{TEXT}", TEXT, "¿Cuánto es la renta?"),
    ],
)
def test_the_question_is_found(message, document, question):
    assert split_message(message) == (document, question)


def test_where_nothing_reads_like_a_question_the_last_paragraph_is_one_only_if_there_must_be_one():
    message = "Lease of the pier.\n\nThe rent is nine crowns.\n\nSigned in May"
    assert split_message(message) == ("Lease of the pier.\n\nThe rent is nine crowns.", "Signed in May")
    assert split_message(message, must=False) is None


def test_a_long_last_paragraph_is_no_question():
    assert split_message(f"Lease.\n\n{'The rent is nine crowns. ' * 200}") is None


def test_blocks_of_a_document_are_not_the_document():
    message = f"# Notes\n\n```sh\nmake\n```\n\n{TEXT}\n\n```sh\nmake test\n```\n\n{ASKED}"
    assert split_message(message) == (message.removesuffix(f"\n\n{ASKED}"), ASKED)


def test_instructions_of_retrieval_around_the_passages_stay_with_the_question():
    rules = "### Task:\nRespond to the user query using the provided context.\n\n### Guidelines:\n- Cite as [1].\n" * 9
    sources = f'<source id="1" name="lease.txt">{TEXT * 40}</source>\n'
    message = f"{rules}\n<context>\n{sources}</context>\n\n\n{ASKED}"
    document, question = split_message(message)
    assert document == TEXT * 40
    assert find_source_name(message) == "lease.txt"
    assert question.startswith("### Task:")
    assert question.endswith(f"\n\n{ASKED}")


def test_of_several_sources_each_keeps_its_tag():
    sources = f'<source id="1" name="a.txt">{TEXT}</source>\n<source id="2" name="b.txt">{TEXT}</source>\n'
    message = f"<context>\n{sources}</context>\n\n{ASKED}"
    assert split_message(message) == (sources, ASKED)
    assert find_source_name(message) is None


@pytest.mark.parametrize("text", ["one line", "", " \n\n ", "\n\none line\n\n"])
def test_one_paragraph_has_no_question(text):
    assert split_message(text) is None


def test_a_tag_inside_a_sentence_opens_no_document():
    rules = "Cite only where the <source> tag has an id."
    message = f"{rules}\n<context>\n<source id='1'>{TEXT}</source>\n</context>\n\n{ASKED}"
    document, question = split_message(message)
    assert document == TEXT
    assert find_source_name(message) is None
    assert question == f"{rules}\n\n{ASKED}"
