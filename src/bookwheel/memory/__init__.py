"""A memory that goes on: append, ask, look back, correct, forget.

A lasting memory is a reading whose document grows and whose question is a standing brief. Each new piece of text is
read by a way of reading, from the newest memory on; the loop is not changed.
"""
