"""Webhooks to endpoints of others: signature, retries, and which events an endpoint receives.
Pure functions of their arguments.
No database, clock, request or randomness.
"""
