"""Documents of orders: invoices, credit notes, packing slips and pick lists.
SQL statements and the functions that run them.
No business rules.
"""
