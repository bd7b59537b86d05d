"""Readers of file formats, one file a format; `bookwheel.documents.dispatch` chooses among them."""
