"""devops-bench: an evaluation harness for agents that operate Kubernetes.

Its one promise: a verdict is never better than what was observed. What could not be observed
is an error, never a pass.
"""

__version__ = "0.1.0.dev0"
