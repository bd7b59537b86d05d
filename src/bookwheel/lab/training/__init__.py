"""Teaching a model to keep its memory: many independent conversations, one reward, one step."""
