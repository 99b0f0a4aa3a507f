"""Watching: every stored state of what a check reads, in order, or a gap that says what is missing.

``events``, ``tables``, ``store``, ``merge`` and ``gap`` are pure; the rest does the I/O. Only
``watcher`` is meant for other packages, with the data types it hands out.
"""
