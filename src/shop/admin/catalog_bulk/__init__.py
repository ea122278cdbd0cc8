"""The grid of products, bulk operations and the form of a whole product.
Dashboard pages.
Must not contain business rules, SQL or transactions.
"""
