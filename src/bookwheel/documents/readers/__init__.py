"""Readers of file formats, one file a format; `bookwheel.documents.files` chooses among them."""
