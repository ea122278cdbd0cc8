"""The whole shop as one file.
The tables that it contains, and its manifest.
No queries, no rules.
"""
