"""Stock work: deliveries, transfers, counts and thresholds of low stock.
SQL statements and the functions that run them.
No business rules.
"""
