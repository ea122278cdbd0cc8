"""The platform API for back-office applications: /shop_oauth and /api/v2/platform.
Never here: business rules, SQL, imports from other APIs.
Look first at `routes.py`.
"""
