"""Reports whose every sentence has a source: an outline, its rows, checked sentences, and what they rest on."""
