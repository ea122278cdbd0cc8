"""Database migrations: Alembic revisions and the code that runs them.
Must not contain table definitions (see `models/`).
Start with `upgrade.py`.
"""
