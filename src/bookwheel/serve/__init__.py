"""Putting readings in front of people and programs."""
