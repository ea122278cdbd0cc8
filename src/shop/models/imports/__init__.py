"""CSV files that operators import.
Rows and their tables.
No queries, no rules that involve several rows.
"""
