"""A small library that turns declared wire types into JSON:API documents and OpenAPI schemas.
No I/O, no tables, no types of the shop, no HTTP beyond query parameters.
Start with `resource.py`, which declares wire types.
"""
