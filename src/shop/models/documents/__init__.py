"""Invoices and credit notes of orders.
Rows and their tables.
No queries, no rules that involve several rows.
"""
