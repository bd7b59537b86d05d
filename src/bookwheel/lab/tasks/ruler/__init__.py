"""RULER's own construction by code of ours: the same inputs and seed give the prompts that its scripts write.

resources   sentences, essays, words and questions: of ours, or from a checkout of RULER that the user points to
prompts     a prompt, the random numbers in the scripts' order, and the search for the size that fills the length
needles     passages in filler: the eight needle tasks and variable tracking
counts      prompts of which the whole text counts: words and passages
tasks       the thirteen tasks, as samples of ours
"""
