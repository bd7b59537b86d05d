"""Facts with a rival of the same kind, in the shapes in which models reply; by a reader of the rules, not their author."""

from bookwheel.lab.scoring import score_answer

# What it is of, question, gold, rival, and what the rival is of.
FACTS = [
    ("the lease", "When does the lease end?", "31 March 2027", "1 April 2022", "begins"),
    ("the fair", "What does entry to the fair cost?", "12 euros", "8 euros", "parking costs"),
    ("the ship", "Who was the captain of the ship?", "Nils Berg", "Ole Dahl", "the mate was"),
    ("the ferry", "How many passengers did the ferry carry?", "340", "52", "the crew numbered"),
    ("the hall", "Who designed the hall?", "Irma Lund", "Per Vik", "the builder was"),
    ("the report", "Who wrote the report?", "Dana Frey", "Luc Amis", "the editor was"),
    ("the dam", "How high is the dam?", "84 m", "310 m", "it is long"),
    ("the drug", "What is the maximum dose?", "400 mg", "100 mg", "the usual dose is"),
    ("the club", "Where does the club meet?", "Harbour Street 4", "Mill Lane 9", "its office is"),
    ("the school", "When was the school founded?", "1907", "1931", "it moved in"),
    ("the firm", "What was the firm's profit in 2021?", "3.2 million", "18 million", "turnover was"),
    ("the poem", "What is the title of the poem?", "The Grey Gate", "Winter Bread", "the collection is"),
    ("the bridge", "What material is the bridge made of?", "granite", "oak", "the railing is of"),
    ("the vaccine", "At what temperature is the vaccine kept?", "-20 °C", "4 °C", "once opened it is kept at"),
    ("the album", "Which label released the album?", "Nordlys", "Fjord Records", "the single came from"),
]
RIGHT = [
    "{gold}",
    "{gold}.",
    "The answer is {gold}.",
    "{Subject}: {gold}",
    "According to the document, it is {gold}.",
    "{gold} ({other} {rival})",
    "It is {gold}; {other} {rival}.",
    "It is not {rival} but {gold}.",
]
WRONG = [
    "{rival}",
    "The answer is {rival}.",
    "{rival} ({other} {gold})",
    "It is {rival}, not {gold}.",
    "{rival} or {gold}",
    "It is {rival}. {other} {gold}.",
    "I could not find it; {gold} is mentioned elsewhere.",
    "The document does not say. {other} {gold}.",
]


def count_taken(shapes):
    taken = 0
    for subject, question, gold, rival, other in FACTS:
        parts = {"Subject": subject[0].upper() + subject[1:], "gold": gold, "rival": rival, "other": other}
        taken += sum(score_answer("contains", one.format(**parts), [gold], question).score == 1 for one in shapes)
    return taken


def test_shapes_that_answer_count_and_those_that_name_the_gold_of_something_else_do_not():
    assert count_taken(RIGHT) >= 119
    assert count_taken(WRONG) <= 9
