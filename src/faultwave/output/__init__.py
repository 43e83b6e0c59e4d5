"""Files: formats (one a file), run folder, manifest, converters. Nothing here needs a live run."""
