"""Maps of ground motion and of the displacement of the sea floor."""
