"""The historical orders of the demo shop: who bought what, and what became of it.
Must not contain anything that changes stock, coupon budgets or store credit, or sends mail.
Start with `orders.py`.
"""
