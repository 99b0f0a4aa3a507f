"""The rules, by what they look at; each registers itself in :mod:`devops_bench.lint.model`."""
