"""Category pages."""

from urllib.parse import quote

from shop.actions.catalog import website
from shop.actions.context import Context
from shop.rules.content.plain_text import excerpt, strip_tags
from shop.web.input.request import Request
from shop.website.caching import TimedPage
from shop.website.catalog.cards import social_image
from shop.website.catalog.filters import DEFAULT_SORT, ListFilters, read_list_filters
from shop.website.catalog.product_lists import limit_age, load_product_list
from shop.website.catalog.structured_data import build_breadcrumbs, build_trail
from shop.website.layout import render_page


async def show(request: Request, ctx: Context) -> str | TimedPage:
    category = await website.get_category(ctx, request.path_params["permalink"])
    taxon, filters = category.taxon, read_list_filters(request)
    path, origin = f"/t/{quote(taxon.permalink)}", request.origin(ctx.shared.settings.public_url)
    product_list = await load_product_list(ctx, filters, path, "Our selection", taxon.id)
    trail = build_trail([*category.ancestors, taxon]) or [(taxon.name, path)]
    text = strip_tags(taxon.description or "")
    first_image = product_list.cards[0].image if product_list.cards else None
    title = taxon.meta_title or taxon.name
    body = await render_page(
        ctx,
        request,
        "catalog/category.html",
        title=title if filters.page == 1 else f"{title}, page {filters.page}",
        description=taxon.meta_description or excerpt(text) or f"{taxon.name} at {ctx.shared.shop.name}.",
        taxon=taxon,
        text=text,
        children=[child for child in category.children if child.has_products],
        trail=trail,
        list=product_list,
        social_image=social_image(first_image),
        canonical=origin + ListFilters().url(path, page=filters.page),
        structured_data=(build_breadcrumbs(origin, trail),),
        is_indexed=not filters.is_filtered and filters.sort == DEFAULT_SORT,
    )
    return limit_age(body, filters)
