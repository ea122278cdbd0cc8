"""The demo shop: data that `shop serve --demo` loads into an empty database.
Must not contain anything that a real shop depends on.
Start with `load.py`.
"""
