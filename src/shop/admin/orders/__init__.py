"""Orders, shipments, payments and refunds.
Dashboard pages.
Must not contain business rules, SQL or transactions.
"""
