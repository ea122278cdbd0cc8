"""Changes of many products at once, and of a whole product with its variants.
Each action makes one change, in one transaction.
No HTTP and no SQL text.
"""
