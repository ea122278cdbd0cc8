"""Stock work: deliveries, transfers, counts and thresholds of low stock.
Dashboard pages.
Must not contain business rules, SQL or transactions.
"""
