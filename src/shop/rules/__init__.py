"""Business rules: pure functions of their arguments.
No database, clock, request or randomness.
Each topic has its own module, such as `limits.py`, `access/refresh.py` and `customers/addresses.py`.
"""
