"""A small library: declarations of wire types in, JSON:API documents and OpenAPI schemas out.
Never here: I/O, a table, a type of the shop, anything that knows HTTP beyond a query's words.
Look first at `resource.py`, the vocabulary.
"""
