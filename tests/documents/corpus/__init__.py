"""A corpus of generated documents in every format, with what an exact conversion of each must keep."""
