"""Measurements: ratios side by side in one run, printed as a table. ``make bench`` runs them."""
