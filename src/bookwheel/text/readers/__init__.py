"""Readers of file formats, one file a format; `bookwheel.text.files` chooses among them."""
