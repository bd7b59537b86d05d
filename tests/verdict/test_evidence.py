"""The passages that an answer rests on: by step, by page, by whole lines."""

from mill_verdicts import MILL, judge, verdict_of

from bookwheel.claims import BORNE_OUT, Verdict
from bookwheel.flags import Flag
from bookwheel.types import Chunk, Conversation, Memory, Part, Reply, Step
from bookwheel.verdict.judge import judge_answer


def edited_steps(line):
    """Return two steps; a line was written into the memory after the first."""
    info = {"text": "", "tokens": 9}
    memories = [Memory(text=text, tokens=1, limit=99) for text in ("", f"The mill\n{line}", f"The mill\n{line}")]
    return [
        Step(
            chunk=Chunk(index=at, start=at * 200, end=at * 200 + 200, **info),
            before=memories[at],
            after=memories[at + 1],
            conversation=Conversation(messages=(), reply=Reply(text="The mill")),
            flags=(Flag.EDITED,) if not at else (),
        )
        for at in range(2)
    ]


def test_what_was_written_by_hand_is_said_to_be_and_rests_on_no_passage():
    steps = edited_steps("The plan was signed by Odo Farr")
    evidence, (claim,) = judge("Odo Farr", "Who signed the plan of the mill?", steps=steps)
    assert (evidence, claim.verdict, claim.step) == ((), Verdict.BY_HAND, 0)
    assert verdict_of("The plan was signed by Odo Farr.", steps=steps) is Verdict.BY_HAND
    assert verdict_of("The plan was signed by Ada Quill.", steps=steps) not in {*BORNE_OUT, Verdict.BY_HAND}
    assert verdict_of("The mill stands by the river.", steps=steps) in BORNE_OUT, "the document says so as well"
    longer = "Rain fell on the valley for weeks, and the plan was in the end signed by Odo Farr."
    assert verdict_of(longer, steps=steps) is Verdict.BY_HAND, "who has it that the document has not"


def test_a_fact_is_cited_first_at_the_step_that_brought_it_into_the_memory():
    sections = [
        "The boat of Ada Quill was blue, they say. ",
        "Rain fell. ",
        "The boat of Ada Quill was painted blue in May. ",
    ]
    memories = ["", "", "", "Ada Quill's boat was painted blue in May."]
    steps, start = [], 0
    for at, text in enumerate(sections):
        before, after = (Memory(text=memories[at + more], tokens=9, limit=99) for more in (0, 1))
        chunk = Chunk(index=at, start=start, end=start + len(text), text=text, tokens=9)
        reply = Conversation(messages=(), reply=Reply(text=after.text))
        steps.append(Step(chunk=chunk, before=before, after=after, conversation=reply))
        start += len(text)
    for answer in ("The boat of Ada Quill was painted blue in May.", "The boat of Ada Quill was blue."):
        evidence, (claim,) = judge(answer, "What colour was the boat?", "".join(sections), steps)
        assert evidence[claim.evidence[0]].step == 2


def test_a_row_of_the_memory_is_cited_by_whole_lines():
    text = (
        "## People\n\n| day | bench | volunteer | phone |\n|---|---|---|---|\n| Saturday | bicycles | Tomas Ruiz | 0555 117 |\n"
        "| Saturday | sewing | Adaeze Obi | 0555 140 |\n\nJonas Feld repairs clocks.\n"
    )
    line = "People … | day | bench | volunteer | phone | … | Saturday | sewing | Adaeze Obi | 0555 140 |"
    before, after = Memory(text="", tokens=0, limit=99), Memory(text=line, tokens=30, limit=99)
    step = Step(
        chunk=Chunk(index=0, start=0, end=len(text), text=text, tokens=99),
        before=before,
        after=after,
        conversation=Conversation(messages=(), reply=Reply(text=line)),
    )
    evidence, (claim,) = judge("0555 140", "What is Adaeze Obi's phone number?", text, [step])
    quotes = [evidence[at].quote for at in claim.evidence]
    assert "| Saturday | sewing | Adaeze Obi | 0555 140 |" in quotes
    assert all(quote in text.splitlines() for quote in quotes)


def test_evidence_names_its_step_and_its_own_page():
    class Pages:
        name, length = "book", len(MILL)

        def parts(self, start=0):
            del start
            for at in range(0, len(MILL), 50):
                yield Part(text=MILL[at : at + 50], source="book", page=at // 50 + 1)

    (piece,), _ = judge_answer("He asked 12400 livres for it.", "?", edited_steps("x"), Pages())
    assert piece.pages == tuple(range(piece.start // 50 + 1, (piece.end - 1) // 50 + 2))
    assert piece.step == 0 if piece.start < 200 else 1
    (unread,), _ = judge_answer("The son of Bo Reed left for Rome.", "?", edited_steps("x")[:1], Pages())
    assert unread.step is None


def test_a_long_document_is_searched_block_by_block_and_a_sentence_across_two_blocks_is_found():
    filler = "Gulls circled over the pier all day long. "
    fact = "The harbour master of Skarholm is Ada Quill."
    for before in (65_500, 65_536 - 20, 300_000):
        text = (filler * 10_000)[:before].rpartition(" ")[0] + ". " + fact + " " + filler * 4000
        (piece,), (claim,) = judge(fact, text=text)
        assert (claim.verdict, piece.quote, text[piece.start : piece.end]) == (Verdict.QUOTED, fact, fact)


def test_a_passage_keeps_its_page_when_the_document_is_read_twice_and_only_once_to_its_end():
    class Pages:
        texts = ("The harbour master of Skarholm is Bo Reed. ", *(f"Filler number {n}. " * 9000 for n in range(3)))
        fact = "The plan of the mill was signed by Ada Quill."

        def parts(self):
            for page, text in enumerate((*self.texts, self.fact), start=1):
                yield Part(text=text, source="book", page=page)

    # The copy is on the last page; the search for the other sentence ends on the first.
    evidence, _ = judge_answer(f"{Pages.fact} Bo Reed is the harbour master of Skarholm.", "?", (), Pages())
    assert {piece.quote: piece.pages for piece in evidence} == {Pages.fact: (5,), Pages.texts[0].strip(): (1,)}
