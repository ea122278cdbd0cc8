"""What operators and applications do with orders and shipments.
SQL statements and the functions that run them.
Never here: a decision.
"""
