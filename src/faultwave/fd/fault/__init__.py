"""Dynamic rupture on a plane of a grid: friction, points and readings."""
