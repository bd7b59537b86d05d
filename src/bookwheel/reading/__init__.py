"""The reading loop and the words it asks with."""
