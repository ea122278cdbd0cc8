"""A worker process: its configuration, routes, ASGI application and periodic tasks.
Must not contain business rules, SQL or HTTP handlers.
Start with `application.py`.
"""
