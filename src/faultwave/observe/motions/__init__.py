"""Ground motion in numbers: processing of records, intensity measures, scores of how alike two records are. Pure functions of arrays."""
