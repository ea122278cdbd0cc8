"""Content pages, search engines and feeds.
Sitemaps and feeds are streamed: their memory does not grow with the catalog.
Start with `routes.py`.
"""
