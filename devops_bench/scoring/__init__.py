"""Scoring: pure arithmetic on verdicts."""
