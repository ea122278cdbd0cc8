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

from shop.app.application import ServerApplication
from shop.app.configuration import ServerConfiguration
from shop.base.config.settings import read_settings
from shop.cli.server.serve import make_server
from shop.site.health import show_liveness
from shop.web.endpoint import Route
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


def load_with_extra_routes(configuration: ServerConfiguration, beats: Any) -> ServerApplication:
    configure_logging("info", "json")
    return ServerApplication(configuration, beats, EXTRA)


if __name__ == "__main__":
    settings = read_settings({"SHOP_DATABASE_URL": sys.argv[2], "SHOP_SECRET_KEYS": sys.argv[3]})
    configuration = ServerConfiguration(
        settings, "127.0.0.1", os.getpid(), Path(tempfile.mkdtemp(prefix="shop-")), frozenset()
    )
    try:
        make_server(configuration, "127.0.0.1", int(sys.argv[1]), 1).serve(
            target_loader=partial(load_with_extra_routes, configuration), wrap_loader=False
        )
    finally:
        shutil.rmtree(configuration.run_dir, ignore_errors=True)
