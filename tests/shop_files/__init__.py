"""The whole shop as one file."""
