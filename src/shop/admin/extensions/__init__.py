"""Extensions: their state, their pages, and their panels on the order page.
Dashboard pages.
Must not contain business rules, SQL or transactions.
"""
