"""Extensions: the progress of their listeners, and what they read of the shop.
SQL statements and the functions that run them.
No business rules.
"""
