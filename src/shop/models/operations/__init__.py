"""Daily figures of reports.
Rows and their tables.
No queries, no rules that involve several rows.
"""
