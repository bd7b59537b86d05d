"""The MCP front: tools and resources."""
