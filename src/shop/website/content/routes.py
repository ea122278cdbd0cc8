"""The routes of content pages, search engines and feeds."""

from shop.website.caching import public_page
from shop.website.content import feeds, pages, site_files, sitemaps
from shop.website.content.site_files import settings_file
from shop.website.route_builder import PageRoute, get

CONTENT_ROUTES: tuple[PageRoute, ...] = (
    get("/pages/{slug}", public_page(pages.show_page), "Content page"),
    get("/policies/{slug}", public_page(pages.show_policy), "Policy"),
    get("/sitemap.xml", sitemaps.show_index, "Index of the sitemaps"),
    get("/sitemaps/{name}", sitemaps.show_file, "Sitemap"),
    get("/feeds/google.xml", feeds.show_google, "Merchant feed"),
    get("/robots.txt", settings_file(site_files.render_robots, site_files.TEXT), "Rules for search engines"),
    get("/favicon.svg", settings_file(site_files.render_favicon, site_files.SVG), "Icon of the shop"),
    get("/manifest.webmanifest", settings_file(site_files.render_manifest, site_files.MANIFEST), "Web manifest"),
)
