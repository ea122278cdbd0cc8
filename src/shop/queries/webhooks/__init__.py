"""Webhooks to endpoints of others: endpoints, secrets, deliveries.
SQL statements and the functions that run them.
No business rules.
"""
