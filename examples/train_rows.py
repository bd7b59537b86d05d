"""One step of training on made-up rewards, down to the loss. Needs PyTorch: pip install 'bookwheel[train]'.

Four rollouts read the same sample. Each is two conversations of token ids; only the ids that the policy sampled are
trained. The "policy" is a table with one row of scores a token, which is enough to see the loss push the right way.
"""

import torch

from bookwheel.lab.training.advantages import advantages
from bookwheel.lab.training.loss import Logprobs, policy_loss
from bookwheel.lab.training.objective import LossSettings
from bookwheel.lab.training.rows import rows_of
from bookwheel.types import Conversation, Message, Reply, TokenRecord

RIGHT, WRONG = 7, 3


def make_conversation(sampled: int) -> Conversation:
    """Return a conversation in which the policy saw the ids 1 2 and sampled one id."""
    record = TokenRecord(prompt=(1, 2), reply=(sampled,), logprobs=(-2.3,))
    return Conversation(messages=(Message(role="user", content="?"),), reply=Reply(text="", tokens=record))


sampled = [RIGHT, WRONG, WRONG, WRONG]
rewards = [1.0, 0.0, 0.0, 0.0]
credit = advantages(rewards)
print("advantages", credit)

rows = []
for number, (token, advantage) in enumerate(zip(sampled, credit, strict=True)):
    rows += rows_of([make_conversation(token), make_conversation(token)], advantage, rollout=str(number))
denominator = sum(row.tokens for row in rows)

scores = torch.zeros(10, requires_grad=True)
new = torch.log_softmax(scores, dim=0)[[token for row in rows for token in row.ids[-1:]]]
per_token = torch.tensor([row.advantage for row in rows for _ in range(row.tokens)])
loss, tally = policy_loss(Logprobs(new=new, old=new), per_token, denominator, LossSettings(kl=0.0))
loss.backward()
assert scores.grad is not None

# The advantages of a group sum to 0, and so does the first loss; its gradient does not.
print(f"loss {abs(loss.item()):.4f} over {tally.tokens:.0f} tokens")
print("the right token becomes likelier:", bool(scores.grad[RIGHT] < 0))
print("the wrong one less likely:", bool(scores.grad[WRONG] > 0))
assert scores.grad[RIGHT] < 0 < scores.grad[WRONG]
