"""Evidence: everything that decided a verdict, kept so that it can be judged again."""
