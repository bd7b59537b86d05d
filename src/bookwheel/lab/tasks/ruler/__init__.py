"""RULER's own construction by code of ours: the same inputs and seed give the prompts that its scripts write.

wordings    the sentences: of ours, or read from a checkout of RULER that the user points to
resources   essays, words and questions: from that checkout, or from the data folder
streams     random numbers in the order in which RULER's scripts draw them
prompts     a prompt, and the search for the size that fills the length
needles, chains, counts, passages   the five families
tasks       the thirteen tasks, as samples of ours
"""
