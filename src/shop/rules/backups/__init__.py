"""Decisions about backups: names, when one is due, and which are removed.
Functions of values.
No I/O, no clock.
"""
