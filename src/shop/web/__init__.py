"""HTTP request handling shared by all endpoints: routing, credentials, bodies, replies, logs, metrics.
No endpoint handlers, no business rules, no SQL.
Start with `endpoint.py`, which runs every handler.
"""
