"""Readers of file formats, one file a format; `bookwheel.documents.formats` chooses among them."""
