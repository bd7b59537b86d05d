"""Evaluations and training runs below one folder, shown and never changed."""
