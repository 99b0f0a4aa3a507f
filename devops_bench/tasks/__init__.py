"""Tasks: the YAML file, its loader and what lint says of it."""
