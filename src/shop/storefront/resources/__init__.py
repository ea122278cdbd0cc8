"""Declarations of every storefront wire type.
Must not contain logic beyond reading a field.
Start with `sales.py`.
"""
