"""Error estimates of records from coarser runs."""
