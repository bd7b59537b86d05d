"""What is read: documents, tokens, chunks, and how untrusted text is shown."""
