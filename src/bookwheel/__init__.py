"""bookwheel: a language model with a small window reads a document of any length past one small memory."""
