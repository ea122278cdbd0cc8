"""Erasing accounts of customers: what remains of their records.
Pure functions of their arguments.
No database, clock, request or randomness.
"""
