"""Clusters: where a task runs."""
