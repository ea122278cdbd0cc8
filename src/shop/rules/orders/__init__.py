"""Links to orders.
Pure functions of their arguments.
No database, clock, request or randomness.
"""
