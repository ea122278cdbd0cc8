"""Cells of the product grid, and batches of changes to many products.
Rows and their tables.
No queries, no rules that involve several rows.
"""
