"""The whole shop as one file: export and import.
An export reads one snapshot; an import is one transaction.
No HTTP and no SQL text.
"""
