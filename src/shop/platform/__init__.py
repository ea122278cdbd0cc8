"""The platform API for back-office applications: /shop_oauth and /api/v2/platform.
No business rules, no SQL, no imports from other APIs.
Start with `routes.py`, the table of endpoints.
"""
