"""Releases: the built files, an installed wheel, and the files of `deploy/`."""
