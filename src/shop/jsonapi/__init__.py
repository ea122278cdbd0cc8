"""A small library that turns declared wire types into JSON:API documents and OpenAPI schemas.
Never here: I/O, tables, types of the shop, HTTP beyond query parameters.
Look first at `resource.py`, which declares wire types.
"""
