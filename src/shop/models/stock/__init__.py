"""Stock work: deliveries, transfers and thresholds of low stock.
Rows and their tables.
No queries, no rules that involve several rows.
"""
