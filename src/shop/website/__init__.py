"""The shop's website: server-rendered pages for shoppers, over the same actions as the APIs.
Must not contain business rules, SQL or code of the APIs.
Start with `routes.py`, then `visits.py` and `pages.py`.
"""
