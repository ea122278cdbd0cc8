"""Drafts: orders that operators prepare, place or offer as a quote.
Dashboard pages.
Must not contain business rules, SQL or transactions.
"""
