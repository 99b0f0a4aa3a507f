"""Checks: pure judgements, one file per type."""
