"""SQL statements, each compiled once, and the functions that run them; all SQL of the shop is here.
No business rules, no HTTP, no e-mail.
Start with `cart/orders.py`.
"""
