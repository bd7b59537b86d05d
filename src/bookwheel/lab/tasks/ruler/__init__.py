"""RULER's own construction by code of ours: the same inputs and seed give the prompts that its scripts write."""
