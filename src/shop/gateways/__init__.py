"""Clients of external services other than the database: payment providers, mail server, image store, webhooks.
No business rules, no SQL statements, no request headers.
Start with `mail.py`.
"""
