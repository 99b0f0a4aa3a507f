"""The evidence of a run: what was seen, in a form that can be judged again."""
