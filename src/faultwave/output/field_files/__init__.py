"""Files of fields in time: writers, checksums, and files shared by several processes."""
