"""The admin dashboard: server-rendered pages under /admin for operators.
Must not contain business rules, SQL or code of the APIs.
Start with `routes.py`, then `session.py`.
"""
