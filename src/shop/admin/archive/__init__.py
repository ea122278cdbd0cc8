"""The archive of old orders.
Dashboard pages.
Must not contain business rules, SQL or transactions.
"""
