"""Webhook pages: endpoints with their health and secrets, deliveries with requests and responses.
Must not contain SQL, transactions or the words of the Platform API.
Start with `endpoints.py`.
"""
