"""Where waves travel: tetrahedral meshes. No physics here."""
