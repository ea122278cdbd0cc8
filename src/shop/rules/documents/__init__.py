"""Documents of orders: what an invoice, a packing slip and a pick list say.
Pure functions of their arguments.
No database, clock, request or randomness.
"""
