"""Measuring: ways of reading, models, tasks and lengths against each other, with intervals."""
