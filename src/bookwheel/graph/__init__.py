"""A graph of what documents say: facts as rows of a table, with quotes; exported, and a way of reading by it."""
