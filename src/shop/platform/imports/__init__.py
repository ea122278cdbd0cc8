"""Rows of imports: JSON lines and CSV, read by the rules of the Platform API.
Must not contain anything that writes records.
Start with `import_rows.py`.
"""
