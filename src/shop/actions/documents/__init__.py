"""Documents of orders: invoices, credit notes, packing slips and pick lists.
Each action makes one change, in one transaction.
No HTTP and no SQL text.
"""
