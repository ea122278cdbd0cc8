"""Every platform wire type, declared with what may be asked of it and done to it.
Never here: logic beyond "read this field".
Look first at `sales.py`.
"""
