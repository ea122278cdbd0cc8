"""The whole shop as one file: rows out of and into all tables.
SQL statements and the functions that run them.
No business rules.
"""
