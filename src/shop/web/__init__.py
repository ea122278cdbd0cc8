"""The hall: a request comes in and a reply goes out; what every endpoint has in common.
Never here: an endpoint, a rule of the shop, SQL.
Look first at `endpoint.py`, the frame around every handler.
"""
