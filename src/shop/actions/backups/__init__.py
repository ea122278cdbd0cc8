"""Making, verifying, restoring and scheduling backups.
A backup reads one snapshot, and its manifest is written last.
No HTTP and no SQL text.
"""
