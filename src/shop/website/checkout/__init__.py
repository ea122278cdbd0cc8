"""Website pages from the cart to the order: cart, checkout steps, payment and order status.
Must not contain business rules, SQL or code of the APIs.
Start with `routes.py`, then `progress.py`.
"""
