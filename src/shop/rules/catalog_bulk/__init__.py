"""Cells of the product grid, and the new values of bulk operations.
Pure functions of their arguments.
No database, clock, request or randomness.
"""
