"""Sources spread over cells and initial states."""
