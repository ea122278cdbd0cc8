"""The whole shop as one file: which files can be imported.
Pure functions of their arguments.
No database, clock, request or randomness.
"""
