"""The routes of the catalog pages."""

from shop.web.reply import JSON
from shop.website.caching import public_page
from shop.website.catalog import categories, home, products, search
from shop.website.route_builder import PageRoute, get

CATALOG_ROUTES: tuple[PageRoute, ...] = (
    get("/", public_page(home.show), "Home page"),
    get("/t/{permalink*}", public_page(categories.show), "Category"),
    get("/search", public_page(search.show), "Search"),
    get("/suggest", public_page(search.suggest, JSON), "Suggestions while typing"),
    get("/products/{slug}", public_page(products.show), "Product"),
)
