"""The kernel language: sparse contractions, pointwise formulas and gathers over batches of items."""
