"""The models: any OpenAI-compatible endpoint, a local model in this process, or a script."""
