"""Website pages of the catalog.

Home, categories, search with suggestions, and products.
All of them are public: they depend on the URL, the catalog, the settings and the price lists only.
"""
