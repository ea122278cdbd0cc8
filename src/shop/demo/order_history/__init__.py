"""The historical orders of the demo shop: who bought what, and what became of it.

They are added after the shop is ready, and change nothing but orders.
"""
