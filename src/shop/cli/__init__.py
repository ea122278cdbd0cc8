"""The `shop` command, a file per group of verbs.
Never here: what the shop does when it serves.
Look first at `main.py`, the list of verbs.
"""
