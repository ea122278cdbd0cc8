"""The ground below the shelves: connections, compiled statements, rows to tables, the embedded PostgreSQL.
Never here: a table of the shop, a statement of the shop, a decision.
Look first at `pool.py`.
"""
