"""Who reads: any OpenAI-compatible endpoint, an embedded local model, or a script."""
