"""Documents, tokens, chunks, and making untrusted text safe."""
