"""Webhooks to endpoints of others: endpoints, secrets, deliveries and their queues.
Each action makes one change, in one transaction.
No HTTP and no SQL text.
"""
