"""Everything of a kind: rows that leave the memory for a table, each with its quote and its place."""
