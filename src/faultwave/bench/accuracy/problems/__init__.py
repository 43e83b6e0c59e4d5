"""Problems for measurements of accuracy; every module-level ``AccuracyProblem`` in this folder is found by its name."""
