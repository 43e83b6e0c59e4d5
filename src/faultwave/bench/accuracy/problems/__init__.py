"""What accuracy is measured on: every module-level ``AccuracyProblem`` in this folder is found by its name."""
