"""The SaaS-Bench ``verify.py`` protocol: what a script says on standard error, judged.

* :func:`~devops_bench.verify_protocol.parser.parse` reads bytes and is pure;
* :func:`~devops_bench.verify_protocol.runner.run_task` runs one task's script and judges it;
* :mod:`~devops_bench.verify_protocol.sites` knows the applications and their containers.

``docs/verify.md`` is the protocol for the authors of tasks, and says where this reader is stricter
than the reference runner.
"""
