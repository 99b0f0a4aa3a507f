"""Results: what a run leaves behind, and how it is written."""
