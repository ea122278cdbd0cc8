"""Every storefront wire type, declared.
Never here: logic beyond "read this field".
Look first at `sales.py`.
"""
