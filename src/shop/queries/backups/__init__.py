"""Statements for backups: snapshots, restores, and the list of backups.
One function per statement.
No decisions.
"""
