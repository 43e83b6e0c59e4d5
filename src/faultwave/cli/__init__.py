"""The command line: reads arguments, calls the rooms that do the work, shows what they return."""
