"""Webhooks to endpoints of others: endpoints, secrets, deliveries.
Rows and their tables.
No queries, no rules that involve several rows.
"""
