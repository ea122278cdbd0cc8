"""Database access: connections, compiled statements, row types to tables, the embedded PostgreSQL.
No tables or statements of the shop, no business rules.
Start with `pool.py`.
"""
