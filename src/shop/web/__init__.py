"""HTTP request handling shared by all endpoints: routing, credentials, bodies, replies, logs, metrics.
Never here: endpoint handlers, business rules, SQL.
Look first at `endpoint.py`, which runs every handler.
"""
