"""Dashboard routes of stock work: deliveries, transfers, counts and the threshold of low stock."""

from shop.admin.catalog import stock
from shop.admin.route_builder import RouteBuilder
from shop.admin.stock import counts, deliveries
from shop.web.endpoint import Route

_DELIVERY = "/admin/stock/deliveries/{delivery_id}"
# Two fields for each of up to 200 lines, and for each counted item.
_LARGE, _MANY = 256 * 1024, 500


def stock_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    return (
        page("/admin/stock/threshold", stock.show_threshold, "The threshold of low stock"),
        act("/admin/stock/threshold", stock.change_default_threshold, "Change the threshold of low stock"),
        act("/admin/stock/{item_id}/threshold", stock.change_threshold, "Change the threshold of a stock item"),
        page(deliveries.PATH, deliveries.listing, "Deliveries and transfers"),
        page(f"{deliveries.PATH}/new", deliveries.new, "New delivery or transfer"),
        act(f"{deliveries.PATH}/new", deliveries.create, "Create a delivery or transfer"),
        page(_DELIVERY, deliveries.show, "One delivery or transfer"),
        act(_DELIVERY, deliveries.change, "Change a delivery or transfer"),
        act(f"{_DELIVERY}/lines", deliveries.add_lines, "Add lines to a delivery"),
        act(f"{_DELIVERY}/lines/{{line_id}}/remove", deliveries.remove_line, "Remove a line from a delivery"),
        act(f"{_DELIVERY}/send", deliveries.send, "Send a transfer"),
        act(f"{_DELIVERY}/receive", deliveries.receive, "Receive a delivery", body_limit=_LARGE, most_params=_MANY),
        act(f"{_DELIVERY}/close", deliveries.close, "Close a delivery without the rest"),
        page(counts.PATH, counts.show, "Stock count"),
        act(counts.PATH, counts.save, "Save a stock count", body_limit=_LARGE, most_params=_MANY),
    )
