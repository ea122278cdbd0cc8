"""SQL statements, each compiled once, and the functions that run them; all SQL of the shop is here.
Never here: a decision, a header, a mail.
Start with `cart/orders.py`.
"""
