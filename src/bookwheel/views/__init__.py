"""Views of readings: HTML, and the difference between two memories. Pure."""
