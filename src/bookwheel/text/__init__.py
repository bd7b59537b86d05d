"""Text: tokens, chunks, sentences and words, and making untrusted text safe."""
