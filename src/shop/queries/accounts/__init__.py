"""Erasing and merging accounts of customers.
SQL statements and the functions that run them.
No business rules.
"""
