"""The demo shop: what `shop serve --demo` puts into an empty database.
Never here: anything a real shop depends on.
Look first at `load.py`.
"""
