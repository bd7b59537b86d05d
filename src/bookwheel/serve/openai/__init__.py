"""The OpenAI-compatible front: chat completions, responses, files."""
