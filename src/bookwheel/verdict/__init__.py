"""The verdict on an answer: what the document says to each of its sentences."""
