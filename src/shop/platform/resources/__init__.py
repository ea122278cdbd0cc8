"""The wire types of the platform API, declared with their filters, sorts and writable members.
Never here: logic beyond reading a field.
Look first at `sales.py`.
"""
