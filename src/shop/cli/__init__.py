"""The `shop` command line, one file per command group.
Must not contain what the shop does while it serves.
Start with `main.py`, the list of commands.
"""
