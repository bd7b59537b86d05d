"""The server: readings over HTTP, OpenAI's API and MCP."""
