"""New cases for a place: options, text, ground and times."""
