"""Ways of reading that the others are compared with; they register by the same entry points as those of a plug-in."""
