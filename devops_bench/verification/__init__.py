"""Verification: what an entry says, how a check is judged, how an entry is run.

A check is a pure judgement on a view; observing is somebody else's job.
"""
