"""The server's engine: models, readings, keys and limits, without any protocol."""
