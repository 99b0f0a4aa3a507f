"""The agent that is a model behind an API; needs the extra ``devops-bench[llm]``."""
