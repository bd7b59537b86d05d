"""A short document, and the verdicts on answers about it."""

from bookwheel.documents.opening import TextDocument
from bookwheel.verdict.judge import judge_answer

MILL = (
    "The mill stands by the river. It was built in 1588 for the monks of Este. Rain fell on the valley for weeks. "
    "The plan of the mill was signed by Agostino Ramelli, a captain, on 31 March 1588. He asked 12,400 livres for it. "
    "Nobody came to the market. Ada Quill sold 40 apples and 12 pears to Bo Reed. The son of Bo Reed left for Rome. "
    "The King of Spain's dog bit the envoy of the King of France."
)


def judge(answer, question="What happened?", text=MILL, steps=()):
    return judge_answer(answer, question, steps, TextDocument(text), is_copied=True)


def verdict_of(answer, question="What happened?", text=MILL, steps=()):
    (claim,) = judge(answer, question, text, steps)[1]
    return claim.verdict
