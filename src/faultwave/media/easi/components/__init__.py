"""Components of easi models, one file each."""
