"""The shop with 150 more routes: what a route costs when it is not used.

`python -m bench.crowded PORT URL KEYS` serves it.
"""

import os
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from shop.app import Application, Serving
from shop.base.settings import read_settings
from shop.cli.serve import make_server
from shop.site.health import live
from shop.web.endpoint import Frame, Route
from shop.web.log import configure_logging

EXTRA = tuple(
    Route(
        "GET",
        f"/api/v2/storefront/extra{number}/{{id}}/part" if number % 2 else f"/api/v2/extra{number}",
        live,
        "anyone",
        "",
    )
    for number in range(150)
)


class Crowded(Application):
    """The same application with a longer table."""

    def _routes(self, frame: Frame) -> tuple[Route, ...]:
        return (*EXTRA, *super()._routes(frame))


def load_crowded(serving: Serving, beats: Any) -> Crowded:
    configure_logging("info", "json")
    return Crowded(serving, beats)


if __name__ == "__main__":
    settings = read_settings({"SHOP_DATABASE_URL": sys.argv[2], "SHOP_SECRET_KEYS": sys.argv[3]})
    served = Serving(settings, "127.0.0.1", os.getpid(), Path(tempfile.mkdtemp(prefix="shop-")), frozenset())
    try:
        make_server(served, "127.0.0.1", int(sys.argv[1]), 1).serve(
            target_loader=partial(load_crowded, served), wrap_loader=False
        )
    finally:
        shutil.rmtree(served.run_dir, ignore_errors=True)
