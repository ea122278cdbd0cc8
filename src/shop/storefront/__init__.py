"""The storefront API: /api/v2/storefront.
No business rules, no SQL, no imports from other APIs.
Start with `routes.py`, the table of endpoints.
"""
