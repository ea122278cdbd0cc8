"""The wire types of the platform API, declared with their filters, sorts and writable members.
No logic beyond reading a field.
Start with `sales.py`.
"""
