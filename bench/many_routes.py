"""The shop with 150 more routes, to measure the cost of unused routes.

`python -m bench.many_routes PORT URL KEYS` serves it.
"""

import os
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from shop.app import ServerApplication, Serving
from shop.base.settings import read_settings
from shop.cli.serve import make_server
from shop.site.health import show_liveness
from shop.web.endpoint import EndpointContext, Route
from shop.web.log import configure_logging

EXTRA = tuple(
    Route(
        "GET",
        f"/api/v2/storefront/extra{number}/{{id}}/part" if number % 2 else f"/api/v2/extra{number}",
        show_liveness,
        "anyone",
        "",
    )
    for number in range(150)
)


class ExtraRoutesApplication(ServerApplication):
    """The same application with additional routes."""

    def _routes(self, frame: EndpointContext) -> tuple[Route, ...]:
        return (*EXTRA, *super()._routes(frame))


def load_crowded(serving: Serving, beats: Any) -> ExtraRoutesApplication:
    configure_logging("info", "json")
    return ExtraRoutesApplication(serving, beats)


if __name__ == "__main__":
    settings = read_settings({"SHOP_DATABASE_URL": sys.argv[2], "SHOP_SECRET_KEYS": sys.argv[3]})
    serving = Serving(settings, "127.0.0.1", os.getpid(), Path(tempfile.mkdtemp(prefix="shop-")), frozenset())
    try:
        make_server(serving, "127.0.0.1", int(sys.argv[1]), 1).serve(
            target_loader=partial(load_crowded, serving), wrap_loader=False
        )
    finally:
        shutil.rmtree(serving.run_dir, ignore_errors=True)
