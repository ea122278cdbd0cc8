"""The version of the service; the same as in `pyproject.toml` and `CHANGELOG.md`."""

VERSION = "0.2.0"
