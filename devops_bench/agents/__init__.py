"""Agents: whoever gets the turn."""
