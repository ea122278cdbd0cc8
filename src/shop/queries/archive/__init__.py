"""The archive of old orders: which orders it takes, their rows, and what remains of them.
SQL statements and the functions that run them.
No business rules.
"""
