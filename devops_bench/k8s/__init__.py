"""Kubernetes: connections, discovery, reading, applying. No judgement lives here."""
