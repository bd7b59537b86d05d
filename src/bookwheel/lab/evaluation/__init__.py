"""Compare ways of reading, models, tasks and lengths, with intervals."""
