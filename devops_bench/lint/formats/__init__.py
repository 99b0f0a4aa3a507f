"""How findings are written for other programs: one module per format, each returns text."""
