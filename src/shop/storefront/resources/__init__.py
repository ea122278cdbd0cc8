"""Declarations of every storefront wire type.
No logic beyond reading a field.
Start with `sales.py`.
"""
