"""Reading as a part of other people's frameworks: one short file for each of them."""
