"""Probes: checks that do I/O of their own and can only be sampled."""
