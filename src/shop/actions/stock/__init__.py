"""Stock work: deliveries, transfers, counts and thresholds of low stock.
Each action makes one change, in one transaction.
No HTTP and no SQL text.
"""
