"""HTML and differences of readings, made from values alone."""
