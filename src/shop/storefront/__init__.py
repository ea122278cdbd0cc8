"""The storefront API: /api/v2/storefront.
Must not contain business rules, SQL or anything of another API.
Start with `routes.py`, the table of endpoints.
"""
