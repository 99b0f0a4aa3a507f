"""Sandboxes: what an agent sees and reaches when it is not to see everything."""
