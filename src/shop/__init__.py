"""The shop service: Storefront API, Platform API and dashboard on one PostgreSQL.
Each folder is a layer, and a layer imports only the layers below it.
Start with `docs/architecture.md`.
"""

__version__ = "0.3.0"
