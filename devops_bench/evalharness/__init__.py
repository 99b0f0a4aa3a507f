"""Evaluation: the phases of a run, in order."""
