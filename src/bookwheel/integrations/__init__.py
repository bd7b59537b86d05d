"""Readings inside other frameworks, one file for each."""
