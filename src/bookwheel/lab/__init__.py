"""The laboratory: tasks, scoring, evaluation and training. It stands on the core, which never imports it."""
