"""What operators and applications do with orders and shipments.
Dashboard pages.
Never here: a rule, SQL, a transaction.
"""
