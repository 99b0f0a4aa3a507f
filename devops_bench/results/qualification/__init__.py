"""What the controls of tasks came to: plans, records of runs, the report and its formats."""
