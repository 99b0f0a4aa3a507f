"""Public coding CLIs as data: how each is started, and how what it prints is read."""
