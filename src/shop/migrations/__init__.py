"""How a database becomes what the tables say: Alembic's revisions and the way to run them.
Never here: a table's declaration (see `models/`).
Look first at `upgrade.py`.
"""
