"""Import and export of CSV files.
Dashboard pages.
Must not contain business rules, SQL or transactions.
"""
