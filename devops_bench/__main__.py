"""``python -m devops_bench`` is the command ``devops-bench``."""

from devops_bench.cli.start import main

if __name__ == "__main__":
    main()
